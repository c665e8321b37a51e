// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package externalservice

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/controllers/internal/controller"
)

func TestADeletionThatIsSeenLateDrainsAsLong(t *testing.T) {
	s := newSuite(t, plain)
	s.reconcileOnce()
	s.must(s.store.Delete(t.Context(), s.object()))
	seen := s.object().DeletionTimestamp.Add(time.Minute) // there was no leader
	s.now = seen
	if again := s.reconcileOnce().RequeueAfter; again != 5*time.Second {
		t.Errorf("drains for %s", again)
	}
	s.wantPublished("192.0.2.1 serving terminating 192.0.2.2 serving terminating")
	s.wantCondition("Ready", "False Draining")
	if n := s.object().Status.Addresses.Published; n != 0 {
		t.Errorf("%d addresses are published", n)
	}
	s.now = seen.Add(4 * time.Second) // its own writes come as events
	if again := s.reconcileUnchanged("draining").RequeueAfter; again != time.Second {
		t.Errorf("drains for another %s", again)
	}
	s.now = seen.Add(5 * time.Second)
	s.reconcileOnce()
	if s.statuses.Len() > 0 {
		t.Error("the deleted object is remembered")
	}
}

func TestDeletionDrainsFirst(t *testing.T) {
	s := newSuite(t, plain)
	s.reconcileOnce()
	s.must(s.store.Delete(t.Context(), s.object()))
	gone := s.object().DeletionTimestamp.Time
	s.now = gone
	if again := s.reconcileOnce().RequeueAfter; again != 5*time.Second {
		t.Errorf("drains for %s", again)
	}
	s.wantPublished("192.0.2.1 serving terminating 192.0.2.2 serving terminating")
	s.restart()
	s.now = gone.Add(2 * time.Second)
	if again := s.reconcileUnchanged("draining").RequeueAfter; again != 3*time.Second {
		t.Errorf("drains for another %s", again)
	}
	s.now = gone.Add(5 * time.Second)
	s.reconcileOnce()
	if err := s.store.Get(t.Context(), objectKey, &networkingv1.ExternalService{}); client.IgnoreNotFound(err) != nil || err == nil {
		t.Errorf("the object is still held: %v", err)
	}
	if err := s.store.Get(t.Context(), objectKey, &corev1.Service{}); client.IgnoreNotFound(err) != nil || err == nil {
		t.Errorf("the Service is still there: %v", err)
	}
}

// A Service that may not be deleted is reported, and the object stays.
func TestADeletionThatIsRefusedSaysSo(t *testing.T) {
	s := newSuite(t, plain)
	s.reconcileOnce()
	s.must(s.store.Delete(t.Context(), s.object()))
	s.now = s.object().DeletionTimestamp.Time
	s.refuses("delete Service")
	s.reconcileOnce()
	s.advance(5 * time.Second)
	s.events = nil
	for range 3 {
		if again := s.reconcileOnce().RequeueAfter; again != deletionRetry {
			t.Errorf("tries again after %s", again)
		}
	}
	s.wantEvents(networkingv1.ReasonWriteRefused)
	s.wantCondition("Ready", "False WriteRefused")
	s.refuse = nil
	s.reconcileOnce()
	if err := s.store.Get(t.Context(), objectKey, &networkingv1.ExternalService{}); err == nil {
		t.Error("the object is still held")
	}
}

func TestWhatOthersTakeOffTheObjectIsSeen(t *testing.T) {
	s := newSuite(t, plain)
	s.settle()
	pass := predicate.Or[*networkingv1.ExternalService](finalizerRemoved(),
		controller.StatusChangedByOthers(s.ownWrites, func(es *networkingv1.ExternalService) any { return &es.Status }))
	update := func(change func(*networkingv1.ExternalService)) bool {
		before, after := s.object(), s.object()
		change(after)
		after.ResourceVersion += "0"
		return pass.Update(event.TypedUpdateEvent[*networkingv1.ExternalService]{ObjectOld: before, ObjectNew: after})
	}
	if !update(func(es *networkingv1.ExternalService) { es.Finalizers = nil }) {
		t.Error("the finalizer is gone, and nothing is reconciled")
	}
	if !update(func(es *networkingv1.ExternalService) { es.Status = networkingv1.ExternalServiceStatus{} }) {
		t.Error("the status is gone, and nothing is reconciled")
	}
	if update(func(es *networkingv1.ExternalService) { es.Labels = map[string]string{"a": "b"} }) {
		t.Error("a label is reconciled")
	}
	before := s.object()
	before.Status = networkingv1.ExternalServiceStatus{}
	if pass.Update(event.TypedUpdateEvent[*networkingv1.ExternalService]{ObjectOld: before, ObjectNew: s.object()}) {
		t.Error("its own write is reconciled")
	}
}

// Whatever is cleared is written again, and nothing that is published changes.
func TestAStatusThatWasClearedIsWrittenAgain(t *testing.T) {
	for _, restarts := range []bool{false, true} {
		s := newSuite(t, tiered)
		s.reconcileOnce()
		s.health.setHealth("a", "192.0.2.1", down)
		s.health.setHealth("b", "198.51.100.1", up)
		s.settle()
		s.wantPublished("198.51.100.1+")
		before := s.object().Status
		es := s.object()
		es.Status, es.Finalizers = networkingv1.ExternalServiceStatus{}, nil
		s.must(s.store.Status().Update(t.Context(), es))
		s.must(s.store.Update(t.Context(), es))
		if restarts {
			s.restart()
			s.health.setHealth("a", "192.0.2.1", down)
			s.health.setHealth("b", "198.51.100.1", up)
		}
		s.settle()
		s.advance(firstProbeHold)
		s.settle()
		s.wantPublished("198.51.100.1+")
		after := s.object()
		if len(after.Finalizers) != 1 || after.Status.ClusterIP != before.ClusterIP || *after.Status.ActivePriority != 1 || after.Status.ServiceRef.UID != before.ServiceRef.UID {
			t.Errorf("restarted %t: finalizers %q, status %+v", restarts, after.Finalizers, after.Status)
		}
		s.wantCondition("FailedOver", "True PriorityUnhealthy")
	}
}

func TestDeletionDoesNotWaitWhereThereIsNothingToDrain(t *testing.T) {
	for what, prepare := range map[string]func(*suite){
		"the Service is gone": func(s *suite) { s.must(s.store.Delete(s.Context(), mustService(s))) },
		"orphaned": func(s *suite) {
			s.edit(func(es *networkingv1.ExternalService) { es.Spec.DeletionPolicy = ptr.To(networkingv1.DeletionOrphan) })
		},
		"no drain period": func(s *suite) { s.DrainPeriod = 0 },
	} {
		t.Run(what, func(t *testing.T) {
			s := newSuite(t, plain)
			s.reconcileOnce()
			prepare(s)
			s.must(s.store.Delete(t.Context(), s.object()))
			s.now = s.object().DeletionTimestamp.Time
			s.reconcileOnce()
			if err := s.store.Get(t.Context(), objectKey, &networkingv1.ExternalService{}); err == nil {
				t.Error("the object is still held")
			}
			s.wantPublished("192.0.2.1+ 192.0.2.2+")
		})
	}
}

func TestCascadeOrphanLeavesEverythingInService(t *testing.T) {
	s := newSuite(t, plain)
	s.reconcileOnce()
	s.edit(func(es *networkingv1.ExternalService) {
		es.Finalizers = append(es.Finalizers, metav1.FinalizerOrphanDependents)
	})
	s.must(s.store.Delete(t.Context(), s.object()))
	s.now = s.object().DeletionTimestamp.Time
	s.reconcileOnce()
	s.wantPublished("192.0.2.1+ 192.0.2.2+")
	if left := s.object().Finalizers; len(left) != 1 || left[0] != metav1.FinalizerOrphanDependents {
		t.Errorf("finalizers %q", left)
	}
}
