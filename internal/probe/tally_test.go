// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"context"
	"errors"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/fairlead-dev/fairlead/internal/egress"
)

// counted sees what was counted of the object "a" under a name.
func (s *suite) counted(when, name string, want Tally) {
	s.t.Helper()
	if got := s.Tally(key("a"), name); got != want {
		s.t.Errorf("%s: %+v, want %+v", when, got, want)
	}
}

func TestEachResultCountsUnderEachNameFromItsFirstOn(t *testing.T) {
	runSuite(t, 0.5, Options{}, func(s *suite) {
		s.Set(key("a"), every("1s", 1, 1), []Target{to(1)})
		s.advance(1500 * time.Millisecond) // two probes, at 0s and 1s, before anything is counted
		s.Count(key("a"), "x")
		s.advance(2 * time.Second)
		s.counted("two succeed", "x", Tally{Sent: 2})
		s.fail(syscall.ECONNREFUSED, ip(1))
		s.Count(key("a"), "x", "y")
		s.advance(3 * time.Second)
		s.counted("three fail", "x", Tally{Sent: 5, Failed: 3})
		s.counted("three fail", "y", Tally{Sent: 3, Failed: 3})
		s.fail(errors.Join(ErrLocal), ip(1))
		s.advance(time.Second)
		s.counted("one is local", "y", Tally{Sent: 3, Failed: 3, Inconclusive: 1})
		s.Count(key("a"), "y")
		s.counted("x has ended", "x", Tally{})
		s.Forget(key("a"))
		s.counted("all have ended", "y", Tally{})
	})
}

func TestWhatIsNotSentIsNotCounted(t *testing.T) {
	runSuite(t, 0.5, Options{RequireThreshold: true}, func(s *suite) {
		s.fail(&egress.DeniedError{}, ip(1))
		s.Set(key("a"), every("1s", 1, 1), []Target{to(1)})
		s.Count(key("a"), "x")
		s.advance(3 * time.Second)
		s.counted("denied", "x", Tally{NotProbed: "Denied"})
		s.fail(nil, ip(1))
		s.advance(time.Second)
		s.counted("allowed", "x", Tally{Sent: 1})
	})
}

// A process whose network ends blames nothing on what it asks, from the first failure on: there is no majority that fails.
func TestAFailureCountsOnceTheReferenceHasReplied(t *testing.T) {
	for name, reached := range map[string]bool{"the network is well": true, "the network is gone": false} {
		t.Run(name, func(t *testing.T) {
			var replies atomic.Bool
			replies.Store(true)
			reference := func(ctx context.Context) bool {
				select {
				case <-ctx.Done():
					return false
				case <-time.After(500 * time.Millisecond):
				}
				return replies.Load()
			}
			runSuite(t, 0.5, Options{Reference: reference}, func(s *suite) {
				s.Set(key("a"), every("1s", 1, 1), []Target{to(1)})
				s.Count(key("a"), "x")
				s.advance(1500 * time.Millisecond)
				s.counted("both succeed", "x", Tally{Sent: 2})
				replies.Store(reached)
				s.fail(syscall.ENETUNREACH, ip(1))
				s.advance(600 * time.Millisecond) // at 2s
				s.counted("one fails", "x", Tally{Sent: 2, Unsettled: 1})
				s.since(&s.notified)
				s.advance(500 * time.Millisecond)
				if !reached {
					s.counted("the reference does not reply", "x", Tally{Sent: 2, Inconclusive: 1})
					s.advance(time.Second)
					s.counted("one more fails", "x", Tally{Sent: 2, Inconclusive: 2})
					replies.Store(true)
					s.fail(nil, ip(1))
					s.advance(10 * time.Second)
					s.counted("the network is back", "x", Tally{Sent: 12, Inconclusive: 2})
					return
				}
				s.counted("the reference replies", "x", Tally{Sent: 3, Failed: 1})
				s.want("notified", &s.notified, "a", "a") // the health, and the counts
				s.advance(2 * time.Second)                // at 3s and 4s, and the reference is not checked again so soon
				s.counted("two more fail", "x", Tally{Sent: 3, Failed: 1, Unsettled: 2})
				s.fail(nil, ip(1))
				s.advance(5 * time.Second)
				s.counted("it is checked again", "x", Tally{Sent: 10, Failed: 3})
			})
		})
	}
}

// A failure during a check of the reference may be later than its reply: the next check decides.
func TestAFailureDuringACheckOfTheReferenceWaitsForTheNext(t *testing.T) {
	var checks atomic.Int32
	reference := func(context.Context) bool {
		<-time.After(1500 * time.Millisecond)
		checks.Add(1)
		return true
	}
	runSuite(t, 0.5, Options{Reference: reference}, func(s *suite) {
		s.fail(syscall.ECONNREFUSED, ip(1))
		s.Set(key("a"), every("1s", 1, 1), []Target{to(1)})
		s.Count(key("a"), "x")
		s.advance(1700 * time.Millisecond) // failures at 0s and 1s, a reply at 1.5s
		s.counted("the first is settled", "x", Tally{Sent: 1, Failed: 1, Unsettled: 1})
		s.Count(key("a"))
		if s.advance(20 * time.Second); checks.Load() != 1 {
			t.Errorf("%d checks of the reference though nothing awaits one", checks.Load())
		}
	})
}
