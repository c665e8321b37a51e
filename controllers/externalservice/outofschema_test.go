// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package externalservice

import (
	"testing"

	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/randfill"

	"github.com/fairlead-dev/fairlead/api/common"
	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
)

// The CRD of the cluster may be of another release: it has stored what this one refuses.
func TestWhatTheSchemaRefusesPublishesNothingNew(t *testing.T) {
	type spec = networkingv1.ExternalServiceSpec
	for name, change := range map[string]func(*spec){
		"another state": func(s *spec) { s.Endpoints[0].State = ptr.To(networkingv1.EndpointState("Other")) },
		"another cluster IP": func(s *spec) {
			s.Service = &networkingv1.ServiceTemplate{ClusterIP: ptr.To(networkingv1.ServiceClusterIP("10.0.0.9"))}
		},
		"no address":            func(s *spec) { s.Endpoints[0].Addresses = nil },
		"an address that is no": func(s *spec) { s.Endpoints[0].Addresses = []networkingv1.IPAddress{"db", "192.0.2.300"} },
		"a check without a port": func(s *spec) {
			s.HealthCheck = &networkingv1.HealthCheck{Check: common.Check{TCPSocket: &common.TCPSocketAction{Port: ptr.To(intstr.FromString("other"))}}}
		},
		"another record": func(s *spec) {
			s.Endpoints[0].Addresses, s.Endpoints[0].DNS = nil, &networkingv1.DNSName{Name: "db.example.com", RecordType: ptr.To(networkingv1.RecordType("Other"))}
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSuite(t, `{ports: [{name: sql, port: 5432}], endpoints: [{name: a, addresses: [192.0.2.1]}]}`)
			s.edit(func(es *networkingv1.ExternalService) { change(&es.Spec) })
			s.reconcileOnce()
			s.reconcileOnce()
			s.wantPublished("")
		})
	}
}

// A CRD that calls a field otherwise prunes it, and what is stored reads as if there were none.
func TestWhatTheSchemaRefusesTakesNothingAway(t *testing.T) {
	type spec = networkingv1.ExternalServiceSpec
	for name, change := range map[string]func(*spec){
		"no ports":               func(s *spec) { s.Ports = nil },
		"no endpoints":           func(s *spec) { s.Endpoints = nil },
		"an endpoint of nothing": func(s *spec) { s.Endpoints[0].Addresses = nil },
	} {
		t.Run(name, func(t *testing.T) {
			s := newSuite(t, `{ports: [{name: sql, port: 5432}], endpoints: [{name: a, addresses: [192.0.2.1]}]}`)
			s.reconcileOnce()
			s.reconcileOnce()
			s.wantPublished("192.0.2.1+")
			s.edit(func(es *networkingv1.ExternalService) { change(&es.Spec) })
			s.reconcileOnce()
			s.reconcileOnce()
			s.wantPublished("192.0.2.1+")
			s.wantCondition(networkingv1.ConditionReady, "False InvalidSpec")
		})
	}
}

func TestAPriorityBeyondTheSchemaIsPublishedNowhere(t *testing.T) {
	for _, priority := range []int32{-1, 10, 1 << 30} {
		s := newSuite(t, `{ports: [{name: sql, port: 5432}], healthCheck: {tcpSocket: {}}, endpoints: [{name: a, addresses: [192.0.2.1]}]}`)
		s.edit(func(es *networkingv1.ExternalService) { es.Spec.Endpoints[0].Priority = &priority })
		s.reconcileOnce()
		s.reconcileOnce()
		s.wantPublished("")
	}
}

func TestNoSpecThatIsStoredEndsTheProcess(t *testing.T) {
	s := newSuite(t, plain)
	random := randfill.NewWithSeed(1).NilChance(0.4).NumElements(0, 3).MaxDepth(20)
	for range 100 {
		s.edit(func(es *networkingv1.ExternalService) { random.Fill(&es.Spec) })
		s.reconcileOnce()
	}
}
