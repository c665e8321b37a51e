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

//go:embed rbac/role.yaml split/*_role.yaml
var roles embed.FS

// Roles returns the roles of an operator that serves webhooks, reconciles, or does both: what applies to the
// whole cluster, and what applies to the operator's own namespace.
func Roles(webhooks, controllers bool) (cluster, own []rbacv1.PolicyRule, err error) {
	files := []string{"rbac/role.yaml"}
	switch {
	case !controllers:
		files = []string{"split/webhook_cluster_role.yaml", "split/webhook_role.yaml"}
	case !webhooks:
		files = []string{"split/manager_cluster_role.yaml", "split/manager_role.yaml"}
	}
	for _, name := range files {
		content, err := roles.ReadFile(name)
		if err != nil {
			return nil, nil, err
		}
		for document := range bytes.SplitSeq(content, []byte("\n---\n")) {
			var role rbacv1.Role // a ClusterRole is one without a namespace
			if err := yaml.UnmarshalStrict(document, &role); err != nil {
				return nil, nil, fmt.Errorf("%s: %w", name, err)
			}
			if role.Kind == "ClusterRole" {
				cluster = append(cluster, role.Rules...)
			} else {
				own = append(own, role.Rules...)
			}
		}
	}
	return cluster, own, nil
}
