// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package restart

import (
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
)

// stops are edits of a workload that end its rollout before every pod is new. What may start a rollout is then as if it
// were complete.
func stops() map[string]func(*Workload) {
	return map[string]func(*Workload){
		"paused":             func(w *Workload) { w.Obstacle = autorebootv1.ReasonPaused },
		"by hand":            func(w *Workload) { w.Obstacle = autorebootv1.ReasonOnDelete },
		"partitioned":        func(w *Workload) { w.Obstacle, w.Partition = autorebootv1.ReasonPartitioned, 2 },
		"partitioned partly": func(w *Workload) { w.Partition = 1 },
		"scaled to zero": func(w *Workload) {
			w.Obstacle, w.Desired, w.Outdated, w.Pods = autorebootv1.ReasonScaledToZero, 0, ptr.To(int32(0)), nil
		},
		"not seen yet": func(w *Workload) { w.Outdated = nil },
	}
}

func TestARolloutThatIsStoppedIsNotVerifiedAndHoldsLaterWaves(t *testing.T) {
	for name, stop := range stops() {
		t.Run(name, func(t *testing.T) {
			b := newSuite(t, "db", "web")
			b.p.Spec.Concurrency = &autorebootv1.Concurrency{MaxTargets: ptr.To(intstr.FromString("100%"))}
			b.p.Annotations = map[string]string{autorebootv1.RestartNowAnnotation: "monday"}
			b.workload(1).Wave = 1
			b.start()
			w := b.workload(0)
			w.Outdated = ptr.To(int32(1))
			stop(w)
			w.Complete, w.Updated, w.Available = true, true, true
			for range 5 {
				if d := b.after(time.Minute); len(d.Actions) > 0 {
					t.Fatalf("the later wave restarts: %+v", d.Actions)
				}
			}
			if f := b.p.Status.InFlight; len(f) != 1 || f[0].Phase != autorebootv1.PhaseRollingOut {
				t.Fatalf("in flight %+v", f)
			}
			b.after(10 * time.Minute)
			history := b.p.Status.History
			if len(history) != 1 || history[0].Result != autorebootv1.ResultFailed || history[0].Reason != autorebootv1.ReasonTimedOut {
				t.Fatalf("history %+v", history)
			}
			if want := "the workload is "; w.Obstacle != "" && !strings.Contains(history[0].Message, want+w.Obstacle) {
				t.Errorf("message %q lacks %q", history[0].Message, want+w.Obstacle)
			}
			if b.p.Status.VerifiedRestartNow != "" {
				t.Errorf("verifiedRestartNow is %q", b.p.Status.VerifiedRestartNow)
			}
		})
	}
}

func TestARolloutThatGoesOnAfterItWasStoppedIsVerified(t *testing.T) {
	for name, stop := range stops() {
		t.Run(name, func(t *testing.T) {
			b := newSuite(t)
			b.start()
			w := b.workload(0)
			before := *w
			w.Outdated = ptr.To(int32(1))
			stop(w)
			b.after(time.Minute)
			w.Obstacle, w.Partition, w.Desired, w.Pods, w.Outdated = "", 0, before.Desired, before.Pods, ptr.To(int32(0))
			b.after(time.Minute)
			b.after(3 * time.Minute)
			if history := b.p.Status.History; len(history) != 1 || history[0].Result != autorebootv1.ResultSucceeded {
				t.Errorf("history %+v", history)
			}
		})
	}
}

// A partition that was there when the restart was decided on is what its owner wants.
func TestAPartitionThatWasThereBeforeIsNoStop(t *testing.T) {
	for name, test := range map[string]struct {
		now  int32
		want bool
	}{"the same": {1, true}, "raised": {2, false}, "lowered": {0, false}} {
		t.Run(name, func(t *testing.T) {
			b := newSuite(t)
			b.workload(0).Partition = 1
			b.start()
			w := b.workload(0)
			w.Partition, w.Outdated = test.now, ptr.To(max(test.now, 1))
			b.after(time.Minute)
			b.after(3 * time.Minute)
			if got := len(b.p.Status.History) == 1; got != test.want {
				t.Errorf("verified: %t, want %t: %+v", got, test.want, b.p.Status.InFlight)
			}
		})
	}
}

func TestAWorkloadThatIsScaledToZeroInItsSoakIsNotVerified(t *testing.T) {
	b := newSuite(t)
	b.start()
	b.after(time.Second)
	w := b.workload(0)
	w.Obstacle, w.Desired, w.Pods = autorebootv1.ReasonScaledToZero, 0, nil
	b.after(3 * time.Minute)
	if f := b.p.Status.InFlight; len(f) != 1 {
		t.Fatalf("history %+v", b.p.Status.History)
	}
	b.after(15 * time.Minute)
	if h := b.p.Status.History; len(h) != 1 || h[0].Reason != autorebootv1.ReasonTimedOut || h[0].Message != "the workload is ScaledToZero" {
		t.Errorf("history %+v", h)
	}
}

func TestAPodThatAFinalizerKeepsIsNamed(t *testing.T) {
	const want = "pod api-1 is being deleted, and exists until its finalizer example.com/guard is removed"
	keep := func(b *suite) {
		w := b.workload(0)
		w.Complete, w.Updated, w.Available = false, false, false
		w.Pods[0].Terminating, w.Pods[0].Finalizer = true, "example.com/guard"
	}
	t.Run("in flight", func(t *testing.T) {
		b := newSuite(t)
		b.start()
		b.after(time.Second)
		keep(b)
		b.p.Status.InFlight[0].Phase = autorebootv1.PhaseRollingOut
		if got := b.workload(0).Stopped(&b.p.Status.InFlight[0]); got != want {
			t.Errorf("it waits for %q", got)
		}
		if b.after(15 * time.Minute); b.p.Status.History[0].Message != want {
			t.Errorf("%+v", b.p.Status.History)
		}
	})
	t.Run("before a restart", func(t *testing.T) {
		b := newSuite(t)
		keep(b)
		b.change("new")
		b.decide()
		b.workload(0).Pods[1].ReadyChanged = b.o.Now.Add(time.Minute)
		if d := b.after(time.Minute); !strings.Contains(d.PendingMessage, want) {
			t.Error(d.PendingMessage)
		}
	})
}
