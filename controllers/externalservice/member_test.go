// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package externalservice

import (
	"math/rand/v2"
	"net/netip"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/utils/ptr"

	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/internal/egress"
	"github.com/fairlead-dev/fairlead/internal/probe"
)

func endpointWith(name string, priority int32, zone string, health networkingv1.AddressHealth, ips ...string) resolvedEndpoint {
	s := resolvedEndpoint{Endpoint: &networkingv1.Endpoint{Name: name, Priority: ptr.To(priority), Zone: zone}, priority: priority}
	for _, ip := range ips {
		s.addresses = append(s.addresses, address{
			ip: netip.MustParseAddr(ip), ports: somePorts, health: probe.Health{State: health, Since: epoch},
		})
	}
	return s
}

var compareCandidates = cmp.Options{cmp.AllowUnexported(candidate{}), cmpopts.IgnoreFields(candidate{}, "ports"), cmpopts.EquateComparable(netip.Addr{})}

func TestMembersDoNotDependOnTheOrderOfTheSpec(t *testing.T) {
	sites := []resolvedEndpoint{
		endpointWith("a", 0, "east", networkingv1.AddressUnhealthy, "192.0.2.1", "192.0.2.2"),
		endpointWith("b", 0, "west", networkingv1.AddressHealthy, "192.0.2.2", "2001:db8::1"),
		endpointWith("c", 1, "north", networkingv1.AddressHealthy, "192.0.2.1"),
		endpointWith("d", 0, "", networkingv1.AddressUnknown, "192.0.2.1"),
	}
	want := []candidate{
		{priority: 0, ip: netip.MustParseAddr("192.0.2.1"), zone: "east", health: networkingv1.AddressUnknown, since: epoch},
		{priority: 0, ip: netip.MustParseAddr("192.0.2.2"), zone: "east", health: networkingv1.AddressHealthy, since: epoch},
		{priority: 0, ip: netip.MustParseAddr("2001:db8::1"), zone: "west", health: networkingv1.AddressHealthy, since: epoch},
		{priority: 1, ip: netip.MustParseAddr("192.0.2.1"), zone: "north", health: networkingv1.AddressHealthy, since: epoch},
	}
	random := rand.New(rand.NewPCG(1, 2))
	for range 30 {
		random.Shuffle(len(sites), func(i, j int) { sites[i], sites[j] = sites[j], sites[i] })
		if diff := cmp.Diff(want, candidatesOf(sites), compareCandidates); diff != "" {
			t.Fatalf("members (-want +got):\n%s", diff)
		}
	}
}

func TestAnAddressOfTwoEndpointsIsHealthyForAsLongAsEitherSays(t *testing.T) {
	sites := []resolvedEndpoint{endpointWith("a", 0, "", networkingv1.AddressHealthy, "192.0.2.1"), endpointWith("b", 0, "", networkingv1.AddressHealthy, "192.0.2.1")}
	sites[0].addresses[0].health.Since = epoch.Add(time.Hour)
	if got := candidatesOf(sites); len(got) != 1 || !got[0].since.Equal(epoch) {
		t.Errorf("got %+v", got)
	}
}

func TestDrainedEndpointsAndDeniedAddressesAreNoMembers(t *testing.T) {
	sites := []resolvedEndpoint{endpointWith("a", 0, "", networkingv1.AddressHealthy, "192.0.2.1"), endpointWith("b", 0, "", networkingv1.AddressHealthy, "192.0.2.2", "192.0.2.3")}
	sites[0].drained = true
	sites[1].addresses[0].deniedReason = egress.ReasonPod
	if got := candidatesOf(sites); len(got) != 1 || got[0].ip.String() != "192.0.2.3" {
		t.Errorf("got %+v", got)
	}
}
