// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package restart

import (
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/utils/ptr"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/api/common"
)

// A leader whose clock was ahead has written each time of the status. Under one whose clock is right, nothing waits for longer
// than its own bound, and the difference is reported.
func TestAStoredTimeInTheFutureHoldsNothingBeyondItsBound(t *testing.T) {
	started := func(b *suite) bool { return len(b.p.Status.InFlight) > 0 }
	failedWith := func(reason string) func(b *suite) bool {
		return func(b *suite) bool { return len(b.p.Status.History) > 0 && b.p.Status.History[0].Reason == reason }
	}
	change := func(b *suite) {
		b.change("new")
		for i := range b.o.Workloads {
			b.o.Workloads[i].Signals[0].Written = noon() // by the clock of the API server
		}
	}
	verify := func(b *suite) {
		b.start()
		b.after(time.Second)
		b.after(2 * time.Minute)
	}
	for name, c := range map[string]struct {
		ahead, right func(b *suite) // what is done under the clock that is ahead, and under the one that is right
		within       time.Duration
		done         func(b *suite) bool
	}{
		"quietPeriod": {func(b *suite) { change(b); b.decide() }, nil, 15 * time.Second, started},
		"maxDelay": {func(b *suite) {
			b.p.Spec.Debounce = &autorebootv1.Debounce{QuietPeriod: ptr.To(common.Duration("1h")), MaxDelay: ptr.To(common.Duration("1m"))}
			change(b)
			b.decide()
		}, nil, time.Minute, started},
		"cooldown": {verify, change, 10 * time.Minute, started},
		"the backoff of a retry": {func(b *suite) {
			b.start()
			b.timeOut()
			b.workload(0).Complete, b.workload(0).Available = true, true
		}, nil, 10 * time.Minute, started},
		"the reset of attempts": {func(b *suite) {
			b.start()
			b.timeOut()
			b.workload(0).Complete, b.workload(0).Available = true, true
			b.after(2 * time.Minute)
			b.target(0).Pending, b.p.Status.InFlight = nil, nil
		}, nil, time.Hour, func(b *suite) bool { return b.target(0).Attempts == 0 }},
		"limit": {func(b *suite) {
			b.p.Spec.Limit = &autorebootv1.Limit{MaxRestarts: 1, Within: "1h"}
			verify(b)
		}, func(b *suite) { b.advance(time.Hour); change(b) }, time.Minute, started},
		"a halt that a user ends now": {func(b *suite) {
			b.p.Spec.Retry = &autorebootv1.Retry{MaxAttempts: new(int32)}
			b.start()
			b.timeOut()
		}, func(b *suite) {
			retry(b, "now")
		}, time.Second, func(b *suite) bool { return b.p.Status.Halt == nil }},
		"verification.timeout": {func(b *suite) { b.start(); b.workload(0).Complete = false }, nil, 15 * time.Minute, failedWith(autorebootv1.ReasonTimedOut)},
		"verification.soak": {func(b *suite) {
			b.start()
			b.after(time.Second)
		}, nil, 2 * time.Minute, func(b *suite) bool { return slices.Contains(b.messages, "RestartVerified") }},
		"the pods that are missing in a soak": {func(b *suite) {
			b.start()
			b.after(time.Second)
			b.workload(0).Available, b.workload(0).AvailablePods = false, 1
			b.decide()
		}, nil, unavailableFor, failedWith(autorebootv1.ReasonUnavailable)},
		"evict.timeout": {func(b *suite) {
			b.p.Spec.Strategy = &autorebootv1.Strategy{Type: autorebootv1.StrategyEvict}
			change(b)
			b.decide()
			b.record(b.after(time.Minute), Blocked)
		}, nil, 10 * time.Minute, failedWith(autorebootv1.ReasonEvictionBlocked)},
		"a refusal": {func(b *suite) {
			change(b)
			b.decide()
			b.record(b.after(time.Minute), Refused)
		}, nil, refusedInterval, started},
	} {
		for _, ahead := range []time.Duration{2 * time.Minute, 10 * time.Minute, time.Hour, 24 * time.Hour} {
			t.Run(name+" under a clock that was ahead by "+ahead.String(), func(t *testing.T) {
				b := newSuite(t)
				b.advance(ahead)
				c.ahead(b)
				b.o.Now, b.messages = noon().Add(time.Second), nil
				d := b.decide()
				if !strings.Contains(d.ClockSkew, "in the future") || !slices.Contains(b.messages, "ClockSkew") {
					t.Errorf("the difference is not told: %q, %v", d.ClockSkew, b.messages)
				}
				if c.right != nil {
					c.right(b)
					d = b.decide()
				}
				began := b.o.Now
				for !c.done(b) {
					if d.RequeueAt.IsZero() || d.RequeueAt.Sub(began) > c.within {
						t.Fatalf("after %s it waits until %s: %s %+v", b.o.Now.Sub(began), d.RequeueAt, d.PendingMessage, b.p.Status)
					}
					b.o.Now = d.RequeueAt
					d = b.decide()
				}
			})
		}
	}
}

func TestAPodOfTheFutureHoldsNoRolloutBeyondItsBound(t *testing.T) {
	b := newSuite(t)
	w := b.workload(0)
	w.Complete, w.Updated, w.Available, w.Outdated = false, false, false, ptr.To(int32(1))
	w.Pods[1].Created, w.Pods[1].Ready = noon().Add(24*time.Hour), false
	b.change("new")
	b.decide()
	d := b.after(time.Minute)
	b.expectPending(d, 0, autorebootv1.ReasonRolloutInProgress, 14*time.Minute)
	if b.after(14 * time.Minute); len(b.p.Status.InFlight) == 0 {
		t.Errorf("%+v", b.target(0).Pending)
	}
}

func TestAnEvictionDoesNotBeginBeforeItsPodsCanBeTold(t *testing.T) {
	b := newSuite(t)
	b.p.Spec.Strategy = &autorebootv1.Strategy{Type: autorebootv1.StrategyEvict}
	b.workload(0).Pods[1].Created = noon().Add(time.Hour)
	b.change("new")
	b.decide()
	d := b.after(time.Minute)
	b.expectPending(d, 0, autorebootv1.ReasonRolloutInProgress, 59*time.Minute+time.Second)
	if !strings.Contains(d.PendingMessage, "in the future") {
		t.Error(d.PendingMessage)
	}
	if d = b.after(59*time.Minute + time.Second); len(d.Actions) == 0 {
		t.Error(d.PendingMessage)
	}
}

// Each pod is evicted once, although the restart began under a clock that was ahead, or behind.
func TestAClockThatIsSetEvictsNoPodTwice(t *testing.T) {
	for _, by := range []time.Duration{-90 * time.Second, 90 * time.Second, time.Hour} {
		b := newSuite(t)
		b.p.Spec.Strategy = &autorebootv1.Strategy{Type: autorebootv1.StrategyEvict}
		b.change("new")
		b.decide()
		evicted := 0
		d := b.after(time.Minute)
		for range 10 {
			for _, a := range d.Actions {
				evicted++
				a.Pod.Created, a.Pod.UID = b.o.Now.Truncate(time.Second), a.Pod.UID+"+"
			}
			b.record(d, Done)
			if f := b.p.Status.InFlight; len(f) > 0 && evicted == 1 {
				*f[0].StartTime, *f[0].PhaseTime = *stampOf(f[0].StartTime.Add(by)), *stampOf(f[0].PhaseTime.Add(by))
			}
			d = b.after(5 * time.Second)
		}
		if evicted != 2 {
			t.Errorf("the clock was set by %s: %d evictions of two pods", by, evicted)
		}
	}
}
