// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package externalservice

import (
	"testing"
	"time"
)

func TestADeletionThatIsSeenLateDrainsAsLong(t *testing.T) {
	s := newStand(t, plain)
	s.reconciles()
	s.must(s.store.Delete(t.Context(), s.object()))
	seen := s.object().DeletionTimestamp.Add(time.Minute) // there was no leader
	s.now = seen
	if again := s.reconciles().RequeueAfter; again != 5*time.Second {
		t.Errorf("drains for %s", again)
	}
	s.publishes("192.0.2.1 serving terminating 192.0.2.2 serving terminating")
	s.says("Ready", "False Draining")
	if n := s.object().Status.Addresses.Published; n != 0 {
		t.Errorf("%d addresses are published", n)
	}
	s.now = seen.Add(4 * time.Second) // its own writes come as events
	if again := s.quiet("draining").RequeueAfter; again != time.Second {
		t.Errorf("drains for another %s", again)
	}
	s.now = seen.Add(5 * time.Second)
	s.reconciles()
	if len(s.memories.drains) > 0 {
		t.Error("the deleted object is remembered")
	}
}
