// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package egress

import (
	"strings"
	"testing"

	"k8s.io/utils/ptr"

	"github.com/fairlead-dev/fairlead/api/common"
	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
)

// pointing is an object with static addresses at two endpoints, and a name.
func pointing() *networkingv1.ExternalService {
	return &networkingv1.ExternalService{Spec: networkingv1.ExternalServiceSpec{
		Ports: []networkingv1.ServicePort{{Name: "http", Port: 80, TargetPort: ptr.To[int32](8080)}, {Name: "https", Port: 443}},
		Endpoints: []networkingv1.Endpoint{
			{Name: "a", Addresses: []networkingv1.IPAddress{"192.0.2.1", "192.0.2.2"}},
			{Name: "b", Addresses: []networkingv1.IPAddress{"192.0.2.3"}, Ports: []networkingv1.EndpointPort{{Name: "http", Port: 81}}},
			{Name: "c", DNS: &networkingv1.DNSName{Name: "db.example.com"}},
		},
	}}
}

func approve(es *networkingv1.ExternalService, user string) {
	es.Annotations = map[string]string{common.ApprovedByAnnotation: Approval(es, user)}
}

func TestAnApprovalIsOfTheAddressesAndTheirPorts(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*networkingv1.ExternalServiceSpec)
		holds  bool
	}{
		"nothing": {func(*networkingv1.ExternalServiceSpec) {}, true},
		"order of endpoints": {func(s *networkingv1.ExternalServiceSpec) {
			s.Endpoints[0], s.Endpoints[1] = s.Endpoints[1], s.Endpoints[0]
		}, true},
		"order of addresses": {func(s *networkingv1.ExternalServiceSpec) {
			s.Endpoints[0].Addresses = []networkingv1.IPAddress{"192.0.2.2", "192.0.2.1"}
		}, true},
		"order of ports": {func(s *networkingv1.ExternalServiceSpec) { s.Ports[0], s.Ports[1] = s.Ports[1], s.Ports[0] }, true},
		"name":           {func(s *networkingv1.ExternalServiceSpec) { s.Endpoints[2].DNS.Name = "db.example.org" }, true},
		"no name":        {func(s *networkingv1.ExternalServiceSpec) { s.Endpoints = s.Endpoints[:2] }, true},
		"priority and state": {func(s *networkingv1.ExternalServiceSpec) {
			s.Endpoints[0].Priority, s.Endpoints[0].State = ptr.To[int32](3), ptr.To(networkingv1.EndpointDrained)
		}, true},
		"port of the Service": {func(s *networkingv1.ExternalServiceSpec) { s.Ports[0].Port = 8000 }, true},
		"address":             {func(s *networkingv1.ExternalServiceSpec) { s.Endpoints[0].Addresses[1] = "192.0.2.9" }, false},
		"one address more": {func(s *networkingv1.ExternalServiceSpec) {
			s.Endpoints[1].Addresses = append(s.Endpoints[1].Addresses, "192.0.2.9")
		}, false},
		"one address less": {func(s *networkingv1.ExternalServiceSpec) { s.Endpoints[0].Addresses = s.Endpoints[0].Addresses[:1] }, false},
		"addresses exchanged": {func(s *networkingv1.ExternalServiceSpec) {
			s.Endpoints[0].Addresses[0], s.Endpoints[1].Addresses[0] = "192.0.2.3", "192.0.2.1"
		}, false},
		"target port":         {func(s *networkingv1.ExternalServiceSpec) { s.Ports[0].TargetPort = ptr.To[int32](8081) }, false},
		"port of an endpoint": {func(s *networkingv1.ExternalServiceSpec) { s.Endpoints[1].Ports[0].Port = 82 }, false},
		"one port more": {func(s *networkingv1.ExternalServiceSpec) {
			s.Ports = append(s.Ports, networkingv1.ServicePort{Name: "x", Port: 10250})
		}, false},
		"endpoint's own name":   {func(s *networkingv1.ExternalServiceSpec) { s.Endpoints[0].Name = "z" }, false},
		"no addresses any more": {func(s *networkingv1.ExternalServiceSpec) { s.Endpoints = s.Endpoints[2:] }, false},
	} {
		t.Run(name, func(t *testing.T) {
			es := pointing()
			approve(es, "ann")
			if test.change(&es.Spec); Approved(es) != test.holds {
				t.Errorf("approved: %t, want %t", !test.holds, test.holds)
			}
		})
	}
}

func TestNoOtherTextIsAnApproval(t *testing.T) {
	es, none := pointing(), &networkingv1.ExternalService{}
	for name, value := range map[string]string{
		"nothing": "", "a word": "ann", "null": "null", "no digest": `{"user":"ann"}`, "an empty digest": `{"user":"ann","digest":""}`,
		"wrong type": `{"digest":1}`, "too long": Approval(es, "ann") + strings.Repeat(" ", 2048),
	} {
		es.Annotations = map[string]string{common.ApprovedByAnnotation: value}
		none.Annotations = es.Annotations
		if Approved(es) || Approved(none) {
			t.Errorf("%s is taken for an approval", name)
		}
	}
	approve(none, "ann")
	if Approved(none) {
		t.Error("there is nothing to approve")
	}
}

func TestAnApprovalIsBoundedAndOfOneUser(t *testing.T) {
	es := pointing()
	seen := map[string]string{}
	for _, user := range []string{"", "ann", strings.Repeat("x", 256), strings.Repeat("x", 257), strings.Repeat("x", 100_000),
		strings.Repeat("\x01", 300), strings.Repeat("\xff", 300), strings.Repeat("ä", 300), `","digest":"`} {
		value := Approval(es, user)
		if other, taken := seen[value]; taken {
			t.Errorf("%.40q and %.40q have the same approval", user, other)
		}
		seen[value] = user
		es.Annotations = map[string]string{common.ApprovedByAnnotation: value}
		if len(value) > 2048 || !Approved(es) {
			t.Errorf("%.40q: %d bytes, approved %t", user, len(value), Approved(es))
		}
	}
}

func TestStaticAddressesKnowTheirPlaceAndPorts(t *testing.T) {
	es := pointing()
	es.Spec.Endpoints[1].Addresses = append(es.Spec.Endpoints[1].Addresses, "nonsense")
	got := StaticAddresses(&es.Spec)
	if len(got) != 4 || got[2].Endpoint != 1 || got[2].Address != 0 || got[2].IP.String() != "192.0.2.3" || got[3].IP.IsValid() {
		t.Fatalf("%+v", got)
	}
	if len(got[0].Ports) != 2 || got[0].Ports[0] != 443 || got[0].Ports[1] != 8080 || got[2].Ports[0] != 81 {
		t.Errorf("%+v", got)
	}
}
