// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"strings"
	"testing"

	"github.com/fairlead-dev/fairlead/test/framework"
)

func TestTheOperatorMayDoNoMoreThanItNeeds(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	own := "--namespace=" + framework.Namespace
	for _, c := range []struct {
		allowed bool
		args    []string
	}{
		{true, []string{"list", "externalservices.networking.fairlead.dev", "-A"}},
		{true, []string{"patch", "externalservices.networking.fairlead.dev", "--subresource=status", "-A"}},
		{true, []string{"create", "services", "-A"}},
		{true, []string{"patch", "endpointslices.discovery.k8s.io", "-A"}},
		{true, []string{"get", "secrets/fairlead-webhook-ca", own}},
		{true, []string{"get", "secrets/authority", "-n", "default"}}, // of a health check
		{true, []string{"list", "nodes"}},
		{true, []string{"watch", "servicecidrs.networking.k8s.io"}},
		{true, []string{"update", "leases.coordination.k8s.io/fairlead-manager", own}},
		{true, []string{"patch", "customresourcedefinitions.apiextensions.k8s.io/chaospods.chaos.fairlead.dev"}},
		{true, []string{"watch", "customresourcedefinitions.apiextensions.k8s.io/chaospods.chaos.fairlead.dev"}},
		{true, []string{"watch", "validatingwebhookconfigurations.admissionregistration.k8s.io/fairlead-chaospod"}},

		{true, []string{"watch", "secrets", "-A"}}, // it requests only their metadata
		{true, []string{"get", "configmaps", "-A"}},
		{true, []string{"patch", "deployments.apps", "-A"}},
		{true, []string{"create", "pods", "--subresource=eviction", "-A"}},

		// A ChaosPod makes its canary, and kills by DELETE where it says so.
		{true, []string{"create", "pods", "-A"}},
		{true, []string{"delete", "pods", "-A"}},

		{false, []string{"update", "secrets", "-A"}},
		{false, []string{"patch", "secrets", "-A"}},
		{false, []string{"delete", "secrets", "-A"}},
		{false, []string{"delete", "secrets/fairlead-webhook-ca", own}},
		{false, []string{"patch", "configmaps", "-A"}},
		{false, []string{"update", "pods", "-A"}},
		{false, []string{"deletecollection", "pods", "-A"}},
		{false, []string{"create", "pods", "--subresource=exec", "-A"}},
		{false, []string{"patch", "pods", "-A"}},
		{false, []string{"create", "deployments.apps", "-A"}},
		{false, []string{"update", "deployments.apps", "-A"}},
		{false, []string{"delete", "deployments.apps", "-A"}},
		{false, []string{"patch", "replicasets.apps", "-A"}},
		{false, []string{"impersonate", "serviceaccounts", "-A"}},
		{false, []string{"patch", "nodes"}},
		{false, []string{"create", "serviceaccounts", "--subresource=token", "-A"}},
		{false, []string{"impersonate", "users"}},
		{false, []string{"create", "clusterrolebindings.rbac.authorization.k8s.io"}},
		{false, []string{"escalate", "clusterroles.rbac.authorization.k8s.io"}},
		{false, []string{"patch", "customresourcedefinitions.apiextensions.k8s.io"}},
		{false, []string{"delete", "customresourcedefinitions.apiextensions.k8s.io"}},
		{false, []string{"watch", "customresourcedefinitions.apiextensions.k8s.io"}},
		{false, []string{"watch", "mutatingwebhookconfigurations.admissionregistration.k8s.io"}},
		{false, []string{"list", "validatingwebhookconfigurations.admissionregistration.k8s.io/fairlead-chaospod"}},
		{false, []string{"patch", "validatingwebhookconfigurations.admissionregistration.k8s.io"}},
		{false, []string{"create", "validatingwebhookconfigurations.admissionregistration.k8s.io"}},
		{false, []string{"delete", "externalservices.networking.fairlead.dev", "-A"}},
		{false, []string{"create", "externalservices.networking.fairlead.dev", "-A"}},
		{false, []string{"patch", "rebootpolicies.autoreboot.fairlead.dev", "-A"}},
		{false, []string{"deletecollection", "rebootpolicies.autoreboot.fairlead.dev", "-A"}}, // it makes those of ClusterRebootPolicies
		{false, []string{"create", "clusterrebootpolicies.autoreboot.fairlead.dev"}},
		{false, []string{"delete", "clusterrebootpolicies.autoreboot.fairlead.dev"}},
		{false, []string{"create", "chaospods.chaos.fairlead.dev", "-A"}},
		{false, []string{"patch", "chaospods.chaos.fairlead.dev", "-A"}},
		{false, []string{"delete", "chaospods.chaos.fairlead.dev", "-A"}},
		{false, []string{"patch", "customresourcedefinitions.apiextensions.k8s.io/chaospods.chaos.fairlead.dev", "--subresource=status"}},
		{false, []string{"update", "services", "-A"}},
		{false, []string{"delete", "leases.coordination.k8s.io", "-A"}},
		{false, []string{"*", "*", "-A"}},
	} {
		answer := s.try(append([]string{"--kubeconfig=" + s.Operator().Kubeconfig, "auth", "can-i"}, c.args...)...)
		if got := strings.TrimSpace(answer.out); got != map[bool]string{true: "yes", false: "no"}[c.allowed] {
			t.Errorf("can the operator %s: %q, want allowed %t; %s", strings.Join(c.args, " "), got, c.allowed, answer.err)
		}
	}
}
