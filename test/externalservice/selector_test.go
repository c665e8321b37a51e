// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package externalservice

import (
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/test/framework"
)

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
		s.Expect(told[0].Note, "they were reverted: "+field)
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
