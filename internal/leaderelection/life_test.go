// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package leaderelection

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
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

func deletePod(t *testing.T, client kubernetes.Interface, name string) {
	t.Helper()
	if err := client.CoreV1().Pods("fairlead-system").Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
}

func lifeOptions(s *server, client kubernetes.Interface, pod, identity string) Options {
	o := options(s, identity)
	o.Life = &Life{Pods: client.CoreV1(), Pod: pod, UID: types.UID("uid-" + pod)}
	return o
}

// heldForLife is a Lease of a Pod in which no process runs.
func heldForLife(pod string) *coordinationv1.Lease {
	lease := held(pod + "-0")
	*lease.Spec.LeaseDurationSeconds = lifeDurationSeconds
	lease.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: pod, UID: types.UID("uid-" + pod)}}
	return lease
}

func TestALeaderForLifeOwnsItsLockByItsPodRenewsNothingAndReleases(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, client := &server{}, pods(t, "a", "b")
		a := start(t, lifeOptions(s, client, "a", "a-1"))
		leads(t, a)
		synctest.Wait()
		if lease := heldForLife("a"); len(s.lease.OwnerReferences) != 1 || s.lease.OwnerReferences[0] != lease.OwnerReferences[0] ||
			*s.lease.Spec.LeaseDurationSeconds != lifeDurationSeconds {
			t.Fatalf("the lock is %+v", s.lease)
		}
		b := start(t, lifeOptions(s, client, "b", "b-1"))
		pass(10 * time.Minute)
		if s.writes != 1 || a.Check() != nil || b.Check() == nil || b.Status() != "a-1" {
			t.Fatalf("%d writes, a: %v, b: %v, %s", s.writes, a.Check(), b.Check(), b.Status())
		}
		s.fail(&s.before, func(context.Context, string) error { return errAway })
		pass(10 * time.Minute)
		s.fail(&s.before, nil)
		pass(time.Second)
		if a.Check() != nil || b.Check() == nil {
			t.Fatalf("after an outage a: %v, b: %v", a.Check(), b.Check())
		}
		a.stop()
		if err := finish(t, a, nil); err != nil {
			t.Fatal(err)
		}
		released := time.Now()
		leads(t, b)
		if owners := s.stored().OwnerReferences; len(owners) != 1 || owners[0].UID != "uid-b" || a.Check() == nil {
			t.Errorf("owners %+v, a %v", owners, a.Check())
		}
		if took := time.Since(released); took > 220*poll/100 {
			t.Errorf("taken after %s", took)
		}
	})
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
		for disturbed, disturb := range map[string]func(*server){
			"untouched": func(*server) {},
			"without its duration": func(s *server) {
				s.edit(func(lease *coordinationv1.Lease) { lease.Spec.LeaseDurationSeconds = nil })
			},
			"deleted": func(s *server) { s.remove() },
		} {
			t.Run(name+"/"+disturbed, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s, client := &server{lease: heldForLife("a")}, pods(t, "a", "b")
					b := start(t, lifeOptions(s, client, "b", "b-1"))
					pass(time.Second)
					disturb(s)
					all := client.CoreV1().Pods("fairlead-system")
					pod, err := all.Get(t.Context(), "a", metav1.GetOptions{})
					switch {
					case err != nil:
					case test.edit == nil:
						deletePod(t, client, "a")
					default:
						test.edit(pod)
						_, err = all.Update(t.Context(), pod, metav1.UpdateOptions{})
					}
					if err != nil {
						t.Fatal(err)
					}
					if pass(time.Minute); test.taken != (b.Check() == nil) || test.taken != (s.holder() == "b-1") {
						t.Errorf("b: %v; the holder is %q", b.Check(), s.holder())
					}
				})
			})
		}
	}
}

func TestAContainerThatIsRestartedLeadsAgainAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, client := &server{lease: heldForLife("a")}, pods(t, "a")
		began := time.Now()
		leads(t, start(t, lifeOptions(s, client, "a", "a-1")))
		if s.holder() != "a-1" || time.Since(began) > poll {
			t.Errorf("the holder is %q after %s", s.holder(), time.Since(began))
		}
	})
}

func TestALockForLifeThatAUserDeletesIsMadeAgainAndNotTaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, client := &server{}, pods(t, "a", "b")
		a := start(t, lifeOptions(s, client, "a", "a-1"))
		ctx := leads(t, a)
		b := start(t, lifeOptions(s, client, "b", "b-1"))
		pass(time.Second)
		for range 20 {
			s.remove()
			if pass(2*time.Second + 2*poll); s.holder() != "a-1" || len(s.stored().OwnerReferences) != 1 {
				t.Fatalf("the lock is %+v", s.stored())
			}
		}
		if ctx.Err() != nil || a.Check() != nil || b.Check() == nil {
			t.Errorf("a: %v, b: %v", context.Cause(ctx), b.Check())
		}
	})
}

func TestALeaderForLifeWhosePodWasDeletedByForceStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, client := &server{}, pods(t, "a")
		a := start(t, lifeOptions(s, client, "a", "a-1"))
		ctx := leads(t, a)
		deletePod(t, client, "a")
		s.remove() // as the garbage collector does
		pass(2*time.Second + 2*poll)
		if cause := context.Cause(ctx); !errors.Is(cause, ErrLost) || !errors.Is(cause, errPodGone) || a.Check() == nil {
			t.Errorf("cause %v", cause)
		}
		if err := finish(t, a, nil); !errors.Is(err, ErrLost) || s.stored() != nil {
			t.Errorf("error %v, Lease %v", err, s.stored())
		}
	})
}

func TestALockForLifeThatIsTakenEndsTheLeader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, client := &server{}, pods(t, "a")
		a := start(t, lifeOptions(s, client, "a", "a-1"))
		ctx := leads(t, a)
		s.edit(func(lease *coordinationv1.Lease) { lease.Spec.HolderIdentity = ptr.To("usurper") })
		pass(2*time.Second + 2*poll)
		if cause := context.Cause(ctx); !errors.Is(cause, ErrTaken) || a.Check() == nil || s.holder() != "usurper" {
			t.Errorf("cause %v, holder %q", cause, s.holder())
		}
	})
}

func TestBothKindsOfElectionExcludeEachOther(t *testing.T) {
	t.Run("a lock for life is never taken by one that renews", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s := &server{lease: heldForLife("a")}
			b := start(t, options(s, "b"))
			pass(time.Hour)
			s.edit(func(lease *coordinationv1.Lease) { lease.Spec.LeaseDurationSeconds = nil })
			if pass(time.Hour); b.Check() == nil || s.holder() != "a-0" || b.Status() != "a-0" {
				t.Errorf("the holder is %q", s.holder())
			}
			// The garbage collector deletes it with its Pod, or its leader makes it again.
			s.remove()
			if pass(14 * time.Second); b.Check() == nil {
				t.Error("taken at once")
			}
			leads(t, b)
		})
	})
	t.Run("a Lease that is renewed is taken for life when it has run out, and not before", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s, client := &server{lease: held("renewing")}, pods(t, "a")
			a := start(t, lifeOptions(s, client, "a", "a-1"))
			if pass(15*time.Second - time.Millisecond); a.Check() == nil {
				t.Fatal("taken before it ran out")
			}
			if pass(3 * poll); a.Check() != nil {
				t.Error(a.Check())
			}
		})
	})
}

func TestWithoutAPodOfItsOwnNoReplicaLeadsForLifeAndTheErrorSaysWhatToDo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, client := &server{}, pods(t, "a")
		if _, err := New(lifeOptions(s, client, "", "x")); err == nil || !strings.Contains(err.Error(), "POD_NAME") {
			t.Errorf("no name: %v", err)
		}
		for name, test := range map[string]struct{ pod, uid, says string }{
			"no such Pod":      {"b", "uid-b", "leaderElection.mode: lease"},
			"a Pod of another": {"a", "old", "was deleted"},
		} {
			o := lifeOptions(s, client, test.pod, "x")
			o.Life.UID = types.UID(test.uid)
			if err := ends(t, start(t, o)); err == nil || !strings.Contains(err.Error(), test.says) || !strings.Contains(err.Error(), "fairlead-system/"+test.pod) {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
}
