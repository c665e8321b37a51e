// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package publication

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/controllers/externalservice/endpoints"
	"github.com/fairlead-dev/fairlead/controllers/externalservice/failover"
)

func portSetWith(number int32) *endpoints.PortSet {
	return endpoints.PortSetOf(&networkingv1.ExternalServiceSpec{Ports: []networkingv1.ServicePort{{Name: "db", Port: number, Protocol: ptr.To(corev1.ProtocolTCP)}}}, nil, 0)
}

// publishedAddresses are ready addresses with the same ports, in the order of candidatesOf.
func publishedAddresses(ports *endpoints.PortSet, ips ...netip.Addr) []failover.Published {
	slices.SortFunc(ips, netip.Addr.Compare)
	out := make([]failover.Published, 0, len(ips))
	for _, ip := range ips {
		out = append(out, failover.Published{Candidate: &failover.Candidate{IP: ip, Ports: ports}, IsReady: true})
	}
	return out
}

// stored is how slices look once they were written. Slices that were there and are not wanted any
// more are gone; the order is that of a cache: any.
func stored(random *rand.Rand, wanted []Slice) []*discoveryv1.EndpointSlice {
	out := make([]*discoveryv1.EndpointSlice, 0, len(wanted))
	for _, s := range wanted {
		out = append(out, &discoveryv1.EndpointSlice{
			ObjectMeta: metav1.ObjectMeta{Name: s.Name}, AddressType: s.Family, Ports: s.Ports, Endpoints: s.Endpoints,
		})
	}
	random.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	return out
}

// placement returns in which slice each address stands.
func placement(t *testing.T, all []*discoveryv1.EndpointSlice) map[string]string {
	t.Helper()
	at := map[string]string{}
	for _, s := range all {
		if n := len(s.Endpoints); n == 0 || n > maxSliceEndpoints {
			t.Errorf("%s has %d endpoints", s.Name, n)
		}
		for _, e := range s.Endpoints {
			if other, twice := at[e.Addresses[0]]; twice {
				t.Errorf("%s stands in %s and in %s", e.Addresses[0], other, s.Name)
			}
			at[e.Addresses[0]] = s.Name
		}
	}
	return at
}

func TestAddressesStayInTheirSliceWhileOthersComeAndGo(t *testing.T) {
	ports := portSetWith(5432)
	for seed := range uint64(12) {
		random := rand.New(rand.NewPCG(seed, 1))
		present := map[netip.Addr]bool{}
		var current []*discoveryv1.EndpointSlice
		for range 40 {
			ip := func() netip.Addr {
				n := random.IntN(600)
				if n%3 == 0 {
					return netip.MustParseAddr(fmt.Sprintf("2001:db8::%x", n+1))
				}
				return netip.AddrFrom4([4]byte{198, 51, byte(n >> 8), byte(n)})
			}
			added, removed := 0, 0
			for range random.IntN(30) {
				if at := ip(); !present[at] {
					present[at] = true
					added++
				}
			}
			for at := range present {
				if random.IntN(40) == 0 {
					delete(present, at)
					removed++
				}
			}
			var all []netip.Addr
			for at := range present {
				all = append(all, at)
			}
			before := placement(t, current)
			wanted := Pack("db", current, publishedAddresses(ports, all...))
			again := Pack("db", stored(random, wanted), publishedAddresses(ports, all...))
			slices.SortFunc(again, func(a, b Slice) int { return strings.Compare(a.Name, b.Name) })
			settled := slices.Clone(wanted)
			slices.SortFunc(settled, func(a, b Slice) int { return strings.Compare(a.Name, b.Name) })
			writes := 0
			for i := range settled {
				if len(again) != len(settled) || !apiequality.Semantic.DeepEqual(again[i].Endpoints, settled[i].Endpoints) {
					t.Fatalf("seed %d: what stands is not what would be wanted again", seed)
				}
				was := FindSlice(current, settled[i].Name)
				if was == nil || !apiequality.Semantic.DeepEqual(was.Endpoints, settled[i].Endpoints) {
					writes++
				}
			}
			if added == 0 && removed == 0 && writes > 0 {
				t.Fatalf("seed %d: %d slices written for nothing", seed, writes)
			}
			shrunk := len(current) > len(wanted)
			current = stored(random, wanted)
			after := placement(t, current)
			if len(after) != len(present) {
				t.Fatalf("seed %d: %d addresses are in slices, want %d", seed, len(after), len(present))
			}
			for at, where := range after {
				if was, stood := before[at]; stood && was != where && !shrunk {
					t.Fatalf("seed %d: %s moved from %s to %s", seed, at, was, where)
				}
			}
			if t.Failed() {
				t.Fatalf("seed %d", seed)
			}
		}
	}
}

func ipv4(n int) netip.Addr { return netip.AddrFrom4([4]byte{198, 51, byte(n / 250), byte(n%250 + 1)}) }

func upTo(n int) []netip.Addr {
	var all []netip.Addr
	for i := range n {
		all = append(all, ipv4(i))
	}
	return all
}

func sizes(all []Slice) map[string]int {
	out := map[string]int{}
	for _, s := range all {
		out[s.Name] = len(s.Endpoints)
	}
	return out
}

func TestSlicesHoldAtMostAHundredAddressesOfOneFamilyAndPortSet(t *testing.T) {
	four, own := portSetWith(5432), portSetWith(6432)
	publish := append(publishedAddresses(four, append(upTo(150), netip.MustParseAddr("2001:db8::1"))...), publishedAddresses(own, netip.MustParseAddr("203.0.113.1"))...)
	got := Pack("db", nil, publish)
	want := map[string]int{
		"db-ipv4-" + four.ShortDigest + "-0": 100, "db-ipv4-" + four.ShortDigest + "-1": 50, "db-ipv6-" + four.ShortDigest + "-0": 1, "db-ipv4-" + own.ShortDigest + "-0": 1,
	}
	if diff := cmp.Diff(want, sizes(got)); diff != "" {
		t.Errorf("slices (-want +got):\n%s", diff)
	}
	for _, s := range got {
		for _, e := range s.Endpoints {
			if e.Conditions.Ready == nil || e.Conditions.Serving == nil || e.Conditions.Terminating == nil {
				t.Fatalf("%s: conditions must always be set: %+v", s.Name, e)
			}
		}
	}
}

func TestANewAddressFillsAGapBeforeASliceIsMade(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	ports := portSetWith(5432)
	all := upTo(200)
	current := stored(random, Pack("db", nil, publishedAddresses(ports, all...)))
	all[3] = ipv4(500) // one goes, one comes: it takes the place that is free
	got := Pack("db", current, publishedAddresses(ports, all...))
	changed := 0
	for _, s := range got {
		if !apiequality.Semantic.DeepEqual(FindSlice(current, s.Name).Endpoints, s.Endpoints) {
			changed++
		}
	}
	if len(got) != 2 || changed != 1 {
		t.Errorf("%d slices, %d of them changed: want 2 and 1", len(got), changed)
	}
}

func TestSlicesThatGainAddressesAreWrittenFirst(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	old, now := portSetWith(5432), portSetWith(6432)
	current := stored(random, Pack("db", nil, publishedAddresses(old, upTo(200)...)))
	got := Pack("db", current, append(publishedAddresses(old, upTo(90)...), publishedAddresses(now, ipv4(400))...))
	if len(got) != 2 || !got[0].hasNew || got[1].hasNew {
		t.Errorf("the order is %v", sizes(got))
	}
}

func TestFewAddressesAreNotSpreadOverManySlices(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	ports := portSetWith(5432)
	current := stored(random, Pack("db", nil, publishedAddresses(ports, upTo(1000)...)))
	var left []netip.Addr
	for i := range 10 {
		left = append(left, ipv4(i*100))
	}
	got := Pack("db", current, publishedAddresses(ports, left...))
	if len(got) > 2 {
		t.Errorf("10 addresses are in %d slices", len(got))
	}
	placement(t, stored(random, got))
}

func TestSlicesThatAUserEditedAreReadAsTheyAre(t *testing.T) {
	ports := portSetWith(5432)
	edited := &discoveryv1.EndpointSlice{ObjectMeta: metav1.ObjectMeta{Name: "db-ipv4-" + ports.ShortDigest + "-0"}, Endpoints: []discoveryv1.Endpoint{
		{Addresses: []string{"not an address"}}, {Addresses: []string{"203.0.113.9"}}, {Addresses: []string{ipv4(1).String()}, Conditions: discoveryv1.EndpointConditions{Ready: ptr.To(false)}},
		{Addresses: []string{ipv4(1).String()}},
	}}
	odd := &discoveryv1.EndpointSlice{ObjectMeta: metav1.ObjectMeta{Name: "db-ipv4-" + ports.ShortDigest + "-01"}}
	got := Pack("db", []*discoveryv1.EndpointSlice{edited, odd}, publishedAddresses(ports, upTo(2)...))
	if len(got) != 1 || got[0].Name != edited.Name || len(got[0].Endpoints) != 2 || !*got[0].Endpoints[0].Conditions.Ready {
		t.Errorf("got %+v", got)
	}
}
