// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package leaderelection

import (
	"context"
	"errors"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

func TestWithoutPermissionToWatchAStandbyPolls(t *testing.T) {
	s, clock := &server{}, newClock()
	a := start(t, options(s, clock, "a"))
	leads(t, a)
	s.setIntercept(func(_ context.Context, verb string) error {
		if verb == "watch" {
			return apierrors.NewForbidden(resource, "fairlead-manager", errors.New("no"))
		}
		return nil
	})
	b := start(t, options(s, clock, "b"))
	eventually(t, "b has seen a", func() bool { return b.Status() == "a" })
	a.stop()
	a.finish <- nil
	if err := ends(t, a); err != nil {
		t.Fatal(err)
	}
	eventually(t, "b polls", func() bool {
		clock.Step(100 * time.Millisecond)
		return b.Check() == nil
	})
	leads(t, b)
}

// As a Lease for life is, or one without a holder.
func TestALeaseThatWasNotWrittenForLongIsWatchedAfterACompaction(t *testing.T) {
	s, clock := &server{}, newClock()
	leads(t, start(t, options(s, clock, "a")))
	s.mu.Lock()
	s.compacted = s.version + 1000 // other objects were written since
	s.mu.Unlock()
	start(t, options(s, clock, "b"))
	eventually(t, "b watches", func() bool { return s.watched() == 1 })
}

func TestAnAPIServerThatIsAwayIsRetriedAndStoppingStillWorks(t *testing.T) {
	s, clock := &server{}, newClock()
	s.setIntercept(func(context.Context, string) error { return apierrors.NewServiceUnavailable("starting") })
	r := start(t, options(s, clock, "a"))
	eventually(t, "it waits", clock.HasWaiters)
	if r.Status() != "none yet" {
		t.Errorf("status %q", r.Status())
	}
	s.setIntercept(nil)
	eventually(t, "it leads", func() bool {
		clock.Step(100 * time.Millisecond)
		return r.Check() == nil
	})

	s.setIntercept(func(context.Context, string) error { return apierrors.NewServiceUnavailable("going") })
	other := start(t, options(s, clock, "b"))
	other.stop()
	if err := ends(t, other); err != nil {
		t.Errorf("a standby that is stopped: %v", err)
	}
}
