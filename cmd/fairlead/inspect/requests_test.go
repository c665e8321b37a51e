// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"fmt"
	"net/netip"
	"reflect"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"pgregory.net/rapid"
	"sigs.k8s.io/controller-runtime/pkg/client"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	chaosv1 "github.com/fairlead-dev/fairlead/api/chaos/v1"
	"github.com/fairlead-dev/fairlead/api/common"
	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/controllers/chaospod/chaos"
	"github.com/fairlead-dev/fairlead/controllers/externalservice/endpoints"
	"github.com/fairlead-dev/fairlead/controllers/externalservice/failover"
	"github.com/fairlead-dev/fairlead/controllers/rebootpolicy/restart"
	"github.com/fairlead-dev/fairlead/internal/probe"
	rules "github.com/fairlead-dev/fairlead/internal/rules/externalservice"
)

// logger is a test, or a part of one that is generated.
type logger interface {
	Logf(format string, args ...any)
}

// offered are the findings of an object that offer a request, by its verb.
func offered(t logger, object client.Object, leaders ...Leader) map[string][]Finding {
	all := map[string][]Finding{}
	graph := New(&Snapshot{Objects: []client.Object{object}})
	graph.SetLeaders(Leaders{All: leaders})
	for _, f := range graph.Explain(graph.Find(KeyOf(object))).Findings {
		for verb := range annotations {
			if strings.Contains(f.Override+f.Remedy, "`fairlead "+verb+" ") {
				t.Logf("%s (%s): %s", f.About, f.Reason, f.Override)
				all[verb] = append(all[verb], f)
			}
		}
	}
	return all
}

// with returns a copy of an object that has one more annotation.
func with[T client.Object](object T, annotation, value string) T {
	asked, is := object.DeepCopyObject().(T)
	if !is {
		return object // and the request changes nothing
	}
	all := map[string]string{annotation: value}
	for key, was := range object.GetAnnotations() {
		if key != annotation {
			all[key] = was
		}
	}
	asked.SetAnnotations(all)
	return asked
}

// policyStory is a policy, what it observes, and its status after each decision.
type policyStory struct {
	p *autorebootv1.RebootPolicy
	o restart.Observation
}

func (s *policyStory) decide() { s.store(restart.Decide(s.p, s.o)) }

// store stores a decision, and carries out what it does.
func (s *policyStory) store(d restart.Decision) {
	s.p.Status = d.Status
	if len(d.Actions) > 0 {
		var results []restart.Result
		for _, a := range d.Actions {
			r := restart.Result{Action: a, Outcome: restart.Done}
			if a.Verb == restart.Annotate {
				a.Workload.Generation++
				a.Workload.RestartID = a.ID
				r.Generation = a.Workload.Generation
			}
			results = append(results, r)
		}
		s.p.Status = restart.Record(s.p, results, s.o.Now, s.o.Requests).Status
	}
	set := func(kind string, status metav1.ConditionStatus, reason string) {
		meta.SetStatusCondition(&s.p.Status.Conditions, metav1.Condition{Type: kind, Status: status, Reason: reason, LastTransitionTime: metav1.NewTime(s.o.Now)})
	}
	set(common.ConditionReady, metav1.ConditionTrue, autorebootv1.ReasonWatching)
	set(common.ConditionWaiting, metav1.ConditionFalse, common.ReasonNothingPending)
	for i := range s.p.Status.Targets {
		if p := s.p.Status.Targets[i].Pending; p != nil && p.Reason != "" {
			set(common.ConditionWaiting, metav1.ConditionTrue, p.Reason)
		}
	}
	if len(s.p.Status.History) > 0 {
		if last := s.p.Status.History[0]; last.Result == autorebootv1.ResultFailed {
			set(autorebootv1.ConditionVerified, metav1.ConditionFalse, last.Reason)
		}
	}
	meta.RemoveStatusCondition(&s.p.Status.Conditions, common.ConditionStalled)
	if h := s.p.Status.Halt; h != nil {
		set(common.ConditionStalled, metav1.ConditionTrue, h.Reason)
	}
	set(common.ConditionSuspended, metav1.ConditionFalse, common.ReasonNotSuspended)
	if ptr.Deref(s.p.Spec.Suspend, false) {
		set(common.ConditionSuspended, metav1.ConditionTrue, common.ReasonSuspendedBySpec)
	}
}

// asked is the decision about the policy with an annotation more.
func (s *policyStory) asked(annotation, value string) restart.Decision {
	o := s.o
	o.Workloads = append([]restart.Workload(nil), o.Workloads...)
	if annotation == autorebootv1.RestartNowAnnotation {
		for i := range o.Workloads {
			o.Workloads[i].Signals = append(append([]restart.Signal(nil), o.Workloads[i].Signals...),
				restart.Signal{Trigger: autorebootv1.RestartNowTrigger, Fingerprint: value})
		}
	}
	return restart.Decide(with(s.p, annotation, value), o)
}

// reasons are those for which restarts wait, by workload.
func reasons(status *autorebootv1.RebootPolicyStatus) map[string]string {
	all := map[string]string{}
	for i := range status.Targets {
		if p := status.Targets[i].Pending; p != nil {
			all[status.Targets[i].Name] = p.Reason
		}
	}
	return all
}

// check sees that each request that why offers has an effect.
func (s *policyStory) check(t *rapid.T) {
	before := reasons(&s.p.Status)
	for verb, findings := range offered(t, s.p) {
		value := "asked"
		if verb == VerbApprove {
			value = string(s.p.Status.PendingApproval)
		}
		d, without := s.asked(Annotation(verb, RebootPolicy), value), restart.Decide(s.p, s.o)
		if value == "" || reflect.DeepEqual(d.Status, without.Status) && len(d.Actions) == len(without.Actions) {
			t.Errorf("why offers %s, on which the policy does not act: waiting are %v, halt %+v", verb, before, s.p.Status.Halt)
		}
		for i := range findings {
			if !strings.HasPrefix(findings[i].About, "restart of") || !strings.Contains(findings[i].Override, "overrides it") || strings.HasPrefix(findings[i].Override, "No ") {
				continue
			}
			isOverridden := false
			for name, now := range reasons(&d.Status) {
				isOverridden = isOverridden || before[name] == findings[i].Reason && now != findings[i].Reason
			}
			for name, was := range before {
				_, waits := reasons(&d.Status)[name]
				isOverridden = isOverridden || was == findings[i].Reason && !waits
			}
			if !isOverridden {
				t.Errorf("%s does not override %s, as why says: waiting were %v, and are %v", verb, findings[i].Reason, before, reasons(&d.Status))
			}
		}
	}
	if s.p.Status.Halt != nil && !offersRetry(t, s.p) {
		t.Errorf("why does not offer to resume what has halted: %+v", s.p.Status.Halt)
	}
}

func offersRetry(t logger, object client.Object) bool {
	return len(offered(t, object)[VerbRetry]) > 0
}

func TestLawWhyOffersWhatAPolicyActsOn(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		start := noon.Time
		p := &autorebootv1.RebootPolicy{TypeMeta: payments("").TypeMeta, ObjectMeta: named("payments")}
		p.UID = "0123abcd-4567"
		p.Spec.Triggers = []autorebootv1.Trigger{{Name: "config", Type: autorebootv1.TriggerConfigChange}}
		p.Spec.Verification = &autorebootv1.Verification{}
		p.Spec.Verification.OnFailure = ptr.To(rapid.SampledFrom([]common.FailurePolicy{common.FailureHalt, common.FailureContinue}).Draw(t, "onFailure"))
		p.Spec.Retry = &autorebootv1.Retry{MaxAttempts: ptr.To(rapid.Int32Range(0, 2).Draw(t, "attempts"))}
		if rapid.Bool().Draw(t, "approval") {
			p.Spec.Gates = []autorebootv1.Gate{{Name: "person", Type: autorebootv1.GateApproval}}
		}
		s := &policyStory{p: p, o: restart.Observation{Now: start, Calendar: restart.Calendar{Window: true, NextOpen: start, BlackoutEnds: start}, Others: restart.Others{Free: 10}}}
		for _, name := range []string{"api", "web"} {
			w := restart.Workload{
				Pods:    []restart.Pod{{Name: name + "-1", Created: start.Add(-time.Hour), Ready: true}},
				Signals: []restart.Signal{{Trigger: "config", Source: "Secret/" + name, Fingerprint: "old", Written: start.Add(-2 * time.Hour)}},
			}
			w.Kind, w.Name, w.UID, w.Generation, w.Desired = common.WorkloadDeployment, name, types.UID(name), 1, 1
			w.Complete, w.Updated, w.Available, w.Outdated = true, true, true, new(int32)
			s.o.Workloads = append(s.o.Workloads, w)
		}
		s.decide()
		changes := 0
		of := func(t *rapid.T) *restart.Workload { return &s.o.Workloads[rapid.IntRange(0, 1).Draw(t, "workload")] }
		t.Repeat(map[string]func(*rapid.T){
			"": s.check,
			"change": func(t *rapid.T) {
				changes++
				signal := &of(t).Signals[0]
				signal.Fingerprint, signal.Written = fmt.Sprint(changes), s.o.Now.Truncate(time.Second)
				s.decide()
			},
			"wait": func(t *rapid.T) {
				s.o.Now = s.o.Now.Add(rapid.SampledFrom([]time.Duration{time.Minute, 15 * time.Minute, 2 * time.Hour}).Draw(t, "for"))
				if s.o.Calendar.Window {
					s.o.Calendar.NextOpen = s.o.Now
				}
				s.o.Calendar.BlackoutEnds = s.o.Now
				s.decide()
			},
			"fail": func(t *rapid.T) {
				w := of(t)
				w.Complete, w.Available = !w.Complete, !w.Available
				s.decide()
			},
			"obstruct": func(t *rapid.T) {
				w := of(t)
				if w.Signals[0].Unknown != "" {
					return // the status does not say both, and nothing is approved
				}
				w.Obstacle = map[string]string{"": autorebootv1.ReasonScaledToZero}[w.Obstacle]
				s.decide()
			},
			"shortage": func(t *rapid.T) {
				w := of(t)
				w.Shortage.Reason = map[string]string{"": autorebootv1.ReasonUnschedulable}[w.Shortage.Reason]
				w.Complete, w.Updated = w.Shortage.Reason == "", w.Shortage.Reason == ""
				s.decide()
			},
			"blackout": func(*rapid.T) {
				s.o.Calendar.Blackout = map[string]string{"": "release"}[s.o.Calendar.Blackout]
				s.o.Calendar.BlackoutEnds = s.o.Now.Add(time.Hour)
				s.decide()
			},
			"dryRun": func(*rapid.T) {
				s.p.Spec.DryRun = ptr.To(!ptr.Deref(s.p.Spec.DryRun, false))
				s.decide()
			},
			"limit": func(*rapid.T) {
				s.o.Others.Free = 10 - s.o.Others.Free
				s.decide()
			},
			"window": func(*rapid.T) {
				s.o.Calendar.Window = !s.o.Calendar.Window
				if !s.o.Calendar.Window {
					s.o.Calendar.NextOpen, s.o.Calendar.NextWindow = s.o.Now.Add(time.Hour), "night"
				}
				s.decide()
			},
			"gate": func(*rapid.T) {
				if len(s.o.Gates) > 0 {
					s.o.Gates = nil
				} else {
					s.o.Gates = []string{"ExternalService db is not Healthy"}
				}
				s.decide()
			},
			"unknown": func(t *rapid.T) {
				w := of(t)
				if w.Obstacle != "" {
					return
				}
				signal := &w.Signals[0]
				signal.Unknown = map[string]string{"": "Forbidden"}[signal.Unknown]
				s.decide()
			},
			"suspend": func(*rapid.T) {
				s.p.Spec.Suspend = ptr.To(!ptr.Deref(s.p.Spec.Suspend, false))
				s.decide()
			},
		})
	})
}

func TestLawWhyOffersWhatAChaosPodActsOn(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		now := noon.Time
		p := &chaosv1.ChaosPod{TypeMeta: metav1.TypeMeta{APIVersion: "chaos.fairlead.dev/v1", Kind: ChaosPod}, ObjectMeta: named("api")}
		p.UID, p.CreationTimestamp = "0123abcd", noon
		p.Spec.DryRun, p.Spec.Suspend = ptr.To(false), ptr.To(false)
		p.Spec.Target.Workload = &common.WorkloadReference{Kind: common.WorkloadDeployment, Name: "api"}
		p.Spec.Schedule.Interval = "10m"
		p.Spec.Verification = &common.Verification{
			Soak: ptr.To(common.Duration("0s")), OnFailure: ptr.To(rapid.SampledFrom([]common.FailurePolicy{common.FailureHalt, common.FailureContinue}).Draw(t, "onFailure")),
		}
		o := chaos.Observation{Now: now, Others: chaos.Others{Free: 10}}
		pods, created := []chaos.Pod{}, 0
		observe := func() {
			o.Owners = []chaos.Owner{{Kind: "Deployment", Name: "api", UID: "uid", Desired: 3, Pods: append([]chaos.Pod(nil), pods...)}}
		}
		fill := func() {
			for len(pods) < 3 {
				created++
				born := o.Now.Add(-time.Hour)
				name := fmt.Sprintf("api-%d", created)
				pods = append(pods, chaos.Pod{Name: name, UID: types.UID(name), Node: "n1", Created: born, Running: true, ReadySince: born, Selected: true,
					Protected: chaos.False, Cordoned: chaos.False, Covered: chaos.True})
			}
		}
		decide := func(t *rapid.T) {
			observe()
			d := chaos.Decide(p, o)
			p.Status = d.Status
			if len(d.Actions) == 0 {
				return
			}
			outcome := rapid.SampledFrom([]chaos.Outcome{chaos.Done, chaos.Done, chaos.Blocked, chaos.Misconfigured, chaos.Retry}).Draw(t, "outcome")
			var results []chaos.Result
			for _, a := range d.Actions {
				results = append(results, chaos.Result{Action: a, Outcome: outcome})
				for i := range pods {
					if outcome == chaos.Done && pods[i].UID == a.UID {
						pods = append(pods[:i:i], pods[i+1:]...)
						break
					}
				}
			}
			p.Status = chaos.Record(p, results, o.Now, o.Requests).Status
		}
		fill()
		observe()
		p.Status = chaos.Decide(p, o).Status
		t.Repeat(map[string]func(*rapid.T){
			"": func(t *rapid.T) {
				observe()
				without := chaos.Decide(p, o)
				for verb := range offered(t, p) {
					d := chaos.Decide(with(p, Annotation(verb, ChaosPod), "asked"), o)
					if reflect.DeepEqual(d.Status, without.Status) && len(d.Actions) == len(without.Actions) && p.Status.CurrentRun == nil {
						t.Errorf("why offers %s, on which the ChaosPod does not act: halt %+v, suspend %t", verb, p.Status.Halt, *p.Spec.Suspend)
					}
				}
				if p.Status.Halt != nil && p.Status.CurrentRun == nil && !offersRetry(t, p) {
					t.Errorf("why does not offer to resume what has halted: %+v", p.Status.Halt)
				}
			},
			"wait": func(t *rapid.T) {
				o.Now = o.Now.Add(rapid.SampledFrom([]time.Duration{time.Minute, 10 * time.Minute, time.Hour}).Draw(t, "for"))
				decide(t)
			},
			"recover": func(t *rapid.T) { fill(); decide(t) },
			"edit": func(t *rapid.T) {
				p.Spec.Schedule.Interval = map[common.Duration]common.Duration{"10m": "20m", "20m": "10m"}[p.Spec.Schedule.Interval]
				p.Generation++
				decide(t)
			},
			"suspend": func(t *rapid.T) {
				p.Spec.Suspend = ptr.To(!*p.Spec.Suspend)
				p.Generation++
				decide(t)
			},
		})
	})
}

func TestLawWhyOffersAFailbackThatAnExternalServiceActsOn(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		es := database()
		es.Spec.Failover = &networkingv1.Failover{Failback: ptr.To(rapid.SampledFrom([]networkingv1.FailbackPolicy{networkingv1.FailbackManual, networkingv1.FailbackAutomatic}).Draw(t, "failback"))}
		es.Spec.Suspend = ptr.To(false)
		rules.Default(es)
		in := &failover.Input{Now: noon.Time, Object: es}
		for i := range 3 {
			e := endpoints.Endpoint{Name: fmt.Sprint(i), Priority: int32(i)}
			a := endpoints.Address{IP: netip.AddrFrom4([4]byte{192, 0, 2, byte(i)}), Ports: &endpoints.PortSet{Digest: "0"}, Changed: noon.Add(-time.Minute)}
			a.Health = probe.Health{Since: a.Changed, State: rapid.SampledFrom([]networkingv1.AddressHealth{networkingv1.AddressHealthy, networkingv1.AddressUnhealthy}).Draw(t, "health")}
			e.Addresses = []endpoints.Address{a}
			in.Observed.Endpoints = append(in.Observed.Endpoints, e)
		}
		active := rapid.Int32Range(0, 2).Draw(t, "active")
		state := func() *failover.State {
			return &failover.State{FirstSeen: noon.Add(-time.Hour), IsDecided: true, Active: &active}
		}
		before := state().Decide(in)
		set := func(kind string, status metav1.ConditionStatus, reason string) {
			meta.SetStatusCondition(&es.Status.Conditions, metav1.Condition{Type: kind, Status: status, Reason: reason, LastTransitionTime: noon})
		}
		es.Status.ActivePriority = before.Shown.Active
		switch {
		case before.Shown.PendingFailback != nil && before.Shown.AwaitsRequest:
			set(networkingv1.ConditionFailedOver, metav1.ConditionTrue, networkingv1.ReasonFailbackManual)
		case before.Shown.PendingFailback != nil:
			set(networkingv1.ConditionFailedOver, metav1.ConditionTrue, networkingv1.ReasonFailbackDelay)
		case *before.Shown.Active > 0:
			set(networkingv1.ConditionFailedOver, metav1.ConditionTrue, networkingv1.ReasonPriorityUnhealthy)
		}
		// What happens next keeps the condition as it was.
		isHeld, leaders := false, []Leader{{Leads: true}}
		switch rapid.SampledFrom([]string{"", "suspect", "suspend", "delete", "conflict", "denied", "no leader"}).Draw(t, "then") {
		case "suspect":
			in.Observed.IsSuspect = true
			set(networkingv1.ConditionHealthy, metav1.ConditionUnknown, networkingv1.ReasonProbesInconclusive)
		case "suspend":
			es.Spec.Suspend, isHeld = ptr.To(true), true
			set(common.ConditionSuspended, metav1.ConditionTrue, common.ReasonSuspendedBySpec)
		case "delete":
			es.DeletionTimestamp, isHeld = &noon, true
		case "conflict":
			isHeld = true
			set(common.ConditionStalled, metav1.ConditionTrue, networkingv1.ReasonServiceConflict)
		case "no leader":
			isHeld, leaders = true, []Leader{{}}
		case "denied": // an address of the spec; the others are published
			set(common.ConditionStalled, metav1.ConditionTrue, networkingv1.ReasonPolicyDenied)
		}
		active = *before.Shown.Active
		asked := *in
		asked.Object = with(es, networkingv1.FailbackNowAnnotation, "asked")
		without, d := state().Decide(in), state().Decide(&asked)
		acts := !isHeld && *without.Shown.Active != *d.Shown.Active
		if offers := len(offered(t, es, leaders...)[VerbFailback]) > 0; offers != acts {
			t.Errorf("why offers a failback: %t; the operator acts on it: %t", offers, acts)
		}
	})
}

// healthyInput is an ExternalService all of whose addresses are healthy, as an operator observes it.
func healthyInput(es *networkingv1.ExternalService) *failover.Input {
	in := &failover.Input{Now: noon.Time, Object: es}
	for i := range 2 {
		a := endpoints.Address{IP: netip.AddrFrom4([4]byte{192, 0, 2, byte(i)}), Ports: &endpoints.PortSet{Digest: "0"}, Changed: noon.Add(-time.Hour)}
		a.Health = probe.Health{Since: a.Changed, State: networkingv1.AddressHealthy}
		in.Observed.Endpoints = append(in.Observed.Endpoints, endpoints.Endpoint{Name: fmt.Sprint(i), Priority: int32(i), Addresses: []endpoints.Address{a}})
	}
	return in
}

func TestWhyOffersWhatChangesAFault(t *testing.T) {
	lasting := &networkingv1.FaultStatus{Request: "BlackHole for=10m", Type: networkingv1.FaultBlackHole, StartTime: &noon, DeadlineTime: metav1.NewTime(noon.Add(10 * time.Minute))}
	refused := &networkingv1.FaultStatus{Request: "BlackHole for=10m", Type: networkingv1.FaultBlackHole, CompletionTime: &noon, Outcome: networkingv1.FaultOutcomeRefused}
	later := "BlackHole for=10m at=" + noon.Add(time.Hour).UTC().Format(time.RFC3339)
	for name, c := range map[string]struct {
		reason    string
		annotated string
		stored    *networkingv1.FaultStatus
		next      string // value of the annotation by which the offer is taken; empty removes it
	}{
		"lasts":   {string(networkingv1.FaultBlackHole), "BlackHole for=10m", lasting, ""},
		"pending": {networkingv1.ReasonFaultPending, later, nil, ""},
		"refused": {networkingv1.ReasonFaultRefused, "BlackHole for=10m", refused, "BlackHole for=20m"},
	} {
		for then, hold := range map[string]func(*networkingv1.ExternalService) Leader{
			"": func(*networkingv1.ExternalService) Leader { return Leader{Leads: true} },
			"suspended": func(es *networkingv1.ExternalService) Leader {
				es.Status.Conditions = append(es.Status.Conditions, condition(common.ConditionSuspended, "True", common.ReasonSuspendedBySpec, ""))
				return Leader{Leads: true}
			},
			"deleted": func(es *networkingv1.ExternalService) Leader {
				es.DeletionTimestamp = &noon
				return Leader{Leads: true}
			},
			"no leader": func(*networkingv1.ExternalService) Leader { return Leader{} },
		} {
			t.Run(name+" "+then, func(t *testing.T) {
				es := database()
				rules.Default(es)
				es.Status.Fault = c.stored
				status := "False"
				if c.stored.Lasts() {
					status = "True"
				}
				es.Status.Conditions = []metav1.Condition{condition(common.ConditionReady, "True", "Published", ""),
					condition(networkingv1.ConditionFaultInjected, status, c.reason, "")}
				if c.reason == networkingv1.ReasonFaultPending {
					es.Status.Conditions = append(es.Status.Conditions, condition(common.ConditionWaiting, "True", c.reason, ""))
				}
				es.Annotations = map[string]string{networkingv1.InjectFaultAnnotation: c.annotated}
				state := func() *failover.State {
					return &failover.State{FirstSeen: noon.Add(-time.Hour), IsDecided: true, Active: ptr.To[int32](0)}
				}
				without, d := state().Decide(healthyInput(es)), state().Decide(healthyInput(with(es, networkingv1.InjectFaultAnnotation, c.next)))
				if reflect.DeepEqual(without.Fault, d.Fault) {
					t.Fatalf("the operator does not act on it: %+v", d.Fault)
				}
				leader := hold(es)
				if offers := len(offered(t, es, leader)[VerbFault]) > 0; offers != (then == "") {
					t.Errorf("why offers to change the fault: %t", offers)
				}
			})
		}
	}
}
