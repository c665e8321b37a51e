// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package config carries the operator's roles inside the binary, for what checks an installation. The other
// manifests of this folder are for kustomize and for the generator of the chart.
package config

import (
	"bytes"
	"embed"
	"fmt"

	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"
)

//go:embed rbac/role.yaml split/*_role.yaml namespaced/cluster_role.yaml namespaced/rights/role.yaml shards/role.yaml
var roles embed.FS

// Rights are the rules of the shipped roles of an operator.
type Rights struct {
	// Cluster applies to the whole cluster, Watched to each namespace that the operator works in, and Own to the
	// operator's namespace.
	Cluster, Watched, Own []rbacv1.PolicyRule
}

// Profile is what an operator does, and where.
type Profile struct {
	// Webhooks and Controllers say that it serves webhooks and that it reconciles.
	Webhooks, Controllers bool
	// ClusterAccess means that its rights to what is in the namespaces that it works in are those of the whole cluster.
	ClusterAccess bool
	// Shard means that it reconciles one shard of the cluster.
	Shard bool
}

// shardRole adds to the other roles.
const shardRole = "shards/role.yaml"

// Roles returns the roles of an operator. Watched is empty with ClusterAccess.
func Roles(p Profile) (Rights, error) {
	files := []string{"rbac/role.yaml"}
	switch {
	case !p.ClusterAccess:
		files = []string{"namespaced/cluster_role.yaml", "namespaced/rights/role.yaml", "rbac/role.yaml"}
	case !p.Controllers:
		files = []string{"split/webhook_cluster_role.yaml", "split/webhook_role.yaml"}
	case !p.Webhooks:
		files = []string{"split/manager_cluster_role.yaml", "split/manager_role.yaml"}
	}
	if p.Shard {
		files = append(files, shardRole)
	}
	var all Rights
	for i, name := range files {
		content, err := roles.ReadFile(name)
		if err != nil {
			return Rights{}, err
		}
		for document := range bytes.SplitSeq(content, []byte("\n---\n")) {
			var role rbacv1.Role // a ClusterRole is one without a namespace
			if err := yaml.UnmarshalStrict(document, &role); err != nil {
				return Rights{}, fmt.Errorf("%s: %w", name, err)
			}
			switch {
			case role.Kind == "ClusterRole" && (i == 0 || name == shardRole):
				all.Cluster = append(all.Cluster, role.Rules...)
			case role.Kind == "ClusterRole": // the wide one, of which only the Role beside it applies
			case role.Namespace == "":
				all.Watched = append(all.Watched, role.Rules...)
			default:
				all.Own = append(all.Own, role.Rules...)
			}
		}
	}
	return all, nil
}
