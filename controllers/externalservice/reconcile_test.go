// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package externalservice

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/utils/ptr"

	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/controllers/externalservice/endpoints"
	"github.com/fairlead-dev/fairlead/internal/egress"
	rules "github.com/fairlead-dev/fairlead/internal/rules/externalservice"
)

const (
	plain   = `{ports: [{name: sql, port: 5432}], endpoints: [{name: a, addresses: [192.0.2.1, 192.0.2.2]}]}`
	tiered  = `{ports: [{name: sql, port: 5432}], healthCheck: {tcpSocket: {}}, endpoints: [{name: a, addresses: [192.0.2.1]}, {name: b, priority: 1, addresses: [198.51.100.1]}]}`
	byName  = `{ports: [{name: sql, port: 5432}], endpoints: [{name: a, dns: {name: db.example.com}}]}`
	checked = `{ports: [{name: sql, port: 5432}], healthCheck: {tcpSocket: {}}, endpoints: [{name: a, dns: {name: db.example.com}}]}`

	up, down = networkingv1.AddressHealthy, networkingv1.AddressUnhealthy
)

func TestAPlainObjectIsPublishedAndThenLeftAlone(t *testing.T) {
	s := newSuite(t, plain)
	s.reconcileOnce()
	s.wantPublished("192.0.2.1+ 192.0.2.2+")
	s.wantCondition("Ready", "True Published")
	for kind, want := range map[string]string{
		"Healthy": "Unknown NoHealthCheck", "Resolved": "True StaticAddresses", "FailedOver": "False MostPreferred", "FaultInjected": "False NoFaultRequested",
		"Waiting": "False NothingPending", "Suspended": "False NotSuspended", "Reconciling": "", "Stalled": "",
	} {
		s.wantCondition(kind, want)
	}
	s.wantEvents("Published")
	if es := s.object(); len(es.Finalizers) != 1 || es.Status.Addresses.Healthy != 2 || *es.Status.ActivePriority != 0 {
		t.Errorf("finalizers %q, status %+v", es.Finalizers, es.Status)
	}
	s.reconcileUnchanged("a second look")
	s.advance(time.Hour)
	s.reconcileUnchanged("an hour later")
	s.restart()
	s.reconcileUnchanged("a restart")
}

func TestFailoverAndFailback(t *testing.T) {
	s := newSuite(t, tiered)
	if again := s.reconcileOnce().RequeueAfter; again != firstProbeHold {
		t.Errorf("the first status waits %s for first results", again)
	}
	s.wantPublished("")
	s.health.setHealth("a", "192.0.2.1", up)
	s.health.setHealth("b", "198.51.100.1", up)
	s.reconcileOnce()
	s.wantPublished("192.0.2.1+")
	s.wantCondition("Healthy", "True AllHealthy")
	s.wantEvents("Published")
	s.reconcileUnchanged("nothing new")

	s.advance(time.Minute)
	s.health.setHealth("a", "192.0.2.1", down)
	s.reconcileOnce()
	s.wantPublished("198.51.100.1+")
	s.wantCondition("Healthy", "True AllHealthy")
	s.wantCondition("FailedOver", "True PriorityUnhealthy")
	s.wantCondition("Ready", "True Published")
	s.wantEvents("FailedOver", "EndpointUnhealthy")
	s.wantHistory("Failover 0 to 1 Succeeded PriorityUnhealthy: 0 of 1 address of priority 0 healthy: 192.0.2.1 (Refused)")
	s.reconcileUnchanged("failed over")

	s.advance(time.Minute)
	s.health.setHealth("a", "192.0.2.1", up)
	if again := s.reconcileOnce().RequeueAfter; again != 5*time.Minute {
		t.Errorf("failback is looked at again after %s", again)
	}
	s.wantPublished("198.51.100.1+")
	s.wantCondition("FailedOver", "True FailbackDelay")
	s.wantEvents("EndpointHealthy")
	s.advance(5*time.Minute - time.Second)
	if again := s.reconcileUnchanged("not yet").RequeueAfter; again != time.Second {
		t.Errorf("failback is looked at again after %s", again)
	}
	s.restart()
	s.reconcileUnchanged("a restart, one second before")
	s.advance(time.Second)
	s.reconcileOnce()
	s.wantPublished("192.0.2.1+")
	s.wantCondition("FailedOver", "False MostPreferred")
	s.wantEvents("FailedBack")
	s.wantHistory("Failback 1 to 0 Succeeded PriorityRecovered: 1 of 1 address of priority 1 healthy",
		"Failover 0 to 1 Succeeded PriorityUnhealthy: 0 of 1 address of priority 0 healthy: 192.0.2.1 (Refused)")
	s.reconcileUnchanged("failed back")
}

func TestARestartAfterAFailoverKeepsEverything(t *testing.T) {
	s := newSuite(t, tiered)
	s.reconcileOnce()
	s.health.setHealth("a", "192.0.2.1", down)
	s.health.setHealth("b", "198.51.100.1", up)
	s.reconcileOnce()
	s.wantPublished("198.51.100.1+")
	s.advance(time.Hour)
	s.restart()
	s.reconcileUnchanged("a restart")
	s.health.setHealth("a", "192.0.2.1", down)
	s.reconcileOnce()
	s.wantPublished("198.51.100.1+")
}

// The process ended after it had written the slices and before it wrote the status.
func TestSlicesAreRightWhereTheStatusIsOlder(t *testing.T) {
	s := newSuite(t, tiered)
	s.reconcileOnce()
	s.health.setHealth("a", "192.0.2.1", up)
	s.health.setHealth("b", "198.51.100.1", up)
	s.reconcileOnce()
	old := s.object().Status
	s.advance(time.Hour)
	s.health.setHealth("a", "192.0.2.1", down)
	s.reconcileOnce()
	s.wantPublished("198.51.100.1+")
	es := s.object()
	es.Status = old
	s.must(s.store.Status().Update(t.Context(), es))

	s.restart()
	s.events = nil
	s.reconcileUnchanged("the first check of an address")
	s.advance(firstProbeHold)
	s.reconcileOnce()
	s.wantPublished("198.51.100.1+")
	s.wantEvents("FailedOver")
	s.health.setHealth("a", "192.0.2.1", up)
	s.reconcileOnce()
	s.wantPublished("198.51.100.1+")
}

func TestManualFailbackActsOnceForEachRequest(t *testing.T) {
	s := newSuite(t, strings.Replace(tiered, "endpoints:", "failover: {failback: Manual}, endpoints:", 1))
	s.reconcileOnce()
	s.health.setHealth("a", "192.0.2.1", down)
	s.health.setHealth("b", "198.51.100.1", up)
	s.reconcileOnce()
	request := func(token string) {
		s.edit(func(es *networkingv1.ExternalService) {
			es.Annotations = map[string]string{networkingv1.FailbackNowAnnotation: token}
		})
	}
	s.events = nil
	request("one")
	s.reconcileOnce()
	s.wantPublished("198.51.100.1+")
	s.wantEvents("FailbackRefused")
	s.advance(time.Hour)
	s.health.setHealth("a", "192.0.2.1", up)
	s.reconcileOnce()
	s.wantPublished("198.51.100.1+")
	s.wantCondition("FailedOver", "True FailbackManual")
	s.wantEvents("EndpointHealthy")
	s.restart()
	s.reconcileUnchanged("a request that was handled")
	request("two")
	s.reconcileOnce()
	s.wantPublished("192.0.2.1+")
	s.wantEvents("FailedBack")
	if got := s.object().Status.HandledFailbackNow; got != "two" {
		t.Errorf("handled %q", got)
	}
	s.health.setHealth("a", "192.0.2.1", down)
	s.reconcileOnce()
	s.health.setHealth("a", "192.0.2.1", up)
	s.reconcileOnce()
	s.wantPublished("198.51.100.1+")
}

func TestNothingIsChangedBeforeEveryNameWasLookedUp(t *testing.T) {
	s := newSuite(t, byName)
	s.reconcileOnce()
	s.wantPublished("")
	s.advance(firstStatusDelay)
	s.reconcileOnce()
	s.wantCondition("Reconciling", "True Resolving")
	s.wantCondition("Resolved", "Unknown Unknown")
	s.events = nil
	s.names.answers["db.example.com"] = []string{"192.0.2.1", "192.0.2.2"}
	s.reconcileOnce()
	s.wantPublished("192.0.2.1+ 192.0.2.2+")
	s.wantCondition("Resolved", "True AllNamesResolved")
	s.wantCondition("Reconciling", "")
	s.wantEvents("Published")

	s.restart()
	s.reconcileUnchanged("a restart, before the first lookup")
	s.advance(time.Minute)
	s.reconcileUnchanged("a lookup that takes long")
	s.names.answers["db.example.com"] = []string{"192.0.2.1", "192.0.2.2"}
	s.reconcileUnchanged("the same answer as ever")
	s.names.answers["db.example.com"] = []string{"192.0.2.2", "192.0.2.3"}
	s.reconcileOnce()
	s.wantPublished("192.0.2.2+ 192.0.2.3+")
	s.wantEvents("AddressesChanged")
}

func TestANameBeginsWithItsAddressesAndAnotherWithThoseThatItReplaces(t *testing.T) {
	s := newSuite(t, byName)
	s.names.answers["db.example.com"] = []string{"192.0.2.1"}
	s.reconcileOnce()
	s.restart()
	s.reconcileOnce()
	if got := s.names.set[0].Seed; len(got) != 1 || got[0].IP.String() != "192.0.2.1" || s.names.set[0].SeedTime.IsZero() {
		t.Errorf("seed %v", got)
	}
	for what, test := range map[string]struct {
		change   func(*networkingv1.Endpoint)
		resolved bool
		want     string
	}{
		"another endpoint":    {func(e *networkingv1.Endpoint) { e.Name = "renamed" }, true, "192.0.2.1"},
		"a dot at the end":    {func(e *networkingv1.Endpoint) { e.DNS.Name += "." }, true, "192.0.2.1"},
		"another name":        {func(e *networkingv1.Endpoint) { e.DNS.Name = "other.example.com" }, false, "192.0.2.1"},
		"both":                {func(e *networkingv1.Endpoint) { e.Name, e.DNS.Name = "renamed", "other.example.com" }, false, "192.0.2.1"},
		"another record type": {func(e *networkingv1.Endpoint) { e.DNS.RecordType = ptr.To(networkingv1.RecordSRV) }, false, "192.0.2.1:5432"},
	} {
		es := s.object()
		rules.Default(es)
		test.change(&es.Spec.Endpoints[0])
		current, err := s.currentSlices(t.Context(), es.Namespace, es.Name)
		s.must(err)
		var got []string
		name := endpoints.Names(es, endpoints.Seeds(es, current, s.now), s.policy, nil)[0]
		for _, a := range name.Seed {
			text := a.IP.String()
			if a.Port > 0 {
				text = netip.AddrPortFrom(a.IP, a.Port).String()
			}
			got = append(got, text)
		}
		if strings.Join(got, " ") != test.want || name.SeedTime.IsZero() == test.resolved {
			t.Errorf("%s: the name begins with %q, resolved at %s", what, got, name.SeedTime)
		}
	}
}

func TestANameThatFailsKeepsItsAddressesAndSaysSo(t *testing.T) {
	s := newSuite(t, byName)
	s.names.answers["db.example.com"] = []string{"192.0.2.1"}
	s.reconcileOnce()
	s.events = nil
	s.names.reasons["db.example.com"] = networkingv1.ReasonStale
	s.reconcileOnce()
	s.wantPublished("192.0.2.1+")
	s.wantCondition("Resolved", "False Stale")
	s.wantCondition("Ready", "True Published")
	s.wantEvents("ResolveFailed")
	s.reconcileUnchanged("it goes on failing")
	s.names.answers["db.example.com"] = nil
	s.names.reasons["db.example.com"] = networkingv1.ReasonNXDomain
	s.reconcileOnce()
	s.wantPublished("")
	s.wantCondition("Resolved", "False NXDomain")
	s.wantCondition("Ready", "False NoAddresses")
	s.wantEvents("NoAddresses", "AddressesChanged")
}

func TestPortsOfSRVRecordsStandInTheSlices(t *testing.T) {
	s := newSuite(t, strings.Replace(checked, "name: db.example.com", "name: db.example.com, recordType: SRV", 1))
	s.names.answers["db.example.com"] = []string{"192.0.2.1:7001", "192.0.2.1:7002"}
	s.reconcileOnce()
	for _, target := range s.health.targets {
		if target.Port != 7001 && target.Port != 7002 || target.Host != "db.example.com" {
			t.Errorf("target %+v", target)
		}
	}
	s.health.setHealth("a", "192.0.2.1", up)
	s.reconcileOnce()
	var list discoveryv1.EndpointSliceList
	s.must(s.store.List(t.Context(), &list))
	ports := map[int32]bool{}
	for _, slice := range list.Items {
		ports[*slice.Ports[0].Port] = true
	}
	if len(ports) != 2 || !ports[7001] || !ports[7002] {
		t.Errorf("ports %v", ports)
	}
	if got := s.object().Status.Endpoints[0].Addresses; len(got) != 2 || got[0].Port != 7001 {
		t.Errorf("status %+v", got)
	}
	s.reconcileUnchanged("nothing new")
}

func TestWhatThePolicyRefusesIsLeftOutAndNeverChecked(t *testing.T) {
	s := newSuite(t, strings.Replace(tiered, "[192.0.2.1]", "[192.0.2.1, 10.0.0.1]", 1))
	s.policy["10.0.0.1"] = egress.ReasonPod
	s.reconcileOnce()
	s.health.setHealth("a", "192.0.2.1", up)
	s.health.setHealth("b", "198.51.100.1", up)
	s.reconcileOnce()
	s.wantPublished("192.0.2.1+")
	s.wantCondition("Ready", "False PolicyDenied")
	s.wantCondition("Stalled", "True PolicyDenied") // so that a wait ends at once
	s.wantEvents("PolicyDenied", "AddressDenied")
	for _, target := range s.health.targets {
		if target.IP.String() == "10.0.0.1" {
			t.Error("a refused address is checked")
		}
	}
	s.reconcileUnchanged("still refused")

	s.edit(approvedBy("alice"))
	s.reconcileOnce()
	s.health.setHealth("a", "10.0.0.1", up)
	s.reconcileOnce()
	s.wantPublished("10.0.0.1+ 192.0.2.1+")
	s.wantCondition("Ready", "True Published")
	s.wantCondition("Stalled", "")
}

func TestAddressesOfNamesAreRefusedRegardlessOfTheAuthor(t *testing.T) {
	s := newSuite(t, byName)
	s.policy["10.0.0.1"] = egress.ReasonPod
	s.edit(approvedBy("alice"))
	s.names.answers["db.example.com"] = []string{"192.0.2.1"}
	s.reconcileOnce()
	s.events = nil
	s.names.answers["db.example.com"] = []string{"10.0.0.1", "192.0.2.1"}
	s.reconcileOnce()
	s.wantPublished("192.0.2.1+")
	s.wantCondition("Resolved", "True AllNamesResolved")
	s.wantEvents("AddressDenied", "AddressesChanged")
	s.names.answers["db.example.com"] = []string{"10.0.0.1"}
	s.reconcileOnce()
	s.wantPublished("")
	s.wantCondition("Resolved", "False Denied")
	s.wantCondition("Ready", "False NoAddresses")
}

func TestAPolicyThatCannotJudgeYetChangesNothing(t *testing.T) {
	s := newSuite(t, plain)
	s.reconcileOnce()
	s.restart()
	s.policy["192.0.2.1"] = egress.ReasonUnsynced
	s.reconcileUnchanged("ranges are not known")
	s.wantPublished("192.0.2.1+ 192.0.2.2+")
	delete(s.policy, "192.0.2.1")
	s.reconcileUnchanged("ranges are known")
}

func TestSuspicionKeepsWhatIsPublished(t *testing.T) {
	s := newSuite(t, tiered)
	s.reconcileOnce()
	s.health.setHealth("a", "192.0.2.1", up)
	s.health.setHealth("b", "198.51.100.1", up)
	s.reconcileOnce()
	s.events = nil
	s.health.suspect = true
	s.reconcileOnce()
	s.wantPublished("192.0.2.1+")
	s.wantCondition("Healthy", "Unknown ProbesInconclusive")
	s.wantEvents()
	s.health.suspect = false
	s.reconcileOnce()
	s.wantCondition("Healthy", "True AllHealthy")
}

func TestPanicPublishesAllAndEnds(t *testing.T) {
	s := newSuite(t, strings.Replace(tiered, "endpoints:", "failover: {panicThresholdPercent: 1}, endpoints:", 1))
	s.reconcileOnce()
	s.health.setHealth("a", "192.0.2.1", down)
	s.health.setHealth("b", "198.51.100.1", down)
	s.reconcileOnce()
	s.wantPublished("192.0.2.1+")
	s.wantCondition("Healthy", "False NoneHealthy")
	s.wantEvents("Published", "PanicEntered", "EndpointUnhealthy", "EndpointUnhealthy")
	s.restart()
	s.reconcileUnchanged("a restart in panic")
	s.health.setHealth("b", "198.51.100.1", up)
	s.reconcileOnce()
	s.wantPublished("198.51.100.1+")
}

func TestEventsOfOneReasonAreFew(t *testing.T) {
	var endpoints []string
	for i := range 20 {
		endpoints = append(endpoints, fmt.Sprintf("{name: e%d, addresses: [192.0.2.%d]}", i, i+1))
	}
	s := newSuite(t, fmt.Sprintf(`{ports: [{name: sql, port: 5432}], healthCheck: {tcpSocket: {}}, endpoints: [%s]}`, strings.Join(endpoints, ", ")))
	s.reconcileOnce()
	for i := range 20 {
		s.health.setHealth(fmt.Sprintf("e%d", i), fmt.Sprintf("192.0.2.%d", i+1), down)
	}
	s.reconcileOnce()
	if last := s.events[len(s.events)-1]; len(s.events) != 1+maxEvents || !strings.Contains(last, "17 more endpoints") {
		t.Errorf("events %q", s.events)
	}
}

func TestAPolicyThatCannotJudgeForgetsNoHealth(t *testing.T) {
	s := newSuite(t, tiered)
	s.reconcileOnce()
	s.policy["192.0.2.1"] = egress.ReasonUnsynced
	s.reconcileOnce()
	if len(s.health.targets) != 2 {
		t.Errorf("%d addresses are checked, want both as before", len(s.health.targets))
	}
}
