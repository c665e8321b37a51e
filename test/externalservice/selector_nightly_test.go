// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build nightly

package externalservice

import (
	"fmt"
	"testing"

	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	rules "github.com/fairlead-dev/fairlead/internal/rules/externalservice"
	"github.com/fairlead-dev/fairlead/test/framework"
)

// Kubernetes publishes the pods of a selector behind the Service, and takes none of them away when the selector is removed.
func TestASelectorLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	address := s.Servers.Address()
	s.apply("db", plainly(address))
	s.condition("db", networkingv1.ConditionReady, metav1.ConditionTrue, networkingv1.ReasonPublished)
	s.Make(`{apiVersion: v1, kind: Pod, metadata: {name: rogue, labels: {app: rogue}}, spec: {nodeName: of-nowhere, containers: [{name: rogue, image: rogue, ports: [{containerPort: 5432}]}]}}`)
	s.Kubectl("patch", "pod", "rogue", "--subresource=status", "--type=merge", "-p",
		`{"status":{"phase":"Running","podIP":"10.99.0.7","podIPs":[{"ip":"10.99.0.7"}],"conditions":[{"type":"Ready","status":"True"}]}}`)
	s.Kubectl("patch", "service", "db", "--type=merge", "-p", `{"spec":{"selector":{"app":"rogue"}}}`)
	s.Tells("ExternalService", "db", "ServiceReverted", 1)
	s.Eventually(func() error {
		service := s.service("db")
		if service.Annotations[rules.SelectorRemovedAnnotation] == "" {
			return fmt.Errorf("the Service is %s", framework.Text(service))
		}
		return nil
	})
	// Its controllers have seen the selector, or never will.
	s.Eventually(func() error {
		for _, slice := range s.Slices("db") {
			if slice.Labels[discoveryv1.LabelManagedBy] != "fairlead.dev" {
				return fmt.Errorf("%s is still there: %s", slice.Name, framework.Text(slice.Endpoints))
			}
		}
		if left := s.Kubectl("get", "endpoints", "-o", "name"); left != "" {
			return fmt.Errorf("%s are still there", left)
		}
		return nil
	})
	s.publishes("db", address)
	s.Never(func() error {
		if got := s.published("db"); len(got) != 1 {
			return fmt.Errorf("published are %q", got)
		}
		return nil
	})
}
