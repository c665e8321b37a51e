// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package externalservice

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	chaosv1 "github.com/fairlead-dev/fairlead/api/chaos/v1"
	"github.com/fairlead-dev/fairlead/api/common"
	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/internal/cron"
	"github.com/fairlead-dev/fairlead/internal/freeze"
)

// both are the addresses of tiered where both are healthy.
var both = map[string]string{"a": "192.0.2.1", "b": "198.51.100.1"}

// newHealthySuite returns a suite whose object is published, with all addresses healthy.
func newHealthySuite(t *testing.T, spec string, healthy map[string]string) *suite {
	t.Helper()
	s := newSuite(t, spec)
	s.reconcileOnce()
	for endpoint, ip := range healthy {
		s.health.setHealth(endpoint, ip, up)
	}
	s.reconcileOnce()
	s.events = nil
	return s
}

// requestFault sets the annotation to a fault from now on, for ten minutes.
func (s *suite) requestFault(what string) {
	s.Helper()
	s.annotateFault(fmt.Sprintf("%s for=10m at=%s", what, s.now.UTC().Format(time.RFC3339)))
}

func (s *suite) annotateFault(value string) {
	s.Helper()
	es := s.object()
	delete(es.Annotations, networkingv1.InjectFaultAnnotation)
	if value != "" {
		metav1.SetMetaDataAnnotation(&es.ObjectMeta, networkingv1.InjectFaultAnnotation, value)
	}
	s.must(s.store.Update(s.Context(), es))
}

// wantInjected has a fault begin and take effect, and checks that nothing changed before its status did.
func (s *suite) wantInjected(what, publishes string) {
	s.Helper()
	before := s.published()
	s.requestFault(what)
	s.reconcileOnce()
	if s.published() != before || !s.object().Status.Fault.Lasts() {
		s.Fatalf("published %q before the status was written: %+v", s.published(), s.object().Status.Fault)
	}
	s.wantCondition("FaultInjected", "True "+strings.Fields(what)[0])
	if again := s.reconcileOnce().RequeueAfter; again > faultInterval {
		s.Errorf("looks again after %s", again)
	}
	s.wantPublished(publishes)
	s.wantEvents("FaultInjected")
	s.reconcileUnchanged("while the fault lasts")
}

// wantEnded demands that all is as it was, and that the fault ended as said.
func (s *suite) wantEnded(outcome, publishes string, told ...string) {
	s.Helper()
	s.events = nil
	s.reconcileOnce()
	s.wantPublished(publishes)
	if f := s.object().Status.Fault; f.Lasts() || f.Outcome != outcome {
		s.Errorf("the fault is %+v, want %s", f, outcome)
	}
	s.wantEvents(told...)
	s.wantCondition("FailedOver", "False MostPreferred")
	s.reconcileUnchanged("after it")
}

func TestABlackHoleReturnsByItself(t *testing.T) {
	s := newHealthySuite(t, tiered, both)
	s.wantInjected("BlackHole", "192.0.2.1")
	s.wantCondition("Healthy", "True AllHealthy")
	s.wantCondition("Ready", "True Published")
	s.advance(10 * time.Minute)
	s.wantEnded("DeadlineReached", "192.0.2.1+", "FaultEnded")
	s.wantCondition("FaultInjected", "False FaultEnded")
	s.annotateFault("")
	s.reconcileOnce()
	s.wantCondition("FaultInjected", "False NoFaultRequested")
	s.wantEvents()
}

// The object may have been restored from a backup, and wait for its names before anything is decided.
func TestAFaultThatAnObjectIsCreatedWithIsRefused(t *testing.T) {
	s := newSuite(t, checked)
	s.annotateFault("BlackHole for=10m")
	s.reconcileOnce()
	s.advance(firstStatusDelay)
	s.reconcileOnce()
	s.wantCondition("Reconciling", "True Resolving")
	s.restart()
	s.names.answers["db.example.com"] = []string{"192.0.2.1"}
	s.reconcileOnce()
	s.health.setHealth("a", "192.0.2.1", up)
	s.reconcileOnce()
	s.reconcileUnchanged("with the same request")
	s.wantPublished("192.0.2.1+")
	s.wantCondition("FaultInjected", "False FaultRefused")
	if f := s.object().Status.Fault; f.Request != "BlackHole for=10m" || !strings.Contains(f.Message, "set another value") {
		t.Errorf("%+v", f)
	}
	s.events = nil
	s.annotateFault("BlackHole for=10m id=2")
	s.reconcileOnce()
	s.reconcileOnce()
	s.wantPublished("192.0.2.1")
	s.wantEvents("FaultInjected")
}

func TestAFaultEndsWhereAnotherWriterRemovesTheStatus(t *testing.T) {
	s := newHealthySuite(t, tiered, both)
	s.annotateFault("BlackHole for=10m")
	s.reconcileOnce()
	s.reconcileOnce()
	s.wantPublished("192.0.2.1")
	es := s.object()
	es.Status = networkingv1.ExternalServiceStatus{ObservedGeneration: -1}
	s.must(s.store.Status().Update(t.Context(), es))
	s.reconcileOnce()
	s.wantPublished("192.0.2.1+")
	s.wantCondition("FaultInjected", "False FaultRefused")
	s.reconcileUnchanged("after it")
}

func TestAFaultThroughAChangeOfTheLeader(t *testing.T) {
	for what, publishes := range map[string]string{"BlackHole": "192.0.2.1", "FailOver": "198.51.100.1+", "Drain endpoint=a": "198.51.100.1+"} {
		t.Run(what, func(t *testing.T) {
			s := newHealthySuite(t, tiered, both)
			s.requestFault(what)
			s.reconcileOnce()
			s.restart() // before it has any effect
			s.reconcileOnce()
			s.wantPublished(publishes)
			s.advance(time.Minute)
			s.restart()
			s.reconcileUnchanged("a new leader")
			s.wantPublished(publishes)
			s.restart()
			s.advance(time.Hour) // without an operator
			s.reconcileOnce()
			s.wantPublished("192.0.2.1+")
			if f := s.object().Status.Fault; f.Outcome != "DeadlineReached" {
				t.Errorf("%+v", f)
			}
			s.wantCondition("FailedOver", "False MostPreferred")
			s.reconcileUnchanged("after it")
		})
	}
}

// The slices were brought back, and the process ended before the status said so.
func TestAFaultThatEndedIsNotBegunAgain(t *testing.T) {
	s := newHealthySuite(t, tiered, both)
	s.wantInjected("BlackHole", "192.0.2.1")
	during := s.object().Status
	s.advance(10 * time.Minute)
	s.reconcileOnce()
	es := s.object()
	es.Status = during
	s.must(s.store.Status().Update(t.Context(), es))
	s.restart()
	s.writes = nil
	s.reconcileOnce()
	s.wantPublished("192.0.2.1+")
	if f := s.object().Status.Fault; f.Outcome != "DeadlineReached" {
		t.Errorf("%+v", f)
	}
	for _, write := range s.writes {
		if strings.Contains(write, "EndpointSlice") {
			t.Errorf("wrote %q", s.writes)
		}
	}
}

func TestAForcedFailoverReturnsAtOnce(t *testing.T) {
	manual := strings.Replace(tiered, "endpoints:", "failover: {failback: Manual}, endpoints:", 1)
	for what, spec := range map[string]string{"FailOver": tiered, "FailOver ": manual, "Drain endpoint=a": manual} {
		s := newHealthySuite(t, spec, both)
		s.requestFault(what)
		s.reconcileOnce()
		s.reconcileOnce()
		s.wantPublished("198.51.100.1+")
		s.wantCondition("FailedOver", "True FaultInjected")
		s.wantEvents("FaultInjected", "FailedOver")
		s.advance(10 * time.Minute)
		s.wantEnded("DeadlineReached", "192.0.2.1+", "FaultEnded", "FailedBack")
	}
}

func TestARealFailureEndsAFault(t *testing.T) {
	for what, publishes := range map[string]string{"BlackHole": "192.0.2.1+", "FailOver": "192.0.2.1+"} {
		s := newHealthySuite(t, tiered, both)
		s.requestFault(what)
		s.reconcileOnce()
		s.reconcileOnce()
		s.events = nil
		s.advance(time.Minute)
		s.health.setHealth("b", "198.51.100.1", down)
		s.reconcileOnce()
		s.wantPublished(publishes)
		if f := s.object().Status.Fault; f.Outcome != "RealFailure" || !strings.Contains(f.Message, "198.51.100.1 is unhealthy") {
			t.Errorf("%s: %+v", what, f)
		}
		s.health.setHealth("b", "198.51.100.1", up)
		s.advance(time.Minute)
		s.reconcileOnce()
		s.wantPublished(publishes)
	}
	s := newHealthySuite(t, tiered, both)
	s.wantInjected("BlackHole", "192.0.2.1")
	s.health.setHealth("a", "192.0.2.1", down)
	s.reconcileOnce()
	s.wantPublished("198.51.100.1+")
	s.wantCondition("FailedOver", "True PriorityUnhealthy")
}

func TestWhenNoFaultBegins(t *testing.T) {
	frozen, err := freeze.New(freeze.Options{Configured: []cron.Blackout{
		{Name: "release", Start: ptr.To(metav1.NewTime(epoch.Add(-time.Hour))), End: ptr.To(metav1.NewTime(epoch.Add(time.Hour)))},
	}})
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		spec, what string
		given      func(s *suite)
		why        string
	}{
		"a blackout":              {tiered, "BlackHole", func(s *suite) { s.Freeze = frozen }, "blackout release"},
		"an address is unhealthy": {tiered, "BlackHole", func(s *suite) { s.health.setHealth("b", "198.51.100.1", down) }, "198.51.100.1 is unhealthy"},
		"failed over": {tiered, "BlackHole", func(s *suite) {
			s.health.setHealth("a", "192.0.2.1", down)
			s.reconcileOnce()
			s.health.setHealth("a", "192.0.2.1", up)
		}, "failed over"},
		"checks are suspect":       {tiered, "BlackHole", func(s *suite) { s.health.suspect = true }, "probably the operator's own"},
		"no health check":          {plain, "BlackHole", func(*suite) {}, "no healthCheck"},
		"an endpoint that is not":  {tiered, "Drain endpoint=c", func(*suite) {}, `no endpoint "c"`},
		"nothing to fail over to":  {strings.Replace(tiered, "priority: 1", "priority: 0", 1), "FailOver", func(*suite) {}, "no other endpoint is healthy"},
		"admission is not asked":   {tiered, "BlackHole", func(s *suite) { s.WebhookExemptNamespaces = []string{"shop"} }, "admission does not check"},
		"a dependant is restarted": {tiered, "BlackHole", func(s *suite) { s.depends(1, true) }, "RebootPolicy shop restarts Deployment web"},
		"a dependant is disrupted": {tiered, "BlackHole", func(s *suite) {
			s.depends(2, false)
			s.chaos("web", chaosv1.VictimEvicted)
		}, "ChaosPod c disrupts Deployment web"},
		"a name is stale": {checked, "BlackHole", func(s *suite) { s.names.reasons["db.example.com"] = networkingv1.ReasonStale }, "does not resolve"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSuite(t, test.spec)
			s.names.answers["db.example.com"] = []string{"192.0.2.1"}
			s.reconcileOnce()
			for endpoint, ip := range both {
				s.health.setHealth(endpoint, ip, up)
			}
			s.reconcileOnce()
			test.given(s)
			s.reconcileOnce()
			before := s.published()
			s.events = nil
			s.requestFault(test.what)
			s.reconcileOnce()
			s.reconcileOnce()
			s.wantPublished(before)
			s.wantCondition("FaultInjected", "False FaultRefused")
			s.wantEvents("FaultRefused")
			if f := s.object().Status.Fault; f.Outcome != "Refused" || !strings.Contains(f.Message, test.why) || f.StartTime != nil {
				t.Errorf("%+v", f)
			}
		})
	}
}

func TestAFaultEndsWhenTheObjectIsSuspended(t *testing.T) {
	for what, publishes := range map[string]string{"BlackHole": "192.0.2.1", "FailOver": "198.51.100.1+"} {
		s := newHealthySuite(t, tiered, both)
		s.requestFault(what)
		s.reconcileOnce()
		s.reconcileOnce()
		s.wantPublished(publishes)
		s.edit(func(es *networkingv1.ExternalService) { es.Spec.Suspend = ptr.To(true) })
		if again := s.reconcileOnce().RequeueAfter; again == 0 || again > time.Second {
			t.Errorf("looks again after %s", again)
		}
		s.wantPublished("192.0.2.1+")
		s.reconcileOnce()
		s.wantCondition("Ready", "True Suspended")
		s.wantCondition("Suspended", "True SuspendedBySpec")
		s.wantCondition("FaultInjected", "False FaultEnded")
		s.advance(time.Second)
		s.annotateFault("BlackHole for=10m")
		s.reconcileOnce()
		s.wantCondition("FaultInjected", "False FaultRefused")
		s.edit(func(es *networkingv1.ExternalService) { es.Spec.Suspend = nil })
		s.reconcileOnce()
		s.reconcileOnce()
		s.wantPublished("192.0.2.1+")
	}
}

// A spec that is not valid any more, such as for a later version of the operator, keeps no fault alive.
func TestABlackHoleEndsWhereTheSpecIsNotValid(t *testing.T) {
	s := newHealthySuite(t, tiered, both)
	s.wantInjected("BlackHole", "192.0.2.1")
	s.edit(func(es *networkingv1.ExternalService) { es.Spec.Ports[0].AppProtocol = new("not valid") })
	s.restart()
	s.reconcileOnce()
	s.wantPublished("192.0.2.1+")
	s.wantCondition("Ready", "False InvalidSpec")
	if f := s.object().Status.Fault; f.Outcome != "SpecChanged" {
		t.Errorf("%+v", f)
	}
}

func TestABlackoutEndsAFault(t *testing.T) {
	s := newHealthySuite(t, tiered, both)
	s.wantInjected("BlackHole", "192.0.2.1")
	var err error
	s.Freeze, err = freeze.New(freeze.Options{Configured: []cron.Blackout{
		{Name: "release", Start: ptr.To(metav1.NewTime(epoch.Add(time.Minute))), End: ptr.To(metav1.NewTime(epoch.Add(time.Hour)))},
	}})
	s.must(err)
	s.reconcileUnchanged("before it")
	s.advance(time.Minute)
	s.wantEnded("Blackout", "192.0.2.1+", "FaultEnded")
}

// depends has a RebootPolicy depend on the object, and sets how many of two replicas of its target are
// available.
func (s *suite) depends(available int32, restarting bool) {
	s.Helper()
	policy := &autorebootv1.RebootPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "shop"}}
	policy.Spec.Gates = []autorebootv1.Gate{{Condition: &autorebootv1.ObjectCondition{APIVersion: "networking.fairlead.dev/v1", Kind: "ExternalService", Name: "db", Type: "Healthy"}}}
	policy.Status.Targets = []autorebootv1.TargetStatus{{Kind: common.WorkloadDeployment, Name: "web"}}
	if restarting {
		policy.Status.InFlight = []autorebootv1.InFlightRestart{{ID: "1", Kind: common.WorkloadDeployment, Name: "web"}}
	}
	web := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}, Spec: appsv1.DeploymentSpec{Replicas: ptr.To[int32](2)}}
	web.Status.AvailableReplicas = available
	s.must(s.store.Create(s.Context(), policy))
	s.must(s.store.Create(s.Context(), web))
}

// chaos has a run of a ChaosPod under way that has chosen a pod of a Deployment.
func (s *suite) chaos(deployment string, outcome chaosv1.VictimOutcome) {
	s.Helper()
	run := &chaosv1.CurrentRun{ID: "1", Phase: chaosv1.RunVerifying, Victims: []chaosv1.Victim{
		{Name: "x", UID: "1", Outcome: chaosv1.VictimEvicted, Owner: &chaosv1.VictimOwner{Kind: "Deployment", Name: "x", UID: "uid-x"}},
		{Name: "y", UID: "2", Outcome: outcome, Owner: &chaosv1.VictimOwner{Kind: "Deployment", Name: deployment, UID: types.UID("uid-" + deployment)}},
	}}
	s.must(s.store.Create(s.Context(), &chaosv1.ChaosPod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "c"}, Status: chaosv1.ChaosPodStatus{CurrentRun: run}}))
}

func TestARunThatSparedTheDependantHindersNoFault(t *testing.T) {
	s := newHealthySuite(t, tiered, both)
	s.depends(2, false)
	s.chaos("web", chaosv1.VictimSpared)
	s.wantInjected("BlackHole", "192.0.2.1")
}

func TestWorkloadsDeclareThatTheyDependOnAnExternalService(t *testing.T) {
	s := newHealthySuite(t, tiered, both)
	declared := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", Annotations: map[string]string{common.DependsOnAnnotation: "externalservice/db"}}}
	typo := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "typo", Annotations: map[string]string{common.DependsOnAnnotation: "db"}}}
	for _, d := range []*appsv1.Deployment{declared, typo} {
		d.Spec.Replicas = ptr.To[int32](2)
		d.Status.AvailableReplicas = 2
		s.must(s.store.Create(t.Context(), d))
	}
	s.wantInjected("BlackHole", "192.0.2.1")
	s.reconcileUnchanged("with a dependant")
	st := s.object().Status
	if all := st.Fault.Dependants; len(all) != 1 || all[0].Name != "web" || all[0].Ready != networkingv1.DependantStayedReady {
		t.Errorf("the dependants are %+v", all)
	}
	if c := meta.FindStatusCondition(st.Conditions, networkingv1.ConditionFaultInjected); !strings.Contains(c.Message, `; Deployment typo: annotation fairlead.dev/depends-on: "db" is not externalservice/`) {
		t.Errorf("FaultInjected: %s", c.Message)
	}
}

func TestTheVerdictIsInTheStatus(t *testing.T) {
	s := newHealthySuite(t, tiered, both)
	s.depends(2, false)
	s.wantInjected("BlackHole", "192.0.2.1")
	var web appsv1.Deployment
	s.must(s.store.Get(t.Context(), types.NamespacedName{Namespace: "shop", Name: "web"}, &web))
	web.Status.AvailableReplicas = 1
	s.must(s.store.Status().Update(t.Context(), &web))
	s.advance(faultInterval)
	s.reconcileOnce()
	s.restart()
	web.Status.AvailableReplicas = 2
	s.must(s.store.Status().Update(t.Context(), &web))
	s.advance(10 * time.Minute)
	s.wantEnded("DeadlineReached", "192.0.2.1+", "FaultEnded")
	f := s.object().Status.Fault
	if f.DependantsStayedReady != metav1.ConditionFalse || len(f.Dependants) != 1 || f.Dependants[0].Ready != networkingv1.DependantBecameUnready {
		t.Errorf("%+v", f)
	}
}

// What cannot be read keeps no fault from ending, and none begins meanwhile.
func TestAFaultEndsAlthoughItsDependantsCannotBeRead(t *testing.T) {
	s := newHealthySuite(t, tiered, both)
	s.depends(2, false)
	s.wantInjected("BlackHole", "192.0.2.1")
	s.Client = interceptor.NewClient(s.store, interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
			if _, policies := list.(*autorebootv1.RebootPolicyList); policies {
				return errors.New("broken")
			}
			return c.List(ctx, list, options...)
		},
	})
	s.advance(10 * time.Minute)
	s.wantEnded("DeadlineReached", "192.0.2.1+", "FaultEnded")
	if f := s.object().Status.Fault; f.DependantsStayedReady != metav1.ConditionUnknown {
		t.Errorf("%+v", f)
	}
	s.requestFault("BlackHole")
	s.reconcileOnce()
	s.wantCondition("FaultInjected", "False FaultPending")
}

func TestAFailbackDuringAForcedFailoverIsRefusedForTheFault(t *testing.T) {
	s := newHealthySuite(t, tiered, both)
	s.requestFault("FailOver")
	s.reconcileOnce()
	s.reconcileOnce()
	s.wantPublished("198.51.100.1+")
	s.events = nil
	s.edit(func(es *networkingv1.ExternalService) {
		metav1.SetMetaDataAnnotation(&es.ObjectMeta, networkingv1.FailbackNowAnnotation, "one")
	})
	s.reconcileOnce()
	if len(s.events) != 1 || s.events[0] != "FailbackRefused: priority 1 stays published: a fault is injected" {
		t.Errorf("events %q", s.events)
	}
	if latest := s.object().Status.History[0]; latest.Result != networkingv1.ResultRefused || latest.Reason != networkingv1.ReasonFaultInjected {
		t.Errorf("history %+v", latest)
	}
}

func TestAFaultEndsWhereAnEditRenumbersWhatItTakesOut(t *testing.T) {
	for name, test := range map[string]struct{ endpoints, publishes string }{
		"removed":  {`[{name: b, addresses: [198.51.100.1]}]`, "198.51.100.1+"},
		"inserted": {`[{name: new, addresses: [203.0.113.1]}, {name: a, priority: 1, addresses: [192.0.2.1]}, {name: b, priority: 2, addresses: [198.51.100.1]}]`, "192.0.2.1+"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newHealthySuite(t, tiered, both)
			s.requestFault("FailOver")
			s.reconcileOnce()
			s.reconcileOnce()
			s.wantPublished("198.51.100.1+")
			s.events = nil
			s.edit(func(es *networkingv1.ExternalService) {
				es.Spec = parseSpec(t, `{ports: [{name: sql, port: 5432}], healthCheck: {tcpSocket: {}}, endpoints: `+test.endpoints+`}`)
			})
			s.reconcileOnce()
			s.advance(firstProbeHold)
			s.reconcileOnce()
			if f := s.object().Status.Fault; f.Outcome != networkingv1.FaultOutcomeSpecChanged {
				t.Errorf("the fault is %+v", f)
			}
			s.health.setHealth("new", "203.0.113.1", down)
			s.reconcileOnce()
			s.wantPublished(test.publishes)
		})
	}
}
