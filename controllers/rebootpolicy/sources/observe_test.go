// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package sources

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/internal/panics"
)

func (s *suite) expectReads(ref Ref, wanted int) {
	s.t.Helper()
	if got := s.readCount(ref); got != wanted {
		s.t.Errorf("%s was read %d times, not %d", ref.Name, got, wanted)
	}
}

func (s *suite) expectNotified(owners ...types.NamespacedName) {
	s.t.Helper()
	if got := s.notified(); !slices.Equal(got, owners) {
		s.t.Errorf("notified %v, not %v", got, owners)
	}
}

func TestStatesComeInTheOrderOfWants(t *testing.T) {
	s := newSuite(t, Watch)
	s.write(secret("b"), "k", "1", epoch)
	s.write(secret("a"), "k", "1", epoch)
	states := s.observe(alice, want("b"), want("gone"), want("a"), want("b", "k"), want("b"))
	if !states[1].Missing || states[1].Fingerprint != "" || states[0].Missing {
		t.Errorf("got %+v", states)
	}
	if states[0] != states[4] {
		t.Error("the same want has two states")
	}
	if states[0].Fingerprint == states[2].Fingerprint {
		t.Error("two Secrets with the same content have the same fingerprint: who may make one can test guesses of another")
	}
	s.expectReads(secret("b"), 1)
}

func TestASourceIsReadAgainOnlyAfterAnEvent(t *testing.T) {
	s := newSuite(t, Watch)
	ref := secret("a")
	s.write(ref, "k", "1", epoch)
	first := s.observe(alice, want("a"))[0]
	s.advance(24 * time.Hour)
	if again := s.observe(alice, want("a"))[0]; again != first {
		t.Errorf("got %+v, then %+v", first, again)
	}
	s.expectReads(ref, 1)

	s.write(ref, "k", "2", epoch.Add(time.Hour))
	s.updated(ref)
	s.expectNotified(alice)
	second := s.observe(alice, want("a"))[0]
	if second.Fingerprint == first.Fingerprint {
		t.Error("the change was not seen")
	}
	s.expectReads(ref, 2)

	s.put(ref, time.Time{}, func(map[string][]byte) {}) // a label, say
	s.updated(ref)
	if third := s.observe(alice, want("a"))[0]; third != second {
		t.Errorf("got %+v, then %+v", second, third)
	}
	s.expectReads(ref, 3)
}

func TestAReadThatIsAheadOfTheWatchIsNotRepeated(t *testing.T) {
	s := newSuite(t, Watch)
	ref := secret("a")
	s.write(ref, "k", "1", epoch)
	s.events.OnAdd(meta(ref, s.version, nil), true)
	s.write(ref, "k", "2", epoch)
	s.observe(alice, want("a"))
	s.updated(ref)
	s.observe(alice, want("a"))
	s.expectReads(ref, 1)
	s.events.OnUpdate(meta(ref, s.version, nil), meta(ref, s.version, nil)) // a resync
	s.notified()
	s.observe(alice, want("a"))
	s.expectReads(ref, 1)
}

func TestVersionsThatCannotBeOrderedAreReadAgain(t *testing.T) {
	s := newSuite(t, Watch)
	ref := secret("a")
	s.write(ref, "k", "1", epoch)
	s.observe(alice, want("a"))
	odd := meta(ref, 1, nil)
	odd.ResourceVersion = "x9"
	s.events.OnUpdate(meta(ref, 1, nil), odd)
	s.observe(alice, want("a"))
	s.expectReads(ref, 2)
}

func TestWhatOneOwnerReadsIsNewToTheOther(t *testing.T) {
	s := newSuite(t, Watch)
	ref := secret("a")
	s.write(ref, "k", "1", epoch)
	s.write(ref, "other", "1", epoch)
	s.observe(alice, want("a"))
	keyed := s.observe(bob, want("a", "k"))[0]
	s.expectReads(ref, 2) // bob's view is a new one

	s.write(ref, "k", "2", epoch)
	s.observe(types.NamespacedName{Namespace: shop, Name: "carol"}, want("a", "other"))
	s.expectReads(ref, 3)
	// The event is about what carol's read has seen already; bob must hear of it all the same.
	s.updated(ref)
	if !slices.Contains(s.notified(), bob) {
		t.Error("bob was not notified")
	}
	if got := s.observe(bob, want("a", "k"))[0]; got.Fingerprint == keyed.Fingerprint {
		t.Error("bob still sees what there was")
	}
	s.expectReads(ref, 3)
}

func TestOnlyThoseWhoObserveAreNotified(t *testing.T) {
	s := newSuite(t, Watch)
	s.observe(alice, want("a"), want("b"))
	s.observe(bob, want("b"))
	for _, c := range []struct {
		event Ref
		wants []types.NamespacedName
	}{
		{secret("a"), []types.NamespacedName{alice}},
		{secret("b"), []types.NamespacedName{alice, bob}},
		{secret("c"), nil},
		{Ref{Kind: autorebootv1.SourceSecret, Namespace: "elsewhere", Name: "a"}, nil},
	} {
		s.events.OnAdd(meta(c.event, s.version, nil), false)
		s.expectNotified(c.wants...)
	}
	other := &handler{s.Sources, autorebootv1.SourceConfigMap}
	other.OnAdd(meta(secret("a"), s.version, nil), false)
	s.expectNotified()

	s.observe(alice, want("b"))
	s.updated(secret("a"))
	s.expectNotified()
	s.Forget(bob)
	s.updated(secret("b"))
	s.expectNotified(alice)
	s.Forget(alice)
	s.Forget(alice)
	s.updated(secret("b"))
	s.expectNotified()
	if len(s.Sources.objects)+len(s.owners) != 0 {
		t.Errorf("%d sources and %d owners are remembered without an observer", len(s.Sources.objects), len(s.owners))
	}
}

func TestASourceThatGoesAndComesIsFollowed(t *testing.T) {
	s := newSuite(t, Watch)
	ref := secret("a")
	s.write(ref, "k", "1", epoch)
	was := s.observe(alice, want("a"))[0]
	if !was.Watched {
		t.Errorf("got %+v, which the watch shows", was)
	}
	s.remove(ref)
	s.events.OnDelete(meta(ref, s.version, nil))
	s.expectNotified(alice)
	if got := s.observe(alice, want("a"))[0]; !got.Missing || got.Watched {
		t.Errorf("got %+v", got)
	}
	// A read that saw it gone is ahead of events about how it went.
	s.events.OnDelete(meta(ref, s.version, nil))
	s.observe(alice, want("a"))
	s.expectReads(ref, 2)

	s.write(ref, "k", "1", epoch)
	s.events.OnAdd(meta(ref, s.version, nil), false)
	if got := s.observe(alice, want("a"))[0]; got.Missing || got.Fingerprint != was.Fingerprint {
		t.Errorf("got %+v, want the fingerprint of %+v", got, was)
	}
}

func TestADeletionThatTheWatchMissedIsFound(t *testing.T) {
	s := newSuite(t, Watch)
	ref := secret("a")
	s.write(ref, "k", "1", epoch)
	s.observe(alice, want("a"))
	last := meta(ref, s.version, nil)
	s.remove(ref)
	s.events.OnDelete(toolscache.DeletedFinalStateUnknown{Key: "shop/a", Obj: last})
	s.expectNotified(alice)
	if got := s.observe(alice, want("a"))[0]; !got.Missing {
		t.Errorf("got %+v", got)
	}
}

func TestAnEventDuringAReadIsNotLost(t *testing.T) {
	for name, c := range map[string]struct {
		event func(s *suite, ref Ref)
		reads int
	}{
		"newer than what was read": {func(s *suite, ref Ref) { s.write(ref, "k", "2", epoch); s.updated(ref) }, 2},
		"what was read":            {func(s *suite, ref Ref) { s.updated(ref) }, 1},
		"newer, then older": {func(s *suite, ref Ref) {
			s.write(ref, "k", "2", epoch)
			s.updated(ref)
			s.events.OnUpdate(meta(ref, 1, nil), meta(ref, 2, nil))
		}, 2},
		"older, then newer": {func(s *suite, ref Ref) {
			s.events.OnUpdate(meta(ref, 1, nil), meta(ref, 2, nil))
			s.write(ref, "k", "2", epoch)
			s.updated(ref)
		}, 2},
		"unknown, then older": {func(s *suite, ref Ref) {
			s.events.OnDelete(toolscache.DeletedFinalStateUnknown{Obj: meta(ref, 1, nil)})
			s.updated(ref)
		}, 2},
		"older, then unknown": {func(s *suite, ref Ref) {
			s.updated(ref)
			s.events.OnDelete(toolscache.DeletedFinalStateUnknown{Obj: meta(ref, 1, nil)})
		}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSuite(t, Watch)
			ref := secret("a")
			s.write(ref, "k", "1", epoch)
			s.during = func(ref Ref) { s.during = nil; c.event(s, ref) }
			s.observe(alice, want("a"))
			s.observe(alice, want("a"))
			s.expectReads(ref, c.reads)
		})
	}
}

func TestASourceThatMayNotBeReadIsAskedForOnceInAWhile(t *testing.T) {
	s := newSuite(t, Watch)
	ref := secret("a")
	s.write(ref, "k", "1", epoch)
	before := s.observe(alice, want("a"))[0]
	s.fail = apierrors.NewForbidden(corev1.Resource("secrets"), "a", nil)
	s.updated(ref)
	s.write(ref, "k", "1", epoch)
	s.updated(ref)
	for range 3 {
		got := s.observe(alice, want("a"))[0]
		if got.Unknown != autorebootv1.ReasonForbidden || !apierrors.IsForbidden(got.Err) || got.Fingerprint != "" || got.Missing {
			t.Errorf("got %+v", got)
		}
	}
	s.expectReads(ref, 2)
	s.fail = nil
	s.advance(s.options.Interval)
	if got := s.observe(alice, want("a"))[0]; got != before {
		t.Errorf("got %+v, want %+v", got, before)
	}
}

func TestAReadThatFailedIsRepeated(t *testing.T) {
	s := newSuite(t, Watch)
	ref := secret("a")
	s.write(ref, "k", "1", epoch)
	before := s.observe(alice, want("a"))[0]
	s.fail = errors.New("timeout")
	s.write(ref, "k", "2", epoch.Add(time.Second))
	s.updated(ref)
	if got := s.observe(alice, want("a"))[0]; got.Unknown != autorebootv1.ReasonUnreadable || got.Err == nil || got.Fingerprint != "" {
		t.Errorf("got %+v", got)
	}
	s.fail = nil
	if got := s.observe(alice, want("a"))[0]; got.Fingerprint == before.Fingerprint || got.Unknown != "" || got.Err != nil {
		t.Errorf("got %+v", got)
	}
	s.expectReads(ref, 3)
}

func TestAReadThatIsCutOffSaysNothing(t *testing.T) {
	s := newSuite(t, Watch)
	s.write(secret("a"), "k", "1", epoch)
	ctx, cancel := context.WithCancel(t.Context())
	s.during = func(Ref) { cancel() }
	if _, err := s.Observe(ctx, alice, []Want{want("a")}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	s.during = nil
	if got := s.observe(alice, want("a"))[0]; got.Unknown != "" || got.Fingerprint == "" {
		t.Errorf("got %+v", got)
	}
	s.expectReads(secret("a"), 2)
}

func TestAPanicWhileASourceIsReadHoldsNoOther(t *testing.T) {
	s := newSuite(t, Watch)
	ref := secret("creds")
	s.write(ref, "password", "first", epoch)
	s.during = func(Ref) { panic("broken") } //nolint:forbidigo // what is tested
	for range 2 {
		if got := s.observe(alice, want("creds"))[0]; got.Unknown != autorebootv1.ReasonUnreadable || got.Err == nil || !strings.Contains(got.Err.Error(), "broken") || !errors.As(got.Err, new(*panics.Error)) {
			t.Fatalf("%+v", got)
		}
	}
	s.during = nil
	if got := s.observe(bob, want("creds"))[0]; got.Unknown != "" || got.Fingerprint == "" {
		t.Errorf("after the panic: %+v", got)
	}
}

func TestOneReadServesAllWhoWaitForIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSuite(t, Watch)
		s.write(secret("a"), "k", "1", epoch)
		answer := make(chan struct{})
		s.during = func(Ref) { <-answer }
		states := make(chan State, 3)
		for _, by := range []string{"a", "b", "c"} {
			go func() { states <- s.observe(types.NamespacedName{Namespace: shop, Name: by}, want("a"))[0] }()
		}
		impatient, cancel := context.WithCancel(t.Context())
		gave := make(chan error, 1)
		synctest.Wait()
		go func() {
			_, err := s.Observe(impatient, alice, []Want{want("a")})
			gave <- err
		}()
		synctest.Wait()
		cancel()
		if err := <-gave; !errors.Is(err, context.Canceled) {
			t.Errorf("who waits for another's read did not end: %v", err)
		}
		close(answer)
		first := <-states
		if second, third := <-states, <-states; first != second || second != third || first.Fingerprint == "" {
			t.Errorf("got %+v, %+v and %+v", first, second, third)
		}
		s.expectReads(secret("a"), 1)
	})
}

func TestThereIsABoundToWhatIsObserved(t *testing.T) {
	s := newSuite(t, Watch)
	s.options.MaxSources = 2
	states := s.observe(alice, want("a"), want("b"), want("c"), want("a", "k"))
	if states[2].Unknown != autorebootv1.ReasonTooManySources || states[0].Unknown != "" || states[3].Unknown != "" {
		t.Errorf("got %+v", states)
	}
	s.expectReads(secret("c"), 0)
	if got := s.observe(alice, want("c"), want("b")); got[0].Unknown != "" {
		t.Errorf("what the owner let go of still counts: %+v", got)
	}
}

// A source that is made and deleted while the watch is cut off has no event at all.
func TestASourceThatTheWatchNeverShowedIsPolled(t *testing.T) {
	s := newSuite(t, Watch)
	ref := secret("a")
	s.write(ref, "k", "1", epoch)
	s.options.Cache = &fakeCache{absent: func(client.ObjectKey) bool { return true }}
	if got := s.observe(alice, want("a"))[0]; got.Watched {
		t.Errorf("got %+v, which the watch does not show", got)
	}
	s.remove(ref)
	s.advance(s.options.Interval)
	if got := s.observe(alice, want("a"))[0]; !got.Missing {
		t.Errorf("got %+v", got)
	}
	s.write(ref, "k", "2", epoch)
	s.events.OnAdd(meta(ref, s.version, nil), false)
	for range 3 {
		s.observe(alice, want("a"))
	}
	s.expectReads(ref, 3)
	s.updated(ref) // the watch shows it
	for range 3 {
		s.advance(s.options.Interval)
		s.observe(alice, want("a"))
	}
	s.expectReads(ref, 3)
}

// A proxy that has lost the API server replies with 404 to everything.
func TestASourceThatAReadDoesNotFindAndTheWatchShowsIsUnknown(t *testing.T) {
	s := newSuite(t, Watch)
	ref := secret("a")
	s.write(ref, "k", "1", epoch)
	first := s.observe(alice, want("a"))[0]
	s.fail = apierrors.NewNotFound(corev1.Resource("secrets"), "a")
	s.write(ref, "k", "2", epoch.Add(time.Minute))
	s.events.OnUpdate(meta(ref, 101, nil), meta(ref, 102, nil))
	if got := s.observe(alice, want("a"))[0]; got.Missing || got.Unknown != autorebootv1.ReasonUnreadable {
		t.Errorf("got %+v of a source that exists", got)
	}
	s.fail = nil
	if got := s.observe(alice, want("a"))[0]; got.Missing || got.Unknown != "" || got.Fingerprint == first.Fingerprint {
		t.Errorf("got %+v, want the change", got)
	}
	// What is deleted indeed is gone once the watch says so.
	s.remove(ref)
	s.events.OnDelete(meta(ref, 103, nil))
	if got := s.observe(alice, want("a"))[0]; !got.Missing {
		t.Errorf("got %+v of a source that is gone", got)
	}
}
