// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package externalservice

import (
	"testing"
	"time"
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
