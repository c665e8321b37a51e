// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package externalservice

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"

	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
)

// serviceWith makes the Service one of these families, as the API server does.
func (s *suite) serviceWith(families ...corev1.IPFamily) {
	s.Helper()
	var service corev1.Service
	s.must(s.store.Get(s.Context(), objectKey, &service))
	service.Spec.IPFamilies = families
	s.must(s.store.Update(s.Context(), &service))
}

func (s *suite) readyMessage() string {
	s.Helper()
	return meta.FindStatusCondition(s.object().Status.Conditions, networkingv1.ConditionReady).Message
}

// Three of four addresses cannot be reached by way of the Service. They must not fail it over.
func TestAddressesOfAFamilyThatTheServiceLacksDoNotCount(t *testing.T) {
	s := newSuite(t, strings.NewReplacer("addresses: [192.0.2.1]", "dns: {name: db.example.com}", "endpoints:", "failover: {minHealthyPercent: 50, failbackDelay: 0s}, endpoints:").Replace(tiered))
	process := func() {
		s.restart()
		s.names.answers["db.example.com"] = []string{"192.0.2.1", "2001:db8::1", "2001:db8::2", "2001:db8::3"}
		s.reconcileOnce()
		s.health.setHealth("a", "192.0.2.1", up)
		for _, ip := range []string{"2001:db8::1", "2001:db8::2", "2001:db8::3"} {
			s.health.setHealth("a", ip, down)
		}
		s.health.setHealth("b", "198.51.100.1", up)
		s.reconcileOnce()
	}
	process()
	s.wantPublished("198.51.100.1+") // while the families are not known
	s.serviceWith(corev1.IPv4Protocol)
	process()
	s.wantPublished("192.0.2.1+")
	s.wantCondition("Healthy", "True AllHealthy")
	if message := s.readyMessage(); !strings.HasSuffix(message, `; of a family that the Service lacks (spec.ipFamilies): endpoint "a": 3 addresses are left out`) {
		t.Error(message)
	}
	if len(s.health.targets) != 2 {
		t.Errorf("checked are %v", s.health.targets)
	}
	s.reconcileUnchanged("nothing new")

	s.names.answers["db.example.com"] = []string{"2001:db8::1"}
	s.edit(func(es *networkingv1.ExternalService) { es.Spec.Endpoints = es.Spec.Endpoints[:1] })
	s.reconcileOnce()
	s.wantCondition("Ready", "False NoAddresses")
	if message := s.readyMessage(); !strings.Contains(message, `endpoint "a": 1 address is left out`) {
		t.Error(message)
	}
	s.serviceWith(corev1.IPv4Protocol, corev1.IPv6Protocol)
	s.reconcileOnce()
	s.health.setHealth("a", "2001:db8::1", up)
	s.reconcileOnce()
	s.wantPublished("2001:db8::1+")
}

// The API server gives a headless Service both families wherever it runs, so that they say nothing.
func TestAHeadlessServiceHasAllAddresses(t *testing.T) {
	s := newSuite(t, strings.Replace(plain, "ports:", "service: {clusterIP: None}, ports:", 1))
	s.reconcileOnce()
	s.serviceWith(corev1.IPv6Protocol)
	s.reconcileOnce()
	s.wantPublished("192.0.2.1+ 192.0.2.2+")
}
