// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/api/common"
	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/controllers/rebootpolicy/restart"
)

const moves = target + `triggers: [{name: moved, type: EndpointsChange, endpointsChange: {externalServiceName: db, events: [AddressesChanged, FailedOver, FailedBack, Recovered]}}]`

// db is an ExternalService with two priorities. The first is published.
func db() *networkingv1.ExternalService {
	return &networkingv1.ExternalService{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "db"},
		Spec: networkingv1.ExternalServiceSpec{
			Endpoints: []networkingv1.Endpoint{{Name: "a", Priority: ptr.To(int32(0))}, {Name: "b", Priority: ptr.To(int32(1))}},
			Failover:  &networkingv1.Failover{FailbackDelay: ptr.To(common.Duration("1m"))},
		},
		Status: networkingv1.ExternalServiceStatus{
			ActivePriority: ptr.To(int32(0)),
			Endpoints: []networkingv1.EndpointStatus{
				{Name: "a", Addresses: []networkingv1.AddressStatus{healthyAt("192.0.2.1"), {IP: "192.0.2.9", Health: networkingv1.AddressUnhealthy}}},
				{Name: "b", Addresses: []networkingv1.AddressStatus{healthyAt("192.0.2.2")}},
			},
			Conditions: []metav1.Condition{{Type: networkingv1.ConditionHealthy, Status: metav1.ConditionTrue, Reason: networkingv1.ReasonAllHealthy}},
		},
	}
}

func healthyAt(ip string) networkingv1.AddressStatus {
	return networkingv1.AddressStatus{IP: ip, Health: networkingv1.AddressHealthy}
}

// setStatus changes the status of the ExternalService.
func (s *suite) setStatus(change func(*networkingv1.ExternalServiceStatus)) {
	s.Helper()
	es := db()
	s.must(s.store.Get(s.Context(), policyKeyOf("db"), es))
	change(&es.Status)
	s.must(s.store.Status().Update(s.Context(), es))
}

// event is the signal of one event.
func (s *suite) event(kind autorebootv1.EndpointsEvent) restart.Signal {
	s.Helper()
	for _, signal := range s.observe().signalsOf("moved") {
		if signal.Source == "ExternalService/db/"+string(kind) {
			return signal
		}
	}
	s.Fatalf("no signal for %s", kind)
	return restart.Signal{}
}

func TestAddressesCountOnceTheyHaveStayed(t *testing.T) {
	s := newSuite(t, moves, append(deployment("api", 1, nil), db())...)
	first := s.event(autorebootv1.EndpointsAddressesChanged)
	if first.Fingerprint == "" || first.Unknown != "" {
		t.Fatalf("first sight: %+v", first)
	}
	s.setBaselines(autorebootv1.Baseline{Trigger: "moved", Source: first.Source, Fingerprint: first.Fingerprint})
	s.advance(2 * time.Minute)
	s.event(autorebootv1.EndpointsAddressesChanged)

	move := func(ip string) {
		s.setStatus(func(st *networkingv1.ExternalServiceStatus) { st.Endpoints[0].Addresses[0] = healthyAt(ip) })
	}
	move("192.0.2.3")
	unsettled := s.event(autorebootv1.EndpointsAddressesChanged)
	if unsettled.Fingerprint != first.Fingerprint || !unsettled.RequeueAt.Equal(s.now.Add(time.Minute)) || !unsettled.SettlesAt.Equal(unsettled.RequeueAt) {
		t.Errorf("at once: %+v", unsettled)
	}
	s.advance(30 * time.Second)
	move("192.0.2.1")
	s.event(autorebootv1.EndpointsAddressesChanged)
	s.advance(2 * time.Minute)
	if got := s.event(autorebootv1.EndpointsAddressesChanged); got.Fingerprint != first.Fingerprint {
		t.Error("addresses that came back count as others")
	}
	move("192.0.2.3")
	s.event(autorebootv1.EndpointsAddressesChanged)
	s.advance(time.Minute)
	settled := s.event(autorebootv1.EndpointsAddressesChanged)
	if settled.Fingerprint == first.Fingerprint {
		t.Error("other addresses that stayed do not count")
	}

	// Another process has the baseline alone, and waits as well.
	s.restart()
	if got := s.event(autorebootv1.EndpointsAddressesChanged); got.Fingerprint != first.Fingerprint {
		t.Errorf("a process that has just begun takes the move for settled: %+v", got)
	}
	s.advance(time.Minute)
	if got := s.event(autorebootv1.EndpointsAddressesChanged); got.Fingerprint != settled.Fingerprint {
		t.Error("the move was lost")
	}
}

func TestAnOutageIsNoMove(t *testing.T) {
	s := newSuite(t, moves, append(deployment("api", 1, nil), db())...)
	s.setStatus(func(st *networkingv1.ExternalServiceStatus) {
		st.Endpoints[0].Addresses[0].Health = networkingv1.AddressUnhealthy
	})
	if got := s.event(autorebootv1.EndpointsAddressesChanged); got.Unknown == "" {
		t.Errorf("nothing healthy is published: %+v", got)
	}
}

func TestEventsOfConditionsFireOneWay(t *testing.T) {
	condition := func(kind string, status metav1.ConditionStatus, reason string) func(*networkingv1.ExternalServiceStatus) {
		return func(st *networkingv1.ExternalServiceStatus) {
			st.Conditions = []metav1.Condition{{Type: kind, Status: status, Reason: reason}}
		}
	}
	calm := func(*networkingv1.ExternalServiceStatus) {}
	over := condition(networkingv1.ConditionFailedOver, metav1.ConditionTrue, networkingv1.ReasonPriorityUnhealthy)
	for name, test := range map[string]struct {
		change func(*networkingv1.ExternalServiceStatus)
		event  autorebootv1.EndpointsEvent
		want   restart.Signal
	}{
		"not failed over":        {calm, autorebootv1.EndpointsFailedOver, restart.Signal{SilentDelete: true}},
		"failed over":            {over, autorebootv1.EndpointsFailedOver, restart.Signal{Fingerprint: failedOver, SilentDelete: true}},
		"failed over, for back":  {over, autorebootv1.EndpointsFailedBack, restart.Signal{Fingerprint: failedOver, SilentCreate: true}},
		"failed back":            {calm, autorebootv1.EndpointsFailedBack, restart.Signal{SilentCreate: true}},
		"healthy":                {calm, autorebootv1.EndpointsRecovered, restart.Signal{SilentCreate: true}},
		"nothing is healthy":     {condition(networkingv1.ConditionHealthy, metav1.ConditionFalse, networkingv1.ReasonNoneHealthy), autorebootv1.EndpointsRecovered, restart.Signal{Fingerprint: down, SilentCreate: true}},
		"something is healthy":   {condition(networkingv1.ConditionHealthy, metav1.ConditionFalse, networkingv1.ReasonDegraded), autorebootv1.EndpointsRecovered, restart.Signal{SilentCreate: true}},
		"health unknown":         {condition(networkingv1.ConditionHealthy, metav1.ConditionUnknown, networkingv1.ReasonUnknown), autorebootv1.EndpointsRecovered, restart.Signal{Unknown: "Unknown", SilentCreate: true}},
		"a fault on purpose":     {condition(networkingv1.ConditionFaultInjected, metav1.ConditionTrue, "Drill"), autorebootv1.EndpointsRecovered, restart.Signal{Unknown: "FaultInjected"}},
		"a fault on purpose too": {condition(networkingv1.ConditionFaultInjected, metav1.ConditionTrue, "Drill"), autorebootv1.EndpointsAddressesChanged, restart.Signal{Unknown: "FaultInjected"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSuite(t, moves, append(deployment("api", 1, nil), db())...)
			s.setStatus(test.change)
			got := s.event(test.event)
			if got.Fingerprint != test.want.Fingerprint || got.Unknown != test.want.Unknown ||
				got.SilentCreate != test.want.SilentCreate || got.SilentDelete != test.want.SilentDelete {
				t.Errorf("got %+v, want %+v", got, test.want)
			}
		})
	}
}

func TestAnExternalServiceThatIsMissingIsNoted(t *testing.T) {
	s := newSuite(t, moves, deployment("api", 1, nil)...)
	seen := s.observe()
	for _, signal := range seen.signalsOf("moved") {
		if signal.Unknown != autorebootv1.ReasonSourceNotFound {
			t.Errorf("signal %+v", signal)
		}
	}
	if reason, messages := worstProblem(seen.problems); reason != autorebootv1.ReasonSourceNotFound || messages[0] != "trigger moved: ExternalService db does not exist" {
		t.Errorf("%s: %q", reason, messages)
	}
}

// failOver has the second priority published instead of the first, or the first again.
func (s *suite) failOver(to int32) {
	s.Helper()
	s.setStatus(func(st *networkingv1.ExternalServiceStatus) {
		st.ActivePriority = ptr.To(to)
		st.Conditions = []metav1.Condition{{Type: networkingv1.ConditionFailedOver, Status: metav1.ConditionFalse, Reason: "Preferred"}}
		if to > 0 {
			st.Conditions = []metav1.Condition{{Type: networkingv1.ConditionFailedOver, Status: metav1.ConditionTrue, Reason: networkingv1.ReasonPriorityUnhealthy}}
		}
	})
}

// restarts has a policy do what it does, in steps of some seconds, and demands so many restarts. Each must succeed.
func (s *suite) restarts(within time.Duration, want int) {
	s.Helper()
	for until := s.now.Add(within); s.now.Before(until); s.advance(5 * time.Second) {
		s.reconcile()
		if inFlight := s.object().Status.InFlight; len(inFlight) > 0 && inFlight[0].Phase == autorebootv1.PhaseRollingOut {
			s.completeRollout("api")
		}
	}
	if len(s.doer.done) != want || len(s.object().Status.InFlight) > 0 {
		s.Errorf("did %q, want %d restarts that have ended: %+v", s.doer.done, want, s.object().Status)
	}
	s.doer.done = nil
}

const movesOrFailsOver = target + `triggers: [{name: moved, type: EndpointsChange, endpointsChange: {externalServiceName: db, events: [AddressesChanged, FailedOver]}}]
debounce: {quietPeriod: 1s}
cooldown: 0s
verification: {soak: 10s}
`

// The addresses that a failover publishes count a minute later, when the restart for the failover is over.
func TestAFailoverRestartsOnce(t *testing.T) {
	for name, after := range map[string]func(*suite){
		"in one process":         func(*suite) {},
		"and the leader changes": (*suite).restart,
	} {
		t.Run(name, func(t *testing.T) {
			s := newSuite(t, movesOrFailsOver, append(deployment("api", 1, nil), db())...)
			s.restarts(2*time.Minute, 0)
			s.failOver(1)
			s.restarts(50*time.Second, 1)
			after(s)
			s.restarts(5*time.Minute, 0)
			s.failOver(0) // no event but AddressesChanged
			s.restarts(45*time.Second, 0)
			s.restarts(5*time.Minute, 1)
		})
	}
}

// A restart that began before the latest change of addresses has not brought its pods there.
func TestAMoveDuringARestartRestartsOnceMore(t *testing.T) {
	s := newSuite(t, movesOrFailsOver, append(deployment("api", 1, nil), db())...)
	s.restarts(2*time.Minute, 0)
	s.failOver(1)
	s.reconcile()
	s.advance(2 * time.Second)
	s.reconcile()
	s.expectActions("Annotate api " + theRestart)
	s.setStatus(func(st *networkingv1.ExternalServiceStatus) { st.Endpoints[1].Addresses[0] = healthyAt("192.0.2.3") })
	s.restarts(45*time.Second, 0)
	s.restarts(5*time.Minute, 1)
}

// A restart that waits is not forgotten because the addresses flap.
func TestAMoveThatCountsIsOwedWhileTheAddressesFlap(t *testing.T) {
	s := newSuite(t, movesOrFailsOver+`windows: [{name: night, cron: "0 2 * * *", duration: 1h}]`, append(deployment("api", 1, nil), db())...)
	s.restarts(2*time.Minute, 0)
	move := func(ip string) {
		s.setStatus(func(st *networkingv1.ExternalServiceStatus) { st.Endpoints[0].Addresses[0] = healthyAt(ip) })
	}
	move("192.0.2.3")
	s.restarts(2*time.Minute, 0)
	s.expectCondition(autorebootv1.ConditionWaiting, "True OutsideWindow")
	move("192.0.2.1")
	s.restarts(30*time.Second, 0)
	s.expectCondition(autorebootv1.ConditionWaiting, "True OutsideWindow")
}
