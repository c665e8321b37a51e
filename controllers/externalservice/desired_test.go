// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package externalservice

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/utils/ptr"

	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
)

func spec(endpoints ...networkingv1.Endpoint) *networkingv1.ExternalServiceSpec {
	return &networkingv1.ExternalServiceSpec{
		Ports:     []networkingv1.ServicePort{{Name: "db", Port: 5432}},
		Endpoints: endpoints,
	}
}

func static(name string, priority int32, ips ...networkingv1.IPAddress) networkingv1.Endpoint {
	return networkingv1.Endpoint{Name: name, Priority: ptr.To(priority), Addresses: ips}
}

func ips(chosen selection) []string {
	var out []string
	for _, a := range chosen.addresses {
		out = append(out, a.ip.String())
	}
	return out
}

func TestChooseTakesTheLowestPriorityThatHasActiveAddresses(t *testing.T) {
	drained := static("drained", 0, "192.0.2.1")
	drained.State = ptr.To(networkingv1.EndpointDrained)
	dns := networkingv1.Endpoint{Name: "dns", DNS: &networkingv1.DNSName{Name: "db.example.com"}}
	for name, c := range map[string]struct {
		endpoints []networkingv1.Endpoint
		want      []string
		priority  *int32
		total     int32
	}{
		"one":                   {[]networkingv1.Endpoint{static("a", 0, "192.0.2.1")}, []string{"192.0.2.1"}, ptr.To[int32](0), 1},
		"in any order":          {[]networkingv1.Endpoint{static("b", 2, "192.0.2.2"), static("a", 1, "192.0.2.1")}, []string{"192.0.2.1"}, ptr.To[int32](1), 2},
		"several of a priority": {[]networkingv1.Endpoint{static("a", 0, "192.0.2.1"), static("b", 0, "192.0.2.2")}, []string{"192.0.2.1", "192.0.2.2"}, ptr.To[int32](0), 2},
		"drained is passed":     {[]networkingv1.Endpoint{drained, static("b", 3, "192.0.2.2")}, []string{"192.0.2.2"}, ptr.To[int32](3), 2},
		"a name has none yet":   {[]networkingv1.Endpoint{dns, static("b", 1, "192.0.2.2")}, []string{"192.0.2.2"}, ptr.To[int32](1), 1},
		"shared address":        {[]networkingv1.Endpoint{static("a", 0, "192.0.2.1"), static("b", 0, "192.0.2.1")}, []string{"192.0.2.1"}, ptr.To[int32](0), 2},
		"nothing":               {[]networkingv1.Endpoint{drained}, nil, nil, 1},
	} {
		t.Run(name, func(t *testing.T) {
			got := choose(spec(c.endpoints...))
			if diff := cmp.Diff(c.want, ips(got)); diff != "" {
				t.Errorf("addresses (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.priority, got.priority); diff != "" || got.total != c.total {
				t.Errorf("priority (-want +got):\n%s total %d, want %d", diff, got.total, c.total)
			}
		})
	}
}

func TestSlicesHoldOneFamilyAndOnePortSetAndAtMostAHundredAddresses(t *testing.T) {
	s := spec()
	for i := range 150 {
		s.Endpoints = append(s.Endpoints, static(fmt.Sprintf("v4-%d", i), 0, networkingv1.IPAddress(fmt.Sprintf("198.51.100.%d", i+1))))
	}
	own := static("own-port", 0, "203.0.113.1")
	own.Ports = []networkingv1.EndpointPort{{Name: "db", Port: 6432}}
	s.Endpoints = append(s.Endpoints, static("v6", 0, "2001:db8::1"), own)

	got := slicesOf("billing", choose(s).addresses)
	type shape struct {
		family discoveryv1.AddressType
		port   int32
		n      int
	}
	shapes := map[shape]int{}
	for _, g := range got {
		shapes[shape{g.family, *g.ports[0].Port, len(g.endpoints)}]++
		for _, e := range g.endpoints {
			if e.Conditions.Ready == nil || e.Conditions.Serving == nil || e.Conditions.Terminating == nil {
				t.Fatalf("%s: conditions must always be set: %+v", g.name, e)
			}
		}
	}
	want := map[shape]int{{"IPv4", 5432, 100}: 1, {"IPv4", 5432, 50}: 1, {"IPv4", 6432, 1}: 1, {"IPv6", 5432, 1}: 1}
	if diff := cmp.Diff(want, shapes); diff != "" {
		t.Errorf("slices (-want +got):\n%s", diff)
	}
}

func TestSlicesDoNotDependOnTheOrderOfEndpoints(t *testing.T) {
	s := spec()
	for i := range 120 {
		s.Endpoints = append(s.Endpoints, static(fmt.Sprint(i), 0, networkingv1.IPAddress(fmt.Sprintf("198.51.100.%d", i+1))))
	}
	want := slicesOf("billing", choose(s).addresses)
	random := rand.New(rand.NewPCG(1, 2))
	for range 20 {
		shuffled := slices.Clone(s.Endpoints)
		random.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
		got := slicesOf("billing", choose(spec(shuffled...)).addresses)
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(slice{})); diff != "" {
			t.Fatalf("slices changed with the order (-want +got):\n%s", diff)
		}
	}
}

func TestAppliedDigestChangesWithWhatIsWanted(t *testing.T) {
	es := &networkingv1.ExternalService{Spec: *spec()}
	before := desiredService(es).Annotations[appliedAnnotation]
	if again := desiredService(es).Annotations[appliedAnnotation]; again != before || before == "" {
		t.Fatalf("digest is not stable: %q, then %q", before, again)
	}
	es.Spec.Service = &networkingv1.ServiceTemplate{Type: ptr.To(networkingv1.ServiceHeadless)}
	if desiredService(es).Annotations[appliedAnnotation] == before {
		t.Error("another type has the same digest")
	}
}
