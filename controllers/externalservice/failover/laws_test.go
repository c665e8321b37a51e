// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package failover

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/controllers/externalservice/endpoints"
	"github.com/fairlead-dev/fairlead/internal/egress"
	"github.com/fairlead-dev/fairlead/internal/freeze"
	"github.com/fairlead-dev/fairlead/internal/probe"
	rules "github.com/fairlead-dev/fairlead/internal/rules/externalservice"
)

func ipOf(i, j int) netip.Addr { return netip.AddrFrom4([4]byte{192, 0, byte(i), byte(j)}) }

// publishedInput is an object whose priority 0 is published, and all of it healthy and ready.
func publishedInput(random *rand.Rand) (*Input, *State) {
	es := &networkingv1.ExternalService{Spec: networkingv1.ExternalServiceSpec{HealthCheck: &networkingv1.HealthCheck{}}}
	es.Generation, es.Status.ObservedGeneration = 1, 1
	rules.Default(es)
	in := &Input{Now: epoch, Object: es}
	for i := range 1 + random.IntN(4) {
		e := endpoints.Endpoint{Name: fmt.Sprint(i), Priority: int32(min(i, random.IntN(3)))}
		for j := range 1 + random.IntN(3) {
			a := endpoints.Address{IP: ipOf(i, j), Ports: somePorts, Changed: epoch.Add(-time.Hour)}
			a.Health = probe.Health{State: networkingv1.AddressHealthy, Since: a.Changed}
			e.Addresses = append(e.Addresses, a)
			if e.Priority == 0 {
				in.Held = append(in.Held, endpoints.Held{IP: a.IP, Ports: somePorts, IsReady: true, Verdict: egress.Verdict{Allowed: true}})
			}
		}
		in.Observed.Endpoints = append(in.Observed.Endpoints, e)
	}
	return in, &State{FirstSeen: epoch.Add(-time.Minute), IsDecided: true, Active: ptr.To[int32](0)}
}

func TestLawWhatIsUnknownTakesNothingAway(t *testing.T) {
	for seed := range uint64(300) {
		random := rand.New(rand.NewPCG(seed, 4))
		in, state := publishedInput(random)
		for _, a := range endpoints.Active(in.Observed.Endpoints) {
			if random.IntN(2) == 0 {
				a.Health, a.Changed = probe.Health{State: networkingv1.AddressUnknown}, epoch.Add(-time.Duration(random.IntN(60))*time.Second)
			}
		}
		in.Observed.IsSuspect, in.Observed.IsIncomplete = random.IntN(3) == 0, random.IntN(3) == 0
		d := state.Decide(in)
		if d.IsHeld {
			continue
		}
		ready := map[endpoints.Key]bool{}
		for _, p := range d.Shown.Wanted() {
			ready[p.Key()] = p.IsReady
		}
		fit := d.Fitness(in.Observed.Endpoints, in.Held)
		for i := range in.Held {
			key := in.Held[i].Key()
			if isFit, isKnown := fit.Of(key); *d.Shown.Active == 0 && !ready[key] || isKnown && !isFit {
				t.Fatalf("seed %d: %s lost traffic: %s", seed, key.IP, show(d.Shown))
			}
		}
	}
}

// Law 12: an edit of ports makes another target of each address. What is ready stays until the first result of its own
// successor, and where nothing else is ready until that of any.
func TestLawAnAddressStaysWithItsFormerPortsUntilTheOthersWereChecked(t *testing.T) {
	otherPorts := &endpoints.PortSet{Digest: "1"}
	for seed := range uint64(500) {
		random := rand.New(rand.NewPCG(seed, 5))
		in, state := publishedInput(random)
		is := map[netip.Addr]networkingv1.AddressHealth{}
		isAwaited, isHealthy := false, false
		for e, a := range endpoints.Active(in.Observed.Endpoints) {
			health := []networkingv1.AddressHealth{networkingv1.AddressUnknown, networkingv1.AddressHealthy, networkingv1.AddressUnhealthy}[random.IntN(3)]
			a.Ports, a.Health.State = otherPorts, health
			if health == networkingv1.AddressUnknown {
				a.Changed = epoch.Add(-2 * time.Second)
			}
			isAwaited = isAwaited || health == networkingv1.AddressUnknown
			if e.Priority == 0 {
				is[a.IP] = health
				isHealthy = isHealthy || health == networkingv1.AddressHealthy
			}
		}
		d := state.Decide(in)
		if d.IsHeld || *d.Shown.Active != 0 {
			continue
		}
		ready := map[endpoints.Key]bool{}
		for _, p := range d.Shown.Wanted() {
			ready[p.Key()] = p.IsReady
		}
		for i := range in.Held {
			former := in.Held[i].Key()
			health := is[former.IP]
			stays := health == networkingv1.AddressUnknown || isAwaited && !isHealthy
			if ready[former] != stays || ready[endpoints.Key{IP: former.IP, Ports: "1"}] != (health == networkingv1.AddressHealthy) {
				t.Fatalf("seed %d: %s is %s at its new ports, and ready at the previous ports %t, at the new ones %t: %s", seed, former.IP, health,
					ready[former], ready[endpoints.Key{IP: former.IP, Ports: "1"}], show(d.Shown))
			}
		}
	}
}

func TestLawWhatIsUnknownBeginsNoFault(t *testing.T) {
	for name, unknown := range map[string]func(*Input){
		"dependants": func(in *Input) { in.Dependants.AreUnknown = true },
		"blackouts":  func(in *Input) { in.Blackouts = freeze.State{Unknown: "not read yet"} },
		"health":     func(in *Input) { in.Observed.Endpoints[0].Addresses[0].Health.State = networkingv1.AddressUnknown },
		"":           func(*Input) {},
	} {
		in, state := publishedInput(rand.New(rand.NewPCG(1, 4)))
		in.Object.Annotations = map[string]string{networkingv1.InjectFaultAnnotation: "BlackHole for=10m at=" + epoch.Format(time.RFC3339)}
		unknown(in)
		d := state.Decide(in)
		if begins := d.Fault.Status.Lasts(); d.IsHeld || begins != (name == "") || d.Fault.IsInEffect {
			t.Errorf("unknown %s: %+v", name, d.Fault)
		}
		if name == "" {
			continue
		}
		in.Object.Status.Fault = &networkingv1.FaultStatus{
			Request: requestedFault(in.Object), Type: networkingv1.FaultBlackHole,
			StartTime: &metav1.Time{Time: epoch.Add(-time.Minute)}, DeadlineTime: metav1.Time{Time: epoch},
		}
		if d := state.Decide(in); d.Fault.IsInEffect || d.Fault.Status.Lasts() || d.Shown.ReadyCount() == 0 {
			t.Errorf("unknown %s keeps a fault beyond its deadline: %+v", name, d.Fault)
		}
	}
}

// Law 12: of two SRV records with one address, the one that has failed must not take traffic, whatever the other does.
func TestTheTrafficOfAnAddressIsOfItsPorts(t *testing.T) {
	in := &Input{Now: epoch}
	var shown Choice
	for port, health := range map[int32]networkingv1.AddressHealth{7001: networkingv1.AddressHealthy, 7002: networkingv1.AddressUnhealthy} {
		slice := &discoveryv1.EndpointSlice{
			Ports:     []discoveryv1.EndpointPort{{Name: ptr.To("sql"), Port: &port, Protocol: ptr.To(corev1.ProtocolTCP)}},
			Endpoints: []discoveryv1.Endpoint{{Addresses: []string{"192.0.2.1"}, Conditions: discoveryv1.EndpointConditions{Ready: ptr.To(true)}}},
		}
		in.Slices = append(in.Slices, slice)
		shown.Published = append(shown.Published, Published{
			Candidate: &Candidate{IP: netip.MustParseAddr("192.0.2.1"), Ports: endpoints.PortsOf(slice), Health: health},
			IsReady:   health == networkingv1.AddressHealthy,
		})
	}
	if takes, wrongly := traffic(in, &shown); !takes || !wrongly {
		t.Errorf("takes traffic %t, wrongly %t; the failed one does", takes, wrongly)
	}
}
