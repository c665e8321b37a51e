// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build nightly

package externalservice

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/test/externalnet"
)

func TestProbesKeepTheirPace(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	s.amongMany()
	const rounds, more = 4, 3
	// At most this share of an interval too early is chance: a result that came late before.
	const chance = 0.5
	cases := map[string]struct {
		check   string
		good    bool
		between time.Duration
	}{
		"often":     {`interval: 1s, unhealthyInterval: 5m, jitterPercent: 0`, true, time.Second},
		"seldom":    {`interval: 3s, unhealthyInterval: 5m, jitterPercent: 0`, true, 3 * time.Second},
		"unhealthy": {`interval: 1s, unhealthyInterval: 3s, jitterPercent: 0`, false, 3 * time.Second},
		// Six numbers from 0 to 1 add up to less than 0.6 once in 15,000 times.
		"jitter": {`interval: 1s, unhealthyInterval: 5m, jitterPercent: 100`, true, 1100 * time.Millisecond},
	}
	specs, servers := map[string]string{}, map[string]*script{}
	for name, c := range cases {
		address := s.Servers.Address()
		servers[name] = s.scripted(address+":7000", c.good)
		addresses := []string{address}
		if !c.good { // where nothing is healthy, interval would apply
			addresses = append(addresses, s.Servers.Address())
			s.server(s.Servers.HTTP(addresses[1] + ":7000"))
		}
		specs[name] = checked(`httpGet: {}, timeout: 1s, `+c.check, addresses...)
	}
	s.applyAll(specs)
	for name, c := range cases {
		n := rounds
		if name == "jitter" {
			n = 6
		}
		times := servers[name].asked(s, n+1+more)
		took := time.Duration(0) // the longest: where the first of some requests was served late, what follows seems to be early
		for first := range more + 1 {
			took = max(took, times[first+n].Sub(times[first]))
		}
		if least := time.Duration((float64(n) - chance) * float64(c.between)); name != "jitter" && took < least {
			t.Errorf("%s: %d intervals took %s, want %s at least", name, n, took, least)
		} else if name == "jitter" && took < time.Duration(n)*c.between {
			t.Errorf("%s: %d intervals took %s: nothing was added to them", name, n, took)
		}
		if most := 10 * time.Duration(n) * c.between; took > most {
			t.Errorf("%s: %d intervals took %s, want %s at most", name, n, took, most)
		}
	}
}

func TestNothingIsWrittenWhileEverythingIsProbedAndLookedUp(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	s.amongMany()
	host, named, good, bad := s.host("rest"), s.Servers.Address(), s.Servers.Address(), s.Servers.Address()
	s.Must(s.Servers.DNS.Addresses(host, time.Second, named))
	s.server(s.Servers.HTTP(named + ":7000"))
	up, down := s.server(s.Servers.HTTP(good+":7000")), s.server(s.Servers.HTTP(bad+":7000"))
	s.set(externalnet.Behavior{Status: 500}, down)
	s.apply("rest", `{ports: [{name: p, port: 7000}], `+hasten+`,
		endpoints: [{name: named, dns: {name: `+host+`}}, `+endpoints(good, bad)+`], healthCheck: {httpGet: {}, `+often+`}}`)
	s.healthy("rest", named, good)
	s.becomes("rest", bad, networkingv1.AddressUnhealthy, networkingv1.ProbeUnexpectedStatus)
	s.condition("rest", networkingv1.ConditionHealthy, metav1.ConditionFalse, networkingv1.ReasonDegraded)
	s.Tells("ExternalService", "rest", "EndpointUnhealthy", 1)
	s.Tells("ExternalService", "rest", "Published", 1)
	// Failing otherwise than before is in the status, and no Event.
	s.set(externalnet.Behavior{Fault: externalnet.Refuse}, down)
	s.becomes("rest", bad, networkingv1.AddressUnhealthy, networkingv1.ProbeRefused)
	s.Tells("ExternalService", "rest", "EndpointUnhealthy", 1)
	before := s.versions("rest")
	until := up.Counts().Requests + 6
	s.Eventually(func() error {
		if n := up.Counts().Requests; n < until {
			return fmt.Errorf("%d requests, waiting for %d", n, until)
		}
		return nil
	})
	s.lookups(host, externalnet.A, 1)
	if diff := cmp.Diff(before, s.versions("rest")); diff != "" {
		t.Errorf("something was written at rest (-before +now):\n%s", diff)
	}
}

func TestCountsSurviveEditsAndLookupsThatDoNotConcernThem(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	s.amongMany()
	host, address := s.host("kept"), s.Servers.Address()
	s.Must(s.Servers.DNS.Addresses(host, time.Second, address))
	server := s.scripted(address+":7000", true)
	s.apply("kept", `{ports: [{name: p, port: 7000}], endpoints: [{name: a, dns: {name: `+host+`}}], `+hasten+`,
		healthCheck: {httpGet: {}, interval: 5s, timeout: 5s, unhealthyInterval: 5m, failureThreshold: 2, jitterPercent: 0}}`)
	since := s.becomes("kept", address, networkingv1.AddressHealthy, networkingv1.ProbeConnected).since
	server.play("-")
	s.Eventually(server.played)
	// Before the second failure the object changes.
	s.change("kept", func(es *networkingv1.ExternalService) { es.Spec.Endpoints[0].Zone = ptr.To("west") })
	s.lookups(host, externalnet.A, 2)
	if o, err := s.outlook("kept", address); err != nil || o.zone != "west" || (o.health == networkingv1.AddressHealthy && !o.since.Equal(since)) {
		t.Errorf("after the edit: %+v, %v; it was healthy since %s", o, err, since)
	}
	s.becomes("kept", address, networkingv1.AddressUnhealthy, networkingv1.ProbeUnexpectedStatus)
	if n := server.failures(); n != 2 {
		t.Errorf("it took %d failures, want 2", n)
	}
}
