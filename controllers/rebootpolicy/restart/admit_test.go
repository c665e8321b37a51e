// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package restart

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/api/common"
	"github.com/fairlead-dev/fairlead/controllers/internal/workloads"
)

// obstacle is one reason to wait: each is judged before those after it.
type obstacle struct {
	reason string
	again  time.Duration
	put    func(b *suite)
}

func obstacles() []obstacle {
	on := true
	return []obstacle{
		{autorebootv1.ReasonSuspended, 0, func(b *suite) { b.p.Spec.Suspend = &on }},
		{autorebootv1.ReasonHalted, 0, func(b *suite) {
			b.p.Status.Halt = &autorebootv1.Halt{Halt: common.Halt{Reason: autorebootv1.ReasonLimitReached, StartTime: *stampOf(noon()), Generation: 1}, Target: common.WorkloadReference{Kind: "Deployment", Name: "other"}}
		}},
		{autorebootv1.ReasonPaused, 0, func(b *suite) { b.workload(1).Obstacle = autorebootv1.ReasonPaused }},
		{autorebootv1.ReasonDebouncing, 10 * time.Second, func(b *suite) {
			b.target(1).Pending.FirstRequestTime, b.workload(1).Signals[0].Written = *stampOf(b.o.Now.Add(-time.Minute)), b.o.Now.Add(-5*time.Second)
		}},
		{autorebootv1.ReasonApprovalRequired, 0, func(b *suite) {
			b.p.Spec.Gates = []autorebootv1.Gate{{Name: "release", Type: autorebootv1.GateApproval}}
		}},
		{autorebootv1.ReasonRolloutInProgress, time.Minute, func(b *suite) {
			b.workload(1).Complete, b.workload(1).Updated, b.workload(1).Pods[0].ReadyChanged = false, false, b.o.Now
		}},
		{autorebootv1.ReasonBackoff, 0, func(b *suite) {
			b.target(0).LastRestartTime = stampOf(b.o.Now)
			b.target(0).Pending = &autorebootv1.PendingRestart{Triggers: []string{"config"}, FirstRequestTime: *stampOf(b.o.Now), LastRequestTime: *stampOf(b.o.Now), Reason: "Paused"}
			b.workload(0).Obstacle = autorebootv1.ReasonPaused
		}},
		{autorebootv1.ReasonCooldown, 7 * time.Minute, func(b *suite) {
			b.target(1).LastRestartTime = stampOf(b.o.Now.Add(-3 * time.Minute))
			b.target(1).Pending.FirstRequestTime = *stampOf(b.o.Now.Add(-2 * time.Minute))
			b.target(1).PreviousContent = shortDigest([]string{"Secret/creds\x00new"}) // it comes back
		}},
		{autorebootv1.ReasonBlackout, time.Hour, func(b *suite) {
			b.o.Calendar.Blackout, b.o.Calendar.BlackoutEnds = "release", b.o.Now.Add(time.Hour)
		}},
		{autorebootv1.ReasonOutsideWindow, 2 * time.Hour, func(b *suite) { b.o.Calendar.Window, b.o.Calendar.NextOpen = false, b.o.Now.Add(2*time.Hour) }},
		{autorebootv1.ReasonGateClosed, 0, func(b *suite) { b.o.Gates = []string{"a gate is closed"} }},
		{autorebootv1.ReasonGateClosed, 0, func(b *suite) { b.workload(1).Fault = "a fault is injected into what it needs" }},
		{autorebootv1.ReasonSourceMissing, 0, func(b *suite) { b.workload(1).Missing = []string{"Secret/req"} }},
		{autorebootv1.ReasonLowerWave, 0, func(b *suite) {
			b.target(0).Pending = b.target(1).Pending.DeepCopy()
			b.workload(0).Signals[0] = b.workload(1).Signals[0]
			b.workload(0).Complete, b.workload(0).Updated, b.workload(0).Outdated = false, false, nil
		}},
		{autorebootv1.ReasonChaosActive, 0, func(b *suite) { b.o.Others.Disrupted = map[types.UID]bool{"uid-b": true} }},
		{autorebootv1.ReasonConcurrencyLimit, 0, func(b *suite) { b.o.Others.Free = 0 }},
		{autorebootv1.ReasonDryRun, 0, func(b *suite) { b.p.Spec.DryRun = &on }},
	}
}

// pendingSuite returns a suite whose second workload, of a higher wave, would start.
func pendingSuite(t *testing.T) *suite {
	b := newSuite(t, "a", "b")
	b.workload(1).Wave = 1
	b.workload(1).Signals[0].Fingerprint, b.workload(1).Signals[0].Written = "new", b.o.Now
	b.decide()
	b.advance(time.Hour)
	b.messages = nil
	return b
}

func TestNothingHoldsARestartForWhichAllIsWell(t *testing.T) {
	b := pendingSuite(t)
	if d := b.decide(); len(d.Actions) != 1 || d.Actions[0].Workload.Name != "b" {
		t.Fatalf("%+v", d)
	}
}

func TestReasonsAreJudgedInTheirOrder(t *testing.T) {
	all := obstacles()
	var listed, judged []string // the rows are listed in this order
	for _, o := range all {
		if !slices.Contains(judged, o.reason) {
			judged = append(judged, o.reason)
		}
	}
	for _, r := range autorebootv1.Reasons {
		if strings.Contains(r.On, "Waiting=True") && slices.Contains(judged, r.Name) {
			listed = append(listed, r.Name)
		}
	}
	if diff := cmp.Diff(judged, listed); diff != "" {
		t.Errorf("rows of Waiting (-judged +listed):\n%s", diff)
	}
	for i, first := range all {
		t.Run(first.reason, func(t *testing.T) {
			alone := pendingSuite(t)
			first.put(alone)
			alone.expectPending(alone.decide(), 1, first.reason, first.again)
			for _, second := range all[i+1:] {
				b := pendingSuite(t)
				second.put(b)
				first.put(b)
				b.decide()
				if p := b.target(1).Pending; p == nil || p.Reason != first.reason {
					t.Errorf("with %s besides: %+v", second.reason, p)
				}
			}
		})
	}
}

// One write of the status has a restart soak, which gives its slot back, and plans the next. Where another object waits
// for a slot and has fewer, the slot is its.
func TestTheSlotOfARestartThatSoaksIsUsedAgain(t *testing.T) {
	for name, c := range map[string]struct {
		free, share int
		lapsed      bool
		starts      bool
	}{
		"no other waits":                {0, 10, false, true},
		"others have as many":           {0, 1, false, true},
		"another has none":              {0, 0, false, false},
		"more is in flight than may be": {-1, 10, false, false},
		"there is room":                 {1, 0, false, true},
		"its slot had lapsed":           {0, 10, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			b := newSuite(t, "a", "b")
			most := intstr.FromInt32(2)
			b.p.Spec.Concurrency = &autorebootv1.Concurrency{MaxTargets: &most}
			b.o.Others.Free = 1
			b.start()
			b.o.Others.Free, b.o.Others.Share, b.o.Others.Full = c.free, c.share, "the cluster is full"
			b.o.Others.Lapsed = map[types.UID]bool{"uid-a": c.lapsed}
			d := b.after(time.Minute)
			if len(d.Status.InFlight) == 0 || d.Status.InFlight[0].Phase != autorebootv1.PhaseSoaking {
				t.Fatalf("in flight: %+v", d.Status.InFlight)
			}
			if len(d.Actions) != 0 != c.starts || d.WaitsForOthers == c.starts || !c.starts && !strings.Contains(d.PendingMessage, "the cluster is full") {
				t.Errorf("actions %+v, pending: %s", d.Actions, d.PendingMessage)
			}
		})
	}
}

func TestRestartNowPassesWhatOnlyWaitsForTime(t *testing.T) {
	passes := map[string]bool{autorebootv1.ReasonDebouncing: true, autorebootv1.ReasonCooldown: true, autorebootv1.ReasonOutsideWindow: true,
		autorebootv1.ReasonRolloutInProgress: true}
	for _, o := range obstacles() {
		t.Run(o.reason, func(t *testing.T) {
			b := pendingSuite(t)
			b.requestRestart(1)
			o.put(b)
			if d := b.decide(); (len(d.Actions) > 0) != passes[o.reason] {
				t.Errorf("started: %t; %s", len(d.Actions) > 0, d.PendingMessage)
			}
		})
	}
}

func TestSeveralReasonsOfTheirOwn(t *testing.T) {
	evict := func(b *suite, most string) {
		v := intstr.Parse(most)
		b.p.Spec.Strategy = &autorebootv1.Strategy{Type: autorebootv1.StrategyEvict, Evict: &autorebootv1.EvictStrategy{MaxUnavailable: &v}}
	}
	probes := func(b *suite) {
		b.workload(1).Signals[0].Fingerprint = "old"
		b.workload(1).Signals[2].Firing = true
	}
	expires := noon().Add(30 * time.Hour)
	for name, c := range map[string]struct {
		put    func(b *suite)
		reason string // empty: it starts
		again  time.Duration
		waits  bool
	}{
		"a calendar that cannot be read": {func(b *suite) { b.o.Calendar.Broken = true }, autorebootv1.ReasonOutsideWindow, 0, false},
		"suspect checks":                 {func(b *suite) { probes(b); b.o.Suspect = true }, autorebootv1.ReasonProbesInconclusive, 0, false},
		"suspect checks and a change":    {func(b *suite) { b.workload(1).Signals[2].Firing = true; b.o.Suspect = true }, "", 0, false},
		"a broken workload and a probe":  {func(b *suite) { probes(b); b.workload(1).Complete = false }, "", 0, false},
		"a broken workload and a change": {func(b *suite) {
			b.workload(1).Complete, b.workload(1).Available = false, false
		}, "", 0, false},
		"a workload whose pods have not become ready": {func(b *suite) {
			b.workload(1).Complete, b.workload(1).Available = false, false
			for i := range b.workload(1).Pods {
				b.workload(1).Pods[i].Ready, b.workload(1).Pods[i].ReadyChanged = false, b.o.Now
			}
		}, "", 0, false},
		"a rollout with a pod that became ready": {func(b *suite) {
			b.workload(1).Complete, b.workload(1).Updated, b.workload(1).Pods[0].ReadyChanged = false, false, b.o.Now.Add(-20*time.Second)
		}, autorebootv1.ReasonRolloutInProgress, 40 * time.Second, false},
		"a rollout without a pod that became ready for a minute": {func(b *suite) {
			b.workload(1).Complete, b.workload(1).Updated, b.workload(1).Pods[0].ReadyChanged = false, false, b.o.Now.Add(-time.Minute)
		}, "", 0, false},
		"a rollout whose pods are newer than the change": {func(b *suite) {
			b.workload(1).Complete, b.workload(1).Updated, b.workload(1).Pods[0].Created = false, false, b.o.Now.Add(-5*time.Minute)
		}, autorebootv1.ReasonRolloutInProgress, 10 * time.Minute, false},
		"a rollout that has made no pod yet": {func(b *suite) {
			b.workload(1).Complete, b.workload(1).Updated, b.workload(1).Pods = false, false, nil
			b.target(1).Pending.FirstRequestTime = *stampOf(b.o.Now.Add(-5 * time.Minute))
		}, autorebootv1.ReasonRolloutInProgress, 10 * time.Minute, false},
		"pods that a quota refuses, and one that is not ready": {func(b *suite) {
			b.workload(1).Complete, b.workload(1).Updated, b.workload(1).Shortage = false, false, workloads.Shortage{Reason: autorebootv1.ReasonReplicaFailure, Message: "exceeded quota"}
			b.workload(1).Pods[0].Ready, b.workload(1).Pods[0].Node = false, "node-1"
		}, "", 0, false},
		"pods that a quota refuses, and one may be missing": {func(b *suite) {
			b.workload(1).Complete, b.workload(1).Updated, b.workload(1).Shortage = false, false, workloads.Shortage{Reason: autorebootv1.ReasonReplicaFailure, Message: "exceeded quota"}
			b.workload(1).AvailablePods, b.workload(1).MaxUnavailable = 2, 1
		}, "", 0, false},
		"pods that a quota refuses": {func(b *suite) {
			b.workload(1).Complete, b.workload(1).Updated, b.workload(1).Shortage = false, false, workloads.Shortage{Reason: autorebootv1.ReasonReplicaFailure, Message: "exceeded quota"}
		}, autorebootv1.ReasonReplicaFailure, 0, false},
		"pods that find no node": {func(b *suite) {
			b.workload(1).Complete, b.workload(1).Shortage = false, workloads.Shortage{Reason: autorebootv1.ReasonUnschedulable, Message: "0/3 nodes are available"}
		}, autorebootv1.ReasonUnschedulable, 0, false},
		"pods that a quota refuses, and the annotation": {func(b *suite) {
			b.workload(1).Complete, b.workload(1).Updated, b.workload(1).Shortage = false, false, workloads.Shortage{Reason: autorebootv1.ReasonReplicaFailure, Message: "exceeded quota"}
			b.requestRestart(1)
		}, "", 0, false},
		"a rollout that has passed its progress deadline": {func(b *suite) {
			b.workload(1).Complete, b.workload(1).Updated, b.workload(1).Progressed, b.workload(1).Stalled = false, false, b.o.Now, true
		}, "", 0, false},
		"a rollout that makes no pod any more": {func(b *suite) {
			b.workload(1).Complete, b.workload(1).Updated = false, false
		}, "", 0, false},
		"a rollout whose controller has not seen the latest spec": {func(b *suite) {
			b.workload(1).Complete, b.workload(1).Updated, b.workload(1).Outdated = false, false, nil
		}, autorebootv1.ReasonRolloutInProgress, 0, false},
		"a rollout that waits for a pod to end": {func(b *suite) {
			b.workload(1).Complete, b.workload(1).Updated, b.workload(1).Pods[0].Terminating = false, false, true
		}, "", 0, false},
		"no target at once": {func(b *suite) {
			v := intstr.FromString("0%")
			b.p.Spec.Concurrency = &autorebootv1.Concurrency{MaxTargets: &v}
		}, autorebootv1.ReasonConcurrencyLimit, 0, false},
		"the group":              {func(b *suite) { b.o.Others.Group = 1 }, autorebootv1.ReasonConcurrencyLimit, 0, true},
		"the cluster":            {func(b *suite) { b.o.Others.Free = 0 }, autorebootv1.ReasonConcurrencyLimit, 0, true},
		"another's disruption":   {func(b *suite) { b.o.Others.Disrupted = map[types.UID]bool{"uid-b": true} }, autorebootv1.ReasonChaosActive, 0, true},
		"nothing may be evicted": {func(b *suite) { evict(b, "0%") }, autorebootv1.ReasonConcurrencyLimit, 0, false},
		"no pod to evict":        {func(b *suite) { evict(b, "1"); b.workload(1).Pods = nil }, autorebootv1.ReasonRolloutInProgress, 0, false},
		"a pod of this second": {func(b *suite) {
			evict(b, "1")
			b.workload(1).Pods[0].Created = b.o.Now
			b.advance(300 * time.Millisecond)
		}, autorebootv1.ReasonRolloutInProgress, 700 * time.Millisecond, false},
		"a lower wave that waits for something else": {func(b *suite) {
			b.workload(0).Signals[1].Fingerprint, b.target(0).LastRestartTime = "tuesday", stampOf(b.o.Now)
		}, "", 0, false},
		"a lower wave whose source is missing": {func(b *suite) {
			b.workload(0).Signals[0] = b.workload(1).Signals[0]
			b.workload(0).Missing = []string{"Secret/req"}
		}, "", 0, false},
		"a lower wave that cannot be restarted": {func(b *suite) {
			b.workload(0).Signals[0] = b.workload(1).Signals[0]
			b.workload(0).Obstacle = autorebootv1.ReasonOnDelete
		}, "", 0, false},
		"urgent soon": {func(b *suite) {
			b.o.Calendar.Window, b.o.Calendar.NextOpen = false, b.o.Now.Add(48*time.Hour)
			b.target(1).Baselines[0].ExpirationTime = stampOf(expires)
			b.workload(1).Signals[0].Urgent = 24 * time.Hour
		}, autorebootv1.ReasonOutsideWindow, 5 * time.Hour, false},
		"urgent now": {func(b *suite) {
			b.o.Calendar.Window = false
			b.target(1).Baselines[0].ExpirationTime = stampOf(expires)
			b.workload(1).Signals[0].Urgent = 29 * time.Hour
		}, "", 0, false},
		"an urgent trigger waits for no window, wave and turn": {func(b *suite) {
			b.p.Spec.Triggers[0].Urgency = ptr.To(autorebootv1.UrgencyUrgent)
			b.o.Calendar.Window = false
			b.workload(0).Signals[0] = b.workload(1).Signals[0]
			b.p.Spec.Concurrency = &autorebootv1.Concurrency{MaxTargets: ptr.To(intstr.FromInt32(1))}
		}, "", 0, false},
		"nothing is urgent with maxTargets 0": {func(b *suite) {
			b.p.Spec.Triggers[0].Urgency = ptr.To(autorebootv1.UrgencyUrgent)
			b.p.Spec.Concurrency = &autorebootv1.Concurrency{MaxTargets: ptr.To(intstr.FromInt32(0))}
		}, autorebootv1.ReasonConcurrencyLimit, 0, false},
		"an urgent trigger in a blackout": {func(b *suite) {
			b.p.Spec.Triggers[0].Urgency = ptr.To(autorebootv1.UrgencyUrgent)
			b.o.Calendar.Blackout, b.o.Calendar.BlackoutEnds = "release", b.o.Now.Add(time.Hour)
		}, autorebootv1.ReasonBlackout, time.Hour, false},
		"urgent now in a blackout": {func(b *suite) {
			b.o.Calendar.Blackout, b.o.Calendar.BlackoutEnds = "release", b.o.Now.Add(time.Hour)
			b.target(1).Baselines[0].ExpirationTime = stampOf(expires)
			b.workload(1).Signals[0].Urgent = 29 * time.Hour
		}, autorebootv1.ReasonBlackout, time.Hour, false},
	} {
		t.Run(name, func(t *testing.T) {
			b := pendingSuite(t)
			c.put(b)
			d := b.decide()
			if c.reason == "" {
				for _, a := range d.Actions {
					if a.Workload.Name == "b" {
						return
					}
				}
				t.Fatalf("it does not start: %s", d.PendingMessage)
			}
			b.expectPending(d, 1, c.reason, c.again)
			if d.WaitsForOthers != c.waits {
				t.Errorf("waits for others: %t", d.WaitsForOthers)
			}
		})
	}
}

func TestQuietPeriodCountsFromTheLatestChangeUpToTheLongestDelay(t *testing.T) {
	b := newSuite(t)
	b.change("1")
	b.expectPending(b.decide(), 0, autorebootv1.ReasonDebouncing, 15*time.Second)
	for i := range 29 {
		b.advance(10 * time.Second)
		b.change(string(rune('a' + i)))
		b.decide()
		if b.target(0).Pending == nil {
			t.Fatalf("started after %d changes", i)
		}
	}
	if d := b.after(10 * time.Second); len(d.Actions) != 1 {
		t.Errorf("a stream of changes holds the restart for longer than maxDelay: %s", d.PendingMessage)
	}
}

func TestWhatIsMissingOrBrokenInASpecIsTheDefault(t *testing.T) {
	broken := common.Duration("soon")
	p := &autorebootv1.RebootPolicy{}
	p.Spec.Cooldown, p.Spec.Debounce = &broken, &autorebootv1.Debounce{QuietPeriod: &broken}
	p.Spec.Limit = &autorebootv1.Limit{Within: broken}
	s := settingsOf(p)
	if s.cooldown != 0 || s.quiet != 2*time.Second || s.within != time.Hour || s.maxRestarts != 6 || s.timeout != 15*time.Minute || !s.haltOnFailure {
		t.Errorf("%+v", s)
	}
	Decide(&autorebootv1.RebootPolicy{}, Observation{Workloads: []Workload{{Signals: []Signal{{}}}}})
	Record(&autorebootv1.RebootPolicy{}, []Result{{}}, time.Time{}, nil)
}
