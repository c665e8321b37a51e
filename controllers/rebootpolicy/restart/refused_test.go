// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package restart

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
)

// refuse records that the API server refused all actions of a decision.
func (b *suite) refuse(d Decision) Decision {
	results := make([]Result, 0, len(d.Actions))
	for _, a := range d.Actions {
		results = append(results, Result{Action: a, Outcome: Refused, Reason: autorebootv1.ReasonWriteRefused, Message: "denied by policy x"})
	}
	return b.store(Record(b.p, results, b.o.Now, b.o.Requests))
}

func TestARestartThatIsRefusedHoldsNoOther(t *testing.T) {
	b := newSuite(t, "db", "web")
	b.workload(1).Wave = 1
	b.change("new")
	b.decide()
	d := b.after(time.Minute)
	if len(d.Actions) != 1 || d.Actions[0].Workload.Name != "db" {
		t.Fatalf("actions %+v", d.Actions)
	}
	b.refuse(d)
	d = b.after(time.Second)
	if pending := b.target(0).Pending; pending == nil || pending.Reason != autorebootv1.ReasonWriteRefused {
		t.Errorf("pending is %+v", pending)
	}
	if len(d.Actions) != 1 || d.Actions[0].Workload.Name != "web" {
		t.Errorf("actions %+v", d.Actions)
	}
}

func TestARefusalUsesUpNeitherAttemptsNorTheLimit(t *testing.T) {
	for name, evict := range map[string]bool{"rollout": false, "evict": true} {
		t.Run(name, func(t *testing.T) {
			b := newSuite(t)
			b.p.Spec.Limit = &autorebootv1.Limit{MaxRestarts: 1, Within: "24h"}
			if evict {
				b.p.Spec.Strategy = &autorebootv1.Strategy{Type: autorebootv1.StrategyEvict}
			}
			b.change("new")
			b.decide()
			for range 100 {
				d := b.after(time.Minute)
				if len(d.Actions) != 1 {
					t.Fatalf("%d actions: %s", len(d.Actions), d.PendingMessage)
				}
				b.refuse(d)
				if st := b.p.Status; ProgressReason(&st, false) != autorebootv1.ReasonWaiting && len(st.InFlight) > 0 {
					t.Fatalf("state %s, in flight %+v", ProgressReason(&st, false), st.InFlight)
				}
			}
			if target := b.target(0); target.Attempts > 0 || len(target.RecentRestartTimes) > 0 || len(b.p.Status.History) > 0 {
				t.Errorf("target %+v, history %+v", target, b.p.Status.History)
			}
			d := b.after(time.Minute)
			b.record(d, Done)
			if f := b.p.Status.InFlight; len(f) != 1 || f[0].Refusal != nil || f[0].Phase == autorebootv1.PhasePlanned {
				t.Errorf("in flight %+v", f)
			}
		})
	}
}

func TestARefusedRetryStaysARetry(t *testing.T) {
	b := newSuite(t, "api", "other")
	b.p.Spec.Retry = &autorebootv1.Retry{MaxAttempts: ptr.To(int32(3))}
	b.start()
	b.timeOut()
	b.workload(0).Complete, b.workload(0).Available = true, true
	var d Decision
	for range 30 {
		if d = b.after(time.Minute); len(d.Actions) > 0 {
			break
		}
	}
	b.refuse(d)
	if target := b.target(0); target.Attempts != 1 || target.Pending == nil {
		t.Fatalf("target %+v", target)
	}
	d = b.after(time.Second)
	b.expectPending(d, 0, autorebootv1.ReasonWriteRefused, 59*time.Second)
	if pending := b.target(1).Pending; pending == nil || pending.Reason != autorebootv1.ReasonBackoff {
		t.Errorf("the other has %+v, want it to wait for the one that failed", pending)
	}
}

func TestARefusalInTheMidstOfEvictionsStopsTheClock(t *testing.T) {
	b := newSuite(t)
	b.p.Spec.Strategy = &autorebootv1.Strategy{Type: autorebootv1.StrategyEvict}
	b.start()
	w := b.workload(0)
	w.Pods[0] = Pod{Name: "api-3", UID: "api-3", Created: b.o.Now.Add(time.Second), Ready: true}
	d := b.after(2 * time.Second)
	if len(d.Actions) != 1 {
		t.Fatalf("actions %+v", d.Actions)
	}
	b.refuse(d)
	tries := 0
	for range 100 {
		if d = b.after(30 * time.Second); len(d.Actions) > 0 {
			tries++
			b.refuse(d)
		}
	}
	if f := b.p.Status.InFlight; tries != 50 || len(f) != 1 || f[0].Refusal == nil || f[0].Refusal.Message != "denied by policy x" {
		t.Fatalf("%d tries, in flight %+v", tries, f)
	}
	d = b.after(time.Minute)
	b.record(d, Done)
	w.Pods[1] = Pod{Name: "api-4", UID: "api-4", Created: b.o.Now.Add(time.Second)}
	w.Available = false
	b.after(14 * time.Minute)
	if f := b.p.Status.InFlight; len(f) != 1 || f[0].Refusal != nil {
		t.Fatalf("in flight %+v, history %+v", f, b.p.Status.History)
	}
	b.after(2 * time.Minute)
	if h := b.p.Status.History; len(h) != 1 || h[0].Reason != autorebootv1.ReasonTimedOut {
		t.Errorf("history %+v", h)
	}
}

// What was refused once and is not tried any more, since a new pod never becomes ready, has an end.
func TestARefusalThatIsOverDoesNotKeepARestartWithoutAnEnd(t *testing.T) {
	b := newSuite(t)
	b.p.Spec.Strategy = &autorebootv1.Strategy{Type: autorebootv1.StrategyEvict}
	b.start()
	w := b.workload(0)
	w.Pods[0] = Pod{Name: "api-3", UID: "api-3", Created: b.o.Now.Add(time.Second), Ready: true}
	b.refuse(b.after(2 * time.Second))
	w.Pods[0].Ready, w.Available = false, false
	if d := b.after(2 * time.Minute); len(d.Actions) > 0 || d.RequeueAt.IsZero() {
		t.Fatalf("actions %+v, again at %s", d.Actions, d.RequeueAt)
	}
	b.after(15 * time.Minute)
	if h := b.p.Status.History; len(h) != 1 || h[0].Reason != autorebootv1.ReasonTimedOut {
		t.Errorf("history %+v, in flight %+v", h, b.p.Status.InFlight)
	}
}

func TestAnEvictionThatWasDoneOutweighsOneThatWasRefused(t *testing.T) {
	b := newSuite(t)
	b.p.Spec.Strategy = &autorebootv1.Strategy{Type: autorebootv1.StrategyEvict, Evict: &autorebootv1.EvictStrategy{MaxUnavailable: ptr.To(intstr.FromString("100%"))}}
	b.change("new")
	b.decide()
	d := b.after(time.Minute)
	if len(d.Actions) != 2 {
		t.Fatalf("actions %+v", d.Actions)
	}
	b.store(Record(b.p, []Result{{Action: d.Actions[0], Outcome: Refused, Message: "no"}, {Action: d.Actions[1], Outcome: Done}}, b.o.Now, b.o.Requests))
	if f := b.p.Status.InFlight; len(f) != 1 || f[0].Phase != autorebootv1.PhaseEvicting || f[0].Refusal == nil {
		t.Errorf("in flight %+v", f)
	}
}

func TestARefusedRestartIsNotNeededOnceAllPodsAreNewer(t *testing.T) {
	b := newSuite(t)
	b.change("new")
	b.decide()
	b.refuse(b.after(time.Minute))
	for i := range b.workload(0).Pods {
		b.workload(0).Pods[i].Created = b.o.Now.Add(10 * time.Second)
	}
	d := b.after(20 * time.Second)
	if h := b.p.Status.History; len(h) != 1 || h[0].Result != autorebootv1.ResultSuperseded || len(d.Actions) > 0 {
		t.Errorf("history %+v", h)
	}
}
