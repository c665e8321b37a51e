// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package restart

import (
	"testing"
	"time"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/api/common"
)

// soakingSuite has a restart of a workload of four pods in its soak of two minutes.
func soakingSuite(t *testing.T, evict bool) *suite {
	t.Helper()
	b := newSuite(t)
	if evict {
		b.p.Spec.Strategy = &autorebootv1.Strategy{Type: autorebootv1.StrategyEvict}
	}
	w := b.workload(0)
	b.start()
	w.Desired, w.AvailablePods, w.Pods = 4, 4, nil
	b.advance(10 * time.Second)
	b.addPods(4, true)
	b.decide()
	if f := b.p.Status.InFlight; len(f) != 1 || f[0].Phase != autorebootv1.PhaseSoaking || f[0].Desired == nil || *f[0].Desired != 4 {
		t.Fatalf("%+v", f)
	}
	b.advance(10 * time.Second)
	return b
}

// addPods makes pods now.
func (b *suite) addPods(n int, ready bool) {
	w := b.workload(0)
	for range n {
		w.Pods = append(w.Pods, Pod{Created: b.o.Now.Truncate(time.Second), Ready: ready})
	}
}

// removePods has pods of the restart that are not available any more.
func (b *suite) removePods(n int) {
	w := b.workload(0)
	w.Available, w.Complete, w.AvailablePods = false, false, w.AvailablePods-int32(n)
	for i := range n {
		w.Pods[i].Ready = false
	}
}

func (b *suite) makeReady() {
	w := b.workload(0)
	w.Available, w.Complete, w.AvailablePods = true, true, w.Desired
	for i := range w.Pods {
		w.Pods[i].Ready = true
	}
}

func TestWhatASoakForgives(t *testing.T) {
	for name, c := range map[string]struct {
		put   func(b *suite)
		wants string        // the reason in the history; empty where it is still in flight
		after time.Duration // put
	}{
		"nothing happens":        {func(*suite) {}, autorebootv1.ReasonStayedAvailable, 2 * time.Minute},
		"pods are added, slowly": {func(b *suite) { b.workload(0).Desired = 9; b.workload(0).Available = false; b.addPods(5, false) }, autorebootv1.ReasonStayedAvailable, 2 * time.Minute},
		"pods are added, and one of the restart fails": {func(b *suite) {
			b.workload(0).Desired = 4
			b.removePods(1)
		}, autorebootv1.ReasonUnavailable, unavailableFor},
		"pods are taken away": {func(b *suite) {
			w := b.workload(0)
			w.Desired, w.AvailablePods, w.Pods = 2, 2, w.Pods[:2]
		}, autorebootv1.ReasonStayedAvailable, 2 * time.Minute},
		"one fails for a moment":                 {func(b *suite) { b.removePods(1); b.decide(); b.advance(9 * time.Second); b.makeReady() }, autorebootv1.ReasonStayedAvailable, 2 * time.Minute},
		"one fails for longer":                   {func(b *suite) { b.removePods(1) }, autorebootv1.ReasonUnavailable, unavailableFor},
		"one fails that a rollout could spare":   {func(b *suite) { b.workload(0).MaxUnavailable = 1; b.removePods(1) }, "", 2 * time.Minute},
		"one fails so, and for good":             {func(b *suite) { b.workload(0).MaxUnavailable = 1; b.removePods(1) }, autorebootv1.ReasonUnavailable, 15 * time.Minute},
		"two fail, and a rollout spares one":     {func(b *suite) { b.workload(0).MaxUnavailable = 1; b.removePods(2) }, autorebootv1.ReasonUnavailable, unavailableFor},
		"all fail, which no rollout may spare":   {func(b *suite) { b.workload(0).MaxUnavailable = 4; b.removePods(4) }, autorebootv1.ReasonUnavailable, unavailableFor},
		"one is evicted, and its successor slow": {func(b *suite) { b.removePods(1); b.workload(0).Pods[0].Terminating = true; b.addPods(1, false) }, "", 2 * time.Minute},
		"one fails as the soak ends":             {func(b *suite) { b.advance(105 * time.Second); b.removePods(1) }, "", 9 * time.Second},
		"one fails and comes back after the soak": {func(b *suite) {
			b.workload(0).MaxUnavailable = 1
			b.removePods(1)
			b.decide()
			b.advance(3 * time.Minute)
			b.makeReady()
		}, autorebootv1.ReasonStayedAvailable, time.Second},
	} {
		for _, evict := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				b := soakingSuite(t, evict)
				c.put(b)
				b.decide()
				d := b.after(c.after)
				h := b.p.Status.History
				switch {
				case c.wants == "" && (len(h) > 0 || !d.RequeueAt.After(b.o.Now)):
					t.Errorf("evict %t: ended as %+v; again at %s", evict, h, d.RequeueAt)
				case c.wants != "" && (len(h) != 1 || h[0].Reason != c.wants):
					t.Errorf("evict %t: history %+v, want %s; in flight %+v", evict, h, c.wants, b.p.Status.InFlight)
				}
			})
		}
	}
}

func TestARestartThatLeavesPodsAsTheyWereSaysWhich(t *testing.T) {
	b := newSuite(t)
	b.workload(0).Kind = common.WorkloadStatefulSet
	b.decide()
	b.start()
	b.workload(0).Kept = []Pod{{Name: "api-0"}}
	b.after(time.Second)
	b.after(3 * time.Minute)
	if h := b.p.Status.History; len(h) != 1 || h[0].Result != autorebootv1.ResultSucceeded || h[0].Message != "the partition keeps these pods as they were: api-0" {
		t.Errorf("%+v", h)
	}
}

// A soak goes on beside the next restart, and one that fails holds what has not started.
func TestTheNextRestartBeginsBesideASoakAndNoneAfterOneThatFails(t *testing.T) {
	b := newSuite(t, "a", "b", "c")
	b.start()
	b.after(time.Second) // a soaks
	if f := b.p.Status.InFlight; len(f) != 2 || f[0].Phase != autorebootv1.PhaseSoaking || f[1].Name != "b" {
		t.Fatalf("in flight: %+v", f)
	}
	b.workload(0).Available, b.workload(0).AvailablePods = false, 0
	b.after(time.Second)
	b.after(unavailableFor)
	if h := b.p.Status.History; len(h) != 1 || h[0].Reason != autorebootv1.ReasonUnavailable || len(b.p.Status.InFlight) != 1 {
		t.Fatalf("%+v, in flight %+v", h, b.p.Status.InFlight)
	}
	if pending := b.target(2).Pending; pending == nil || pending.Reason != autorebootv1.ReasonBackoff {
		t.Errorf("c: %+v", pending)
	}
}
