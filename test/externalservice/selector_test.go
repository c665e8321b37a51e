// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

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

func TestWhatOthersChangeOfAServiceIsTold(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	address := s.Servers.Address()
	for _, name := range []string{"typed", "ported", "aliased"} {
		s.apply(name, plainly(address))
		s.condition(name, networkingv1.ConditionReady, metav1.ConditionTrue, networkingv1.ReasonPublished)
	}
	before := s.service("aliased").Spec.ClusterIP
	s.Kubectl("patch", "service", "typed", "--type=merge", "-p", `{"spec":{"type":"NodePort"}}`)
	s.Kubectl("patch", "service", "ported", "--type=json", "-p", `[{"op":"replace","path":"/spec/ports/0/port","value":1}]`)
	s.Kubectl("patch", "service", "aliased", "--type=merge", "-p", `{"spec":{"type":"ExternalName","externalName":"example.com","clusterIP":"","clusterIPs":null}}`)
	for name, field := range map[string]string{"typed": "type", "ported": "ports", "aliased": "type"} {
		told := s.Tells("ExternalService", name, "ServiceReverted", 1)
		s.Expect(told[0].Note, "as before: "+field)
		s.Eventually(func() error {
			if service := s.service(name); service.Spec.Type != "ClusterIP" || service.Spec.Ports[0].Port != 5432 {
				return fmt.Errorf("the Service is %s", framework.Text(service.Spec))
			}
			return nil
		})
	}
	if after := s.service("aliased").Spec.ClusterIP; after != before {
		t.Errorf("the Service had %s and has %s", before, after)
	}
}

func TestEndpointSlicesOfOthersAreToldAndLeftAlone(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	address := s.Servers.Address()
	s.apply("db", plainly(address))
	s.condition("db", networkingv1.ConditionReady, metav1.ConditionTrue, networkingv1.ReasonPublished)
	s.Make(`{apiVersion: v1, kind: Endpoints, metadata: {name: db}, subsets: [{addresses: [{ip: 192.0.2.77}], ports: [{name: sql, port: 5432}]}]}`)
	s.Tells("ExternalService", "db", "ForeignEndpoints", 1)
	s.publishes("db", address, "192.0.2.77")
	s.Kubectl("delete", "endpoints", "db")
	s.publishes("db", address)
	s.Eventually(func() error {
		if message := s.message("db", networkingv1.ConditionReady); message != "1 address in 1 EndpointSlice behind Service db" {
			return fmt.Errorf("Ready says %q", message)
		}
		return nil
	})
}
