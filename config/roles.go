// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package config carries the operator's roles inside the binary, for what checks an installation. The other
// manifests of this folder are for kustomize and for the generator of the chart.
package config

import (
	"bytes"
	"embed"
	"fmt"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"
)

//go:embed rbac/*role.yaml split/*_role.yaml split/*_roles.yaml namespaced/*cluster_role.yaml namespaced/rights/role.yaml
var roles embed.FS

// Rights are the rules of the shipped roles of an operator.
type Rights struct {
	// Cluster applies to the whole cluster, Watched to each namespace that the operator works in, and Own to the
	// operator's namespace.
	Cluster, Watched, Own []rbacv1.PolicyRule
}

// Profile selects the duties of an operator and the namespaces that it serves.
type Profile struct {
	// Webhooks and Controllers say that it serves webhooks and that it reconciles.
	Webhooks, Controllers bool
	// Kinds are those that it has, such as ExternalService.
	Kinds []string
	// Canaries means that it makes pods for ChaosPods.
	Canaries bool
	// ClusterAccess means that its rights to what is in the namespaces that it works in are those of the whole cluster.
	ClusterAccess bool
}

// files returns the files of the profile's roles, and the names of the roles in them.
func (p Profile) files() (files, names []string) {
	account, of := "fairlead-manager", "manager"
	switch {
	case !p.ClusterAccess:
		files = []string{"namespaced/cluster_role.yaml", "namespaced/rights/role.yaml"}
		names = []string{"fairlead-namespace"}
	case !p.Controllers:
		account, of = "fairlead-webhook", "webhook"
		files = []string{"split/webhook_cluster_role.yaml", "split/webhook_role.yaml", "split/webhook_kind_roles.yaml"}
	case !p.Webhooks:
		files = []string{"split/manager_cluster_role.yaml", "split/manager_role.yaml"}
	default:
		files = []string{"rbac/role.yaml"}
	}
	names = append(names, account)
	parts := make([]string, 0, len(p.Kinds)+1)
	for _, kind := range p.Kinds {
		parts = append(parts, strings.ToLower(kind))
	}
	if p.ClusterAccess && slices.Contains(p.Kinds, "RebootPolicy") {
		parts = append(parts, "clusterrebootpolicy")
	}
	if p.Canaries {
		parts = append(parts, "canaries")
	}
	for _, part := range parts {
		switch {
		case of == "webhook":
		case !p.ClusterAccess && part != "canaries":
			files = append(files, "namespaced/"+part+"_cluster_role.yaml", "rbac/"+part+"_manager_role.yaml")
		case p.ClusterAccess:
			files = append(files, "rbac/"+part+"_manager_role.yaml")
		}
		names = append(names, "fairlead-"+part+"-"+of, "fairlead-"+part+"-namespace")
	}
	if !p.ClusterAccess {
		files = append(files, "rbac/role.yaml")
	}
	return files, names
}

// Roles returns the roles of an operator. Watched is empty with ClusterAccess.
func Roles(p Profile) (Rights, error) {
	var all Rights
	files, names := p.files()
	for _, name := range files {
		content, err := roles.ReadFile(name)
		if err != nil {
			return Rights{}, err
		}
		for document := range bytes.SplitSeq(content, []byte("---\n")) {
			var role rbacv1.Role // a ClusterRole is one without a namespace
			if err := yaml.UnmarshalStrict(document, &role); err != nil {
				return Rights{}, fmt.Errorf("%s: %w", name, err)
			}
			isWide := !p.ClusterAccess && strings.HasPrefix(name, "rbac/") // of these only the Roles beside the ClusterRoles apply
			switch {
			case !slices.Contains(names, role.Name):
			case role.Kind == "ClusterRole" && !isWide:
				all.Cluster = append(all.Cluster, role.Rules...)
			case role.Kind == "ClusterRole":
			case role.Namespace == "":
				all.Watched = append(all.Watched, role.Rules...)
			default:
				all.Own = append(all.Own, role.Rules...)
			}
		}
	}
	return all, nil
}
