// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package leaderelection

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
)

// pods is a cluster's Pods; the Lease is the server's.
func pods(t *testing.T, names ...string) kubernetes.Interface {
	t.Helper()
	client := fake.NewClientset()
	for _, name := range names {
		pod := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: "fairlead-system", Name: name, UID: types.UID("uid-" + name)},
			Spec:       corev1.PodSpec{NodeName: "node-" + name},
			Status: corev1.PodStatus{
				Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}},
			},
		}
		if _, err := client.CoreV1().Pods(pod.Namespace).Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	return client
}

func lifeOptions(s *server, clock *clocktesting.FakeClock, client kubernetes.Interface, pod, identity string) Options {
	o := options(s, clock, identity)
	o.Life = &Life{Pods: client.CoreV1(), Pod: pod, UID: types.UID("uid-" + pod)}
	return o
}

func TestALeaderForLifeOwnsItsLockByItsPodRenewsNothingAndReleases(t *testing.T) {
	s, clock, client := &server{}, newClock(), pods(t, "a", "b")
	a := start(t, lifeOptions(s, clock, client, "a", "a-1"))
	leads(t, a)
	owner := podOwner(s.lease)
	if owner == nil || owner.UID != "uid-a" || ptr.Deref(s.lease.Spec.LeaseDurationSeconds, 0) != lifeDurationSeconds || ptr.Deref(owner.BlockOwnerDeletion, false) {
		t.Fatalf("the lock is owned by %+v: %+v", owner, s.lease.Spec)
	}
	b := start(t, lifeOptions(s, clock, client, "b", "b-1"))
	eventually(t, "b follows", func() bool { return b.Status() == "a-1" && s.watched() == 1 })
	before := s.updated()
	for range 100 {
		clock.Step(time.Hour)
	}
	if s.updated() != before || a.Check() != nil || b.Check() == nil {
		t.Fatalf("after 100 hours: %d updates, a: %v, b leads %v", s.updated()-before, a.Check(), b.Check() == nil)
	}
	a.stop()
	a.finish <- nil
	if err := ends(t, a); err != nil {
		t.Fatal(err)
	}
	leads(t, b)
	if owner := podOwner(s.lease); owner == nil || owner.UID != "uid-b" || len(s.lease.OwnerReferences) != 1 {
		t.Errorf("owners %+v", s.lease.OwnerReferences)
	}
	if a.Check() == nil {
		t.Error("a may still act")
	}
}

func TestALockForLifeIsTakenOnlyWhereItsPodIsGoneOrHasEnded(t *testing.T) {
	for name, test := range map[string]struct {
		edit  func(*corev1.Pod) // nil: it is deleted
		taken bool
	}{
		"it runs":         {func(*corev1.Pod) {}, false},
		"it is not ready": {func(pod *corev1.Pod) { pod.Status.Conditions[0].Status = corev1.ConditionFalse }, false},
		"its node is away": {func(pod *corev1.Pod) {
			pod.Status.Phase = corev1.PodUnknown
			pod.DeletionTimestamp, pod.Finalizers = &metav1.Time{Time: time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC)}, []string{"test/keep"}
		}, false},
		"it was evicted":       {func(pod *corev1.Pod) { pod.Status.Phase, pod.Status.Reason = corev1.PodFailed, "Evicted" }, true},
		"it succeeded":         {func(pod *corev1.Pod) { pod.Status.Phase = corev1.PodSucceeded }, true},
		"it is gone":           {nil, true},
		"another has its name": {func(pod *corev1.Pod) { pod.UID = "other" }, true},
	} {
		t.Run(name, func(t *testing.T) {
			s, clock, client := &server{}, newClock(), pods(t, "a", "b")
			holds(t, s, clock, client, "a")
			all := client.CoreV1().Pods("fairlead-system")
			pod, err := all.Get(t.Context(), "a", metav1.GetOptions{})
			switch {
			case err != nil:
			case test.edit == nil:
				err = all.Delete(t.Context(), "a", metav1.DeleteOptions{})
			default:
				test.edit(pod)
				_, err = all.Update(t.Context(), pod, metav1.UpdateOptions{})
			}
			if err != nil {
				t.Fatal(err)
			}
			b := start(t, lifeOptions(s, clock, client, "b", "b-1"))
			if test.taken {
				leads(t, b)
				return
			}
			eventually(t, "b waits", func() bool { return b.Status() == "a-0" && s.watched() == 1 })
			for range 3 {
				clock.Step(time.Hour)
				eventually(t, "b waits again", clock.HasWaiters)
			}
			if b.Check() == nil || s.holder() != "a-0" {
				t.Errorf("taken: the holder is %q", s.holder())
			}
		})
	}
}

// holds gives the lock to a Pod of which no process runs any more.
func holds(t *testing.T, s *server, clock *clocktesting.FakeClock, client kubernetes.Interface, pod string) {
	t.Helper()
	e, err := New(lifeOptions(s, clock, client, pod, pod+"-0"))
	if err != nil {
		t.Fatal(err)
	}
	self, err := e.ownPodReference(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.acquire(t.Context(), nil, lifeDurationSeconds, *self); err != nil {
		t.Fatal(err)
	}
}

func TestAContainerThatIsRestartedLeadsAgainAtOnce(t *testing.T) {
	s, clock, client := &server{}, newClock(), pods(t, "a")
	holds(t, s, clock, client, "a")
	leads(t, start(t, lifeOptions(s, clock, client, "a", "a-1"))) // the clock never moved
	if s.holder() != "a-1" {
		t.Errorf("the holder is %q", s.holder())
	}
}

func TestALockForLifeThatAUserDeletesIsMadeAgainAndNotTaken(t *testing.T) {
	s, clock, client := &server{}, newClock(), pods(t, "a", "b")
	a := start(t, lifeOptions(s, clock, client, "a", "a-1"))
	ctx := leads(t, a)
	b := start(t, lifeOptions(s, clock, client, "b", "b-1"))
	eventually(t, "b follows", func() bool { return b.Status() == "a-1" && s.watched() == 1 })
	for range 20 {
		s.remove()
		eventually(t, "the lock is made again", func() bool { clock.Step(time.Second); return s.holder() != "" })
		if s.holder() != "a-1" {
			t.Fatalf("taken by %q", s.holder())
		}
	}
	if ctx.Err() != nil || b.Check() == nil || podOwner(s.lease) == nil {
		t.Errorf("a: %v, b leads %v", context.Cause(ctx), b.Check() == nil)
	}
}

func TestALeaderForLifeWhosePodWasDeletedByForceStops(t *testing.T) {
	s, clock, client := &server{}, newClock(), pods(t, "a")
	a := start(t, lifeOptions(s, clock, client, "a", "a-1"))
	ctx := leads(t, a)
	if err := client.CoreV1().Pods("fairlead-system").Delete(t.Context(), "a", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	s.remove() // as the garbage collector does
	eventually(t, "it stops", func() bool { clock.Step(time.Second); return ctx.Err() != nil })
	if cause := context.Cause(ctx); !errors.Is(cause, ErrLost) || !errors.Is(cause, errPodGone) || a.Check() == nil {
		t.Errorf("cause %v", cause)
	}
	a.finish <- nil
	if err := ends(t, a); !errors.Is(err, ErrLost) || errors.Is(err, ErrStillRunning) {
		t.Errorf("error %v", err)
	}
}

// Without an owner nothing says whose Pod the lock went with.
func TestALockForLifeThatLostItsOwnerIsNotMadeAgain(t *testing.T) {
	s, clock, client := &server{}, newClock(), pods(t, "a")
	holds(t, s, clock, client, "a")
	e, err := New(lifeOptions(s, clock, client, "a", "a-0"))
	if err != nil {
		t.Fatal(err)
	}
	held := term{lease: s.lease.DeepCopy(), acquired: *s.lease.Spec.AcquireTime}
	s.edit(func(lease *coordinationv1.Lease) { lease.OwnerReferences = nil })
	if held, err = e.confirm(t.Context(), held); err != nil || podOwner(held.lease) != nil {
		t.Fatalf("owner %v, error %v", podOwner(held.lease), err)
	}
	s.remove()
	if _, err := e.confirm(t.Context(), held); !errors.Is(err, errPodGone) {
		t.Errorf("error %v", err)
	}
}

func TestBothKindsOfElectionExcludeEachOther(t *testing.T) {
	t.Run("a lock for life is never taken by one that renews", func(t *testing.T) {
		s, clock, client := &server{}, newClock(), pods(t, "a")
		holds(t, s, clock, client, "a")
		b := start(t, options(s, clock, "b"))
		eventually(t, "b follows", func() bool { return b.Status() == "a-0" && s.watched() == 1 })
		for range 10 {
			clock.Step(1000 * time.Hour)
		}
		if b.Check() == nil || s.holder() != "a-0" {
			t.Errorf("the holder is %q", s.holder())
		}
	})
	t.Run("a Lease that is renewed is taken for life when it has run out, and not before", func(t *testing.T) {
		s, clock, client := &server{}, newClock(), pods(t, "a")
		other, err := New(options(s, clock, "renewing"))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := other.acquire(t.Context(), nil, 15); err != nil {
			t.Fatal(err)
		}
		a := start(t, lifeOptions(s, clock, client, "a", "a-1"))
		eventually(t, "a follows", func() bool { return a.Status() == "renewing" && s.watched() == 1 })
		clock.Step(14 * time.Second)
		eventually(t, "a waits", clock.HasWaiters)
		if a.Check() == nil {
			t.Fatal("taken before it ran out")
		}
		eventually(t, "a leads", func() bool { clock.Step(time.Second); return a.Check() == nil })
	})
}

func TestWithoutAPodOfItsOwnNoReplicaLeadsForLifeAndTheErrorSaysWhatToDo(t *testing.T) {
	s, clock, client := &server{}, newClock(), pods(t, "a")
	if _, err := New(lifeOptions(s, clock, client, "", "x")); err == nil || !strings.Contains(err.Error(), "POD_NAME") {
		t.Errorf("no name: %v", err)
	}
	for name, test := range map[string]struct{ pod, uid, says string }{
		"no such Pod":      {"b", "uid-b", "leaderElection.mode: lease"},
		"a Pod of another": {"a", "old", "was deleted"},
	} {
		o := lifeOptions(s, clock, client, test.pod, "x")
		o.Life.UID = types.UID(test.uid)
		if err := ends(t, start(t, o)); err == nil || !strings.Contains(err.Error(), test.says) || !strings.Contains(err.Error(), "fairlead-system/"+test.pod) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
