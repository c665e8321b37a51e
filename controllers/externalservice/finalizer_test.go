// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package externalservice

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
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
	if len(s.states.drains) > 0 {
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
