// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package externalservice

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/test/externalnet"
	"github.com/fairlead-dev/fairlead/test/framework"
)

// priorities is the spec of an ExternalService on port 7000 with one endpoint for each priority from 0 up;
// more is further fields of the spec.
func priorities(more string, addresses ...[]string) string {
	var all []string
	for priority, some := range addresses {
		all = append(all, fmt.Sprintf(`{name: p%d, priority: %d, zone: z%d, addresses: [%s]}`, priority, priority, priority, strings.Join(some, ", ")))
	}
	return `{ports: [{name: p, port: 7000}], endpoints: [` + strings.Join(all, ", ") + `], healthCheck: {tcpSocket: {}, ` + often + `}` + more + `}`
}

// active waits until a priority is published.
func (s *suite) active(name string, priority int32) {
	s.Helper()
	s.Eventually(func() error {
		if got := s.status(name).ActivePriority; got == nil || *got != priority {
			return fmt.Errorf("%s: the active priority is %s, want %d", name, framework.Text(got), priority)
		}
		return nil
	})
}

// latestChange waits until the history begins with a change that has succeeded, of a type and for a reason.
func (s *suite) latestChange(name, kind, reason string) {
	s.Helper()
	s.Eventually(func() error {
		history := s.status(name).History
		if len(history) == 0 || history[0].Type != kind || history[0].Reason != reason || history[0].Result != networkingv1.ResultSucceeded {
			return fmt.Errorf("%s: the history is %s, want %s for %s first", name, framework.Text(history), kind, reason)
		}
		return nil
	})
}

// without waits until a condition is false.
func (s *suite) without(name, kind string) {
	s.Helper()
	s.Eventually(func() error {
		if all := s.status(name).Conditions; !meta.IsStatusConditionFalse(all, kind) {
			return fmt.Errorf("%s: want %s=False: %s", name, kind, framework.Text(all))
		}
		return nil
	})
}

func TestThePrimaryFailsOverAndIsTakenAgainAfterTheDelay(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	s.amongMany()
	const delay = 20 * time.Second
	addresses, servers := s.tcp(7000, 2)
	primary, secondary := addresses[0], addresses[1]
	s.apply("db", priorities(`, failover: {failbackDelay: 20s}, historyLimit: 1`, addresses[:1], addresses[1:]))
	s.healthy("db", primary)
	s.publishes("db", primary)
	s.condition("db", networkingv1.ConditionHealthy, metav1.ConditionTrue, networkingv1.ReasonAllHealthy)
	s.active("db", 0)
	s.without("db", networkingv1.ConditionFailedOver)
	if got := s.Addresses("db"); !slices.Equal(got, addresses[:1]) {
		t.Errorf("the slices hold %q: other priorities are not omitted", got)
	}

	s.set(externalnet.Behavior{Fault: externalnet.Refuse}, servers[0])
	s.publishes("db", secondary)
	s.condition("db", networkingv1.ConditionFailedOver, metav1.ConditionTrue, networkingv1.ReasonPriorityUnhealthy)
	s.condition("db", networkingv1.ConditionHealthy, metav1.ConditionTrue, networkingv1.ReasonAllHealthy)
	s.condition("db", networkingv1.ConditionReady, metav1.ConditionTrue, networkingv1.ReasonPublished)
	s.active("db", 1)
	s.Tells("ExternalService", "db", "FailedOver", 1)
	s.latestChange("db", networkingv1.ChangeFailover, networkingv1.ReasonPriorityUnhealthy)
	if got := s.Addresses("db"); !slices.Equal(got, addresses[1:]) {
		t.Errorf("the slices hold %q: other priorities are not omitted", got)
	}
	if o, err := s.outlook("db", secondary); err != nil || o.zone != "z1" {
		t.Errorf("the zone of %s is %q: %v", secondary, o.zone, err)
	}
	if priority, times := s.figure("active_priority", "db"), s.figure("failovers_total", "db"); priority != "1" || times != "1" {
		t.Errorf("metrics: active priority %q, failovers %q; want 1 and 1", priority, times)
	}

	s.set(externalnet.Behavior{}, servers[0])
	s.condition("db", networkingv1.ConditionFailedOver, metav1.ConditionTrue, networkingv1.ReasonFailbackDelay)
	if got := s.published("db"); !slices.Equal(got, addresses[1:]) {
		t.Errorf("%q is published while failback is pending", got)
	}
	s.publishes("db", primary)
	o, err := s.outlook("db", primary)
	s.Must(err)
	if healthy := time.Since(o.since); healthy < delay { // since is in whole seconds, rounded down
		t.Errorf("the primary was taken again after it was healthy for %s, want %s at least", healthy, delay)
	}
	s.without("db", networkingv1.ConditionFailedOver)
	s.active("db", 0)
	s.Tells("ExternalService", "db", "FailedBack", 1)
	s.latestChange("db", networkingv1.ChangeFailback, networkingv1.ReasonPriorityRecovered)
	if n := len(s.status("db").History); n != 1 {
		t.Errorf("%d changes are in a history of 1", n)
	}
	if priority, times := s.figure("active_priority", "db"), s.figure("failovers_total", "db"); priority != "0" || times != "1" {
		t.Errorf("metrics: active priority %q, failovers %q; want 0 and 1", priority, times)
	}
}

func TestAPriorityNeedsEnoughHealthyAddresses(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	s.amongMany()
	addresses, servers := s.tcp(7000, 4)
	s.apply("db", priorities(`, failover: {minHealthyPercent: 60, failbackDelay: 1s}`, addresses[:3], addresses[3:]))
	s.publishes("db", addresses[:3]...)
	s.set(externalnet.Behavior{Fault: externalnet.Refuse}, servers[0])
	s.becomes("db", addresses[0], networkingv1.AddressUnhealthy, networkingv1.ProbeRefused) // present, and neither ready nor serving
	s.publishes("db", addresses[1], addresses[2])
	s.condition("db", networkingv1.ConditionHealthy, metav1.ConditionFalse, networkingv1.ReasonDegraded)
	s.active("db", 0)
	s.set(externalnet.Behavior{Fault: externalnet.Refuse}, servers[1])
	s.publishes("db", addresses[3])
	s.active("db", 1)
	s.set(externalnet.Behavior{}, servers[1])
	s.publishes("db", addresses[1], addresses[2])
	s.active("db", 0)
	// Where no priority qualifies it is the one with most healthy addresses.
	s.set(externalnet.Behavior{Fault: externalnet.Refuse}, servers[3], servers[1])
	s.publishes("db", addresses[2])
	s.active("db", 0)
}

func TestWithoutAnyHealthyAddressOnlyPanicPublishes(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	s.amongMany()
	addresses, servers := s.tcp(7000, 3)
	sorted := slices.Sorted(slices.Values(addresses[:2]))
	s.applyAll(map[string]string{
		"panics": priorities(`, failover: {panicThresholdPercent: 50, failbackDelay: 1s}`, addresses[:2], addresses[2:]),
		"calm":   priorities(`, failover: {failbackDelay: 1s}`, addresses[:2], addresses[2:]),
	})
	for _, name := range []string{"panics", "calm"} {
		s.publishes(name, addresses[:2]...)
	}
	s.set(externalnet.Behavior{Fault: externalnet.Refuse}, servers...)
	s.publishes("calm")
	s.condition("calm", networkingv1.ConditionHealthy, metav1.ConditionFalse, networkingv1.ReasonNoneHealthy)
	for _, address := range s.Addresses("calm") {
		if o, err := s.outlook("calm", address); err != nil || !o.in || o.ready || o.serving {
			t.Errorf("%s: %+v, %v; it is unhealthy, and shall be there as neither ready nor serving", address, o, err)
		}
	}
	if len(s.Addresses("calm")) == 0 {
		t.Error("the slices hold nothing; unhealthy addresses of the active priority shall be there")
	}
	s.condition("panics", networkingv1.ConditionHealthy, metav1.ConditionFalse, networkingv1.ReasonNoneHealthy)
	s.publishes("panics", addresses[:2]...)
	if got := s.Addresses("panics"); !slices.Equal(got, sorted) {
		t.Errorf("the slices hold %q, want all of priority 0 and nothing else: %q", got, sorted)
	}
	s.active("panics", 0)
	s.Tells("ExternalService", "panics", "PanicEntered", 1)

	s.set(externalnet.Behavior{}, servers[1])
	s.publishes("panics", addresses[1])
	s.publishes("calm", addresses[1])
	s.set(externalnet.Behavior{}, servers...)
	s.publishes("panics", addresses[:2]...)
	s.publishes("calm", addresses[:2]...)
}

func TestADrainedEndpointIsOutAtOnce(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	s.amongMany()
	addresses, servers := s.tcp(7000, 2)
	s.apply("db", `{ports: [{name: p, port: 7000}], healthCheck: {tcpSocket: {}, interval: 5m, timeout: 10s},
		endpoints: [{name: a, zone: west, addresses: [`+addresses[0]+`]}, {name: b, zone: east, addresses: [`+addresses[1]+`]}]}`)
	s.publishes("db", addresses...)
	for i, zone := range []string{"west", "east"} {
		if o, err := s.outlook("db", addresses[i]); err != nil || o.zone != zone {
			t.Errorf("the zone of %s is %q, want %q: %v", addresses[i], o.zone, zone, err)
		}
	}
	probes := servers[0].Counts().Connections
	drain := func(i int, state networkingv1.EndpointState) {
		s.change("db", func(es *networkingv1.ExternalService) { es.Spec.Endpoints[i].State = ptr.To(state) })
	}
	drain(0, networkingv1.EndpointDrained)
	// What was observed is done: the next check is minutes away.
	if got := s.Addresses("db"); !slices.Equal(got, addresses[1:]) {
		t.Errorf("the slices hold %q while the first endpoint is drained", got)
	}
	if n := servers[0].Counts().Connections; n != probes {
		t.Errorf("the drained endpoint was checked %d times more", n-probes)
	}
	drain(1, networkingv1.EndpointDrained)
	s.condition("db", networkingv1.ConditionReady, metav1.ConditionFalse, networkingv1.ReasonNoAddresses)
	if got := s.Addresses("db"); len(got) != 0 {
		t.Errorf("the slices hold %q while everything is drained", got)
	}
	drain(0, networkingv1.EndpointActive)
	s.publishes("db", addresses[0])
	s.condition("db", networkingv1.ConditionReady, metav1.ConditionTrue, networkingv1.ReasonPublished)
}
