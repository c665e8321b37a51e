// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build nightly

package externalservice

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/test/externalnet"
	"github.com/fairlead-dev/fairlead/test/framework"
)

// It runs while no other test does: it has all that is checked fail.
func TestWhenEverythingFailsAtOnceTheOperatorMistrustsItself(t *testing.T) {
	s := newSuite(t)
	s.alone()
	const each = 4
	all := map[string][]string{}
	specs := map[string]string{}
	var servers []*externalnet.Server
	for i := range 4 {
		var addresses []string
		for range each + 1 {
			address := s.Servers.Address()
			addresses = append(addresses, address)
			servers = append(servers, s.server(s.Servers.HTTP(address+":7000")))
		}
		name := "o" + strconv.Itoa(i)
		all[name] = addresses[:each]
		specs[name] = `{ports: [{name: p, port: 7000}], failover: {failbackDelay: 1s},
			endpoints: [{name: a, addresses: [` + strings.Join(addresses[:each], ", ") + `]}, {name: b, priority: 1, addresses: [` + addresses[each] + `]}],
			healthCheck: {httpGet: {}, interval: 2s, unhealthyInterval: 1s, timeout: 2s, jitterPercent: 0, failureThreshold: 3, successThreshold: 1}}`
	}
	s.applyAll(specs)
	before := map[string]map[string]string{}
	for name, addresses := range all {
		s.healthy(name, addresses...)
		s.condition(name, networkingv1.ConditionHealthy, metav1.ConditionTrue, networkingv1.ReasonAllHealthy)
		before[name] = sliceVersions(s.Slices(name))
	}

	s.set(externalnet.Behavior{Status: http.StatusServiceUnavailable}, servers...)
	for name, addresses := range all {
		s.condition(name, networkingv1.ConditionHealthy, metav1.ConditionUnknown, networkingv1.ReasonProbesInconclusive)
		s.publishes(name, addresses...)
	}
	// Well beyond the threshold everything still stands.
	seen := make([]int, len(servers))
	for i, server := range servers {
		seen[i] = server.Counts().Requests
	}
	for i, server := range servers {
		s.Eventually(func() error {
			if n := server.Counts().Requests - seen[i]; n < 5 {
				return fmt.Errorf("%s was asked %d times more, waiting for 5", server.At(), n)
			}
			return nil
		})
	}
	for name, addresses := range all {
		s.condition(name, networkingv1.ConditionHealthy, metav1.ConditionUnknown, networkingv1.ReasonProbesInconclusive)
		s.publishes(name, addresses...)
		s.active(name, 0)
		if diff := cmp.Diff(before[name], sliceVersions(s.Slices(name))); diff != "" {
			t.Errorf("%s: slices were written (-before +now):\n%s", name, diff)
		}
	}

	s.set(externalnet.Behavior{}, servers...)
	for name, addresses := range all {
		s.condition(name, networkingv1.ConditionHealthy, metav1.ConditionTrue, networkingv1.ReasonAllHealthy)
		s.publishes(name, addresses...)
		if events := s.Told("ExternalService", name)["EndpointUnhealthy"]; len(events) != 0 {
			t.Errorf("%s: addresses became unhealthy: %s", name, framework.Text(events))
		}
		if diff := cmp.Diff(before[name], sliceVersions(s.Slices(name))); diff != "" {
			t.Errorf("%s: slices were written (-before +now):\n%s", name, diff)
		}
	}
	// It trusts itself again: one that fails alone is unhealthy.
	s.set(externalnet.Behavior{Fault: externalnet.Refuse}, servers[0])
	s.becomes("o0", all["o0"][0], networkingv1.AddressUnhealthy, networkingv1.ProbeRefused)
}

func TestManualFailbackWaitsUntilItIsAskedForEachTime(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	s.amongMany()
	addresses, servers := s.tcp(7000, 2)
	specs := map[string]string{
		"manual": priorities(`, failover: {failback: Manual, failbackDelay: 1s}`, addresses[:1], addresses[1:]),
		// What happens to this one tells that there was time for it to happen to the other.
		"automatic": priorities(`, failover: {failback: Automatic, failbackDelay: 2s}`, addresses[:1], addresses[1:]),
	}
	s.applyAll(specs)
	ask := func(value string) {
		s.change("manual", func(es *networkingv1.ExternalService) {
			es.Annotations = map[string]string{networkingv1.FailbackNowAnnotation: value}
		})
	}
	stays := func() {
		t.Helper()
		s.publishes("automatic", addresses[0])
		s.condition("manual", networkingv1.ConditionFailedOver, metav1.ConditionTrue, networkingv1.ReasonFailbackManual)
		if got := s.published("manual"); !slices.Equal(got, addresses[1:]) {
			t.Fatalf("%q is published, and was not asked for", got)
		}
	}
	for i, token := range []string{"first", "second"} {
		for name := range specs {
			s.publishes(name, addresses[0])
		}
		s.set(externalnet.Behavior{Fault: externalnet.Refuse}, servers[0])
		for name := range specs {
			s.publishes(name, addresses[1])
		}
		s.set(externalnet.Behavior{}, servers[0])
		stays()
		if message := s.message("manual", networkingv1.ConditionFailedOver); !strings.Contains(message, networkingv1.FailbackNowAnnotation) {
			t.Errorf("the condition does not say how to go back: %s", message)
		}
		ask(token)
		s.publishes("manual", addresses[0])
		s.latestChange("manual", networkingv1.ChangeFailback, networkingv1.ReasonFailbackRequested)
		s.without("manual", networkingv1.ConditionFailedOver)
		if handled := s.status("manual").HandledFailbackNow; string(handled) != token {
			t.Errorf("round %d: handledFailbackNow is %q, want %q", i, handled, token)
		}
	}
}
