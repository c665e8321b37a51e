// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build nightly

package lifecycle

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-dev/fairlead/test/framework"
)

// As docs/guides/sizing.md has it: several Deployments reconcile, each with its own namespaces and Lease, by the rights of
// config/split and the Role of the guide.
func TestSplitLeadersOfDisjointNamespacesReconcileTheirOwnAlone(t *testing.T) {
	t.Parallel()
	s := newSuite(t).split()
	payments, orders := s.NewNamespace(), s.NewNamespace()
	s.grantLease("fairlead-payments")
	s.grantLease("fairlead-orders")
	s.webhook()
	leads := func(namespace, lease string) *replica {
		r := s.reconciler("--set=namespaces="+namespace, "--set=leaderElection.resourceName="+lease)
		r.reconciles()
		return r
	}
	first := leads(payments, "fairlead-payments")
	s.create(payments, "one")
	s.create(orders, "one")
	s.reconciled(payments, "one")
	s.untouched(orders, "one")

	second := leads(orders, "fairlead-orders")
	s.reconciled(orders, "one")
	for _, lease := range []string{"fairlead-payments", "fairlead-orders"} {
		if _, err := s.Kube.CoordinationV1().Leases(framework.Namespace).Get(t.Context(), lease, metav1.GetOptions{}); err != nil {
			t.Error(err)
		}
	}

	// Each makes the policies of a ClusterRebootPolicy in its own namespaces.
	for _, namespace := range []string{payments, orders} {
		s.Apply(`{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: `+namespace+`}, spec: {replicas: 0, selector: {matchLabels: {app: web}},
  template: {metadata: {labels: {app: web}}, spec: {containers: [{name: web, image: web}]}}}}`, "--server-side")
	}
	s.Apply(`{apiVersion: autoreboot.fairlead.dev/v1, kind: ClusterRebootPolicy, metadata: {name: on-change}, spec: {namespaceSelector: {},
  template: {spec: {targets: [{selector: {}}], triggers: [{name: config, type: ConfigChange}]}}}}`, "--server-side")
	for _, namespace := range []string{payments, orders} {
		s.Eventually(func() error {
			_, err := s.Cluster.Kubectl(s.Context(), "get", "rebootpolicies.v1.autoreboot.fairlead.dev", "on-change", "-n", namespace)
			return err
		})
	}
	s.Kubectl("delete", "clusterrebootpolicies.v1.autoreboot.fairlead.dev", "on-change")

	// What one of them does not do, the other does not take over.
	first.Stop()
	first.ends(framework.Patience)
	s.create(payments, "two")
	s.create(orders, "two")
	s.reconciled(orders, "two")
	s.untouched(payments, "two")
	second.reconciles()
}

// grantLease gives the reconcilers the right to a Lease as the guide does.
func (a *split) grantLease(name string) {
	a.Helper()
	guide, err := os.ReadFile(filepath.Join(framework.Root, "docs", "guides", "sizing.md"))
	a.Must(err)
	role := regexp.MustCompile("(?s)```yaml\n(apiVersion: rbac[^`]*)```").FindStringSubmatch(string(guide))
	if role == nil {
		a.Fatal("docs/guides/sizing.md has no Role")
	}
	a.Apply(strings.ReplaceAll(role[1], "fairlead-payments", name)+`---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: `+name+`, namespace: `+framework.Namespace+`}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: `+name+`}
subjects: [{kind: ServiceAccount, name: fairlead-manager, namespace: `+framework.Namespace+`}]
`, "--server-side")
	a.Cleanup(func() {
		for _, kind := range []string{"role", "rolebinding"} {
			_, err := a.Cluster.Kubectl(context.WithoutCancel(a.Context()), "delete", kind, name, "-n", framework.Namespace)
			a.Must(err)
		}
	})
}

// untouched wants an ExternalService without a status of its own, and no Service.
func (s *suite) untouched(namespace, name string) {
	s.Helper()
	if made := s.Kubectl("get", "services,endpointslices", "-n", namespace, "-o", "name"); strings.Contains(made, name) {
		s.Errorf("%s: %s", namespace, made)
	}
	if generation := s.Kubectl("get", "externalservices.v1.networking.fairlead.dev", name, "-n", namespace, "-o", "jsonpath={.status.observedGeneration}{.metadata.finalizers}"); generation != "-1" {
		s.Errorf("%s/%s has observedGeneration and finalizers %q", namespace, name, generation)
	}
}
