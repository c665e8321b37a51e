// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package publication

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/utils/ptr"

	"github.com/fairlead-dev/fairlead/api/common"
	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	rules "github.com/fairlead-dev/fairlead/internal/rules/externalservice"
)

// An object has 32 endpoints of 100 addresses at most. While their ports change, each has two.
func TestTheNetworkPolicyOfAsManyAddressesAsThereMayBeIsSmallEnough(t *testing.T) {
	es := &networkingv1.ExternalService{Spec: networkingv1.ExternalServiceSpec{
		NetworkPolicy: &networkingv1.NetworkPolicyTemplate{PodSelector: &common.LabelSelector{}},
	}}
	es.Namespace, es.Name = "shop", "db"
	rules.Default(es)
	to := Destinations{}
	for i := range 3200 {
		ip := netip.MustParseAddr(fmt.Sprintf("2001:db8:1111:2222:3333:4444:5555:%x", 0x1000+i))
		to.Add(ip, []discoveryv1.EndpointPort{
			{Port: ptr.To(int32(30000 + i))}, {Port: ptr.To(int32(40000 + i)), Protocol: ptr.To(corev1.ProtocolUDP)},
		})
	}
	policy := NetworkPolicy(es, &corev1.Service{}, to)
	data, err := json.Marshal(policy)
	if err != nil || len(data) > 1_000_000 {
		t.Errorf("%d bytes, %v", len(data), err)
	}
	t.Logf("%d bytes with a rule for each address", len(data))
	if diff := cmp.Diff(len(to), len(DestinationsIn(policy))); diff != "" || !DestinationsIn(policy).HasAll(to) {
		t.Errorf("it does not say what it was made of: %s", diff)
	}
	if given, err := NetworkPolicyConfiguration(policy); err != nil || len(given.Spec.Egress) != len(policy.Spec.Egress) || given.CreationTimestamp != nil {
		t.Errorf("applied: %v", err)
	}
}
