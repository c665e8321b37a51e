// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package sources

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
)

// fakeCache holds one list of metadata, and syncs on command.
type fakeCache struct {
	held     []metav1.PartialObjectMetadata
	listed   []string // kinds
	fail     error
	absent   func(client.ObjectKey) bool // default: nothing
	synced   chan struct{}
	handlers map[string]toolscache.ResourceEventHandler
}

func (c *fakeCache) GetInformer(_ context.Context, of client.Object, _ ...cache.InformerGetOption) (cache.Informer, error) {
	return &fakeInformer{cache: c, kind: of.GetObjectKind().GroupVersionKind().Kind}, c.fail
}

func (c *fakeCache) Get(_ context.Context, key client.ObjectKey, _ client.Object, _ ...client.GetOption) error {
	if c.absent != nil && c.absent(key) {
		return apierrors.NewNotFound(corev1.Resource("secrets"), key.Name)
	}
	return nil
}

func (c *fakeCache) List(_ context.Context, into client.ObjectList, options ...client.ListOption) error {
	list := into.(*metav1.PartialObjectMetadataList)
	c.listed = append(c.listed, list.Kind)
	var o client.ListOptions
	o.ApplyOptions(options)
	for i := range c.held {
		if c.held[i].Namespace == o.Namespace && o.LabelSelector.Matches(labels.Set(c.held[i].Labels)) && int64(len(list.Items)) < o.Limit {
			list.Items = append(list.Items, c.held[i])
		}
	}
	return nil
}

type fakeInformer struct {
	cache.Informer
	cache *fakeCache
	kind  string
}

func (i *fakeInformer) AddEventHandler(h toolscache.ResourceEventHandler) (toolscache.ResourceEventHandlerRegistration, error) {
	i.cache.handlers[i.kind] = h
	return &fakeRegistration{done: i.cache.synced}, nil
}

func (i *fakeInformer) RemoveEventHandler(toolscache.ResourceEventHandlerRegistration) error {
	delete(i.cache.handlers, i.kind)
	return nil
}

type fakeRegistration struct {
	toolscache.ResourceEventHandlerRegistration
	done chan struct{}
}

func (r *fakeRegistration) HasSyncedChecker() toolscache.DoneChecker { return r }
func (r *fakeRegistration) Name() string                             { return "fake" }
func (r *fakeRegistration) Done() <-chan struct{}                    { return r.done }

// running runs Sources until the function it returns is called.
func running(t *testing.T, s *suite) (end func()) {
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	synctest.Wait()
	return func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
}

func (s *suite) wait(span time.Duration) {
	s.advance(span)
	<-time.After(span) // of the bubble
	synctest.Wait()
}

func TestPolledOwnersAreNotifiedEachInterval(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSuite(t, Poll)
		end := running(t, s)
		defer end()
		turn := map[string]float64{"alice": 0, "bob": 0.999}
		s.jitter = func() float64 { return turn["alice"] }
		s.observe(alice, want("a"))
		s.jitter = func() float64 { return turn["bob"] }
		s.observe(bob, want("a"))
		var got []string
		for second := 1; second <= 110; second++ {
			s.wait(time.Second)
			for _, by := range s.notified() {
				got = append(got, by.Name+"@"+strconv.Itoa(second))
				s.observe(by, want("a"))
			}
		}
		count := map[string]int{}
		for _, one := range got {
			name, _, _ := strings.Cut(one, "@")
			count[name]++
		}
		if count["alice"] != 4 || count["bob"] != 3 {
			t.Errorf("alice should be notified after 15s, bob after 45s, and both each 30s from then on: %v", got)
		}
		s.Forget(alice)
		s.Forget(bob)
		s.notified()
		s.wait(time.Hour)
		s.expectNotified()
	})
}

// However many sources there are, they are read at a rate that the API server bears, and none less often than every 5 minutes.
func TestMoreSourcesAreReadLessOften(t *testing.T) {
	for _, c := range []struct {
		sources  int
		interval time.Duration // of the configuration
		want     time.Duration
	}{
		{600, 30 * time.Second, 30 * time.Second}, {1200, 30 * time.Second, time.Minute}, {4000, 30 * time.Second, 200 * time.Second},
		{8000, 30 * time.Second, 5 * time.Minute}, {8000, time.Hour, time.Hour}, {600, time.Second, 30 * time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := newSuite(t, Poll)
			s.options.Interval = c.interval
			s.jitter = func() float64 { return 0.5 }
			wants := make([]Want, c.sources)
			for n := range wants {
				wants[n] = want("s" + strconv.Itoa(n))
			}
			defer running(t, s)()
			s.observe(alice, wants...)
			var at []time.Duration // of the notifications
			var reads []int
			for begin := time.Now(); len(at) < 2; {
				s.wait(time.Second)
				if len(s.notified()) > 0 {
					s.observe(alice, wants...)
					at, reads = append(at, time.Since(begin)), append(reads, s.readCount(wants[0].Ref))
				}
			}
			if got := at[1] - at[0]; got != c.want || reads[1]-reads[0] != 1 {
				t.Errorf("%d sources are read again after %s, want %s, and %d times", c.sources, got, c.want, reads[1]-reads[0])
			}
		})
	}
}

func TestPollingReadsWhatIsSharedOnce(t *testing.T) {
	s := newSuite(t, Poll)
	ref := secret("a")
	s.write(ref, "k", "1", epoch)
	first := s.observe(alice, want("a"))[0]
	s.write(ref, "k", "2", epoch)
	s.advance(s.options.Interval/2 - 1)
	if got := s.observe(bob, want("a"))[0]; got != first {
		t.Errorf("got %+v", got)
	}
	s.expectReads(ref, 1)
	s.advance(1)
	if got := s.observe(bob, want("a"))[0]; got.Fingerprint == first.Fingerprint {
		t.Errorf("got %+v", got)
	}
	s.expectReads(ref, 2)
}

func TestAnOwnerOfNothingIsNotNotified(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSuite(t, Poll)
		defer running(t, s)()
		s.observe(alice)
		s.wait(time.Hour)
		s.expectNotified()
		s.observe(alice, want("a"))
		s.wait(time.Minute)
		s.expectNotified(alice)
	})
}

func TestSourcesArePolledUntilTheWatchHasBegun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSuite(t, Poll)
		c := &fakeCache{synced: make(chan struct{}), handlers: map[string]toolscache.ResourceEventHandler{}}
		s.options.Mode, s.options.Cache = Watch, c
		end := running(t, s)
		ref := secret("a")
		s.write(ref, "k", "1", epoch)
		before := s.observe(alice, want("a"))[0]
		s.wait(s.options.Interval * 2)
		s.expectNotified(alice)

		// What changes before the watch has begun is found when it does, with or without an event.
		s.observe(alice, want("a"))
		s.write(ref, "k", "2", epoch)
		c.handlers["Secret"].OnAdd(meta(ref, s.version, nil), true)
		s.notified()
		close(c.synced)
		synctest.Wait()
		s.expectNotified(alice)
		if got := s.observe(alice, want("a"))[0]; got.Fingerprint == before.Fingerprint {
			t.Error("the change was not seen")
		}
		s.wait(s.options.Interval * 2) // one reminder may be left
		s.notified()
		s.wait(time.Hour)
		s.expectNotified()
		reads := s.readCount(ref)
		s.observe(alice, want("a"))
		s.expectReads(ref, reads)

		c.handlers["Secret"].OnUpdate(meta(ref, 1, nil), meta(ref, s.version+1, nil))
		s.expectNotified(alice)
		end()
		if len(c.handlers) != 0 {
			t.Errorf("%d handlers were left behind", len(c.handlers))
		}
	})
}

func TestAnOwnerThatCouldNotReadIsNotifiedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSuite(t, Watch)
		c := &fakeCache{synced: make(chan struct{}), handlers: map[string]toolscache.ResourceEventHandler{}, absent: s.isAbsent}
		close(c.synced)
		s.options.Cache = c
		defer running(t, s)()
		s.fail = apierrors.NewForbidden(corev1.Resource("secrets"), "a", nil)
		s.observe(alice, want("a"))
		s.observe(bob)
		s.notified()
		s.wait(s.options.Interval + time.Second)
		s.expectNotified(alice)
		s.fail = nil
		s.observe(alice, want("a"))
		s.wait(time.Hour)
		s.expectNotified()
	})
}

func TestRunFailsWhereNothingCanBeWatched(t *testing.T) {
	s := newSuite(t, Watch)
	s.options.Cache = &fakeCache{fail: errors.New("no such kind")}
	if err := s.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "no such kind") {
		t.Errorf("got %v", err)
	}
}

func names(refs []Ref) (names []string) {
	for _, ref := range refs {
		names = append(names, ref.Name)
	}
	return names
}

func TestSelectAnswersTheSourcesOfTheOwnersNamespace(t *testing.T) {
	red, _ := labels.Parse("color=red")
	for _, mode := range []Mode{Watch, Poll} {
		s := newSuite(t, mode)
		c := &fakeCache{}
		s.options.Cache = c
		add := func(ref Ref, color string) {
			set := labels.Set{"color": color}
			s.labels[ref] = set
			c.held = append(c.held, *meta(ref, 1, set))
		}
		add(secret("b"), "red")
		add(secret("a"), "red")
		add(secret("c"), "blue")
		add(Ref{Kind: autorebootv1.SourceSecret, Namespace: "elsewhere", Name: "d"}, "red")
		refs, err := s.Select(t.Context(), alice, autorebootv1.SourceSecret, red, MaxSelected)
		if err != nil || !slices.Equal(names(refs), []string{"a", "b"}) || refs[0] != secret("a") {
			t.Errorf("mode %v: got %v, %v", mode, refs, err)
		}
		if s.lists != int(mode) || len(c.listed) != 1-int(mode) {
			t.Errorf("mode %v: %d live lists, %v from the cache", mode, s.lists, c.listed)
		}
		for i := range MaxSelected - 2 {
			add(secret("more-"+strconv.Itoa(i)), "red")
		}
		if refs, err = s.Select(t.Context(), alice, autorebootv1.SourceSecret, red, MaxSelected); err != nil || len(refs) != MaxSelected {
			t.Errorf("mode %v: got %d, %v", mode, len(refs), err)
		}
		add(secret("one-more"), "red")
		if _, err = s.Select(t.Context(), alice, autorebootv1.SourceSecret, red, MaxSelected); !errors.Is(err, ErrTooMany) {
			t.Errorf("mode %v: got %v", mode, err)
		}
	}
	s := newSuite(t, Poll)
	s.fail = apierrors.NewForbidden(corev1.Resource("secrets"), "", nil)
	if _, err := s.Select(t.Context(), alice, autorebootv1.SourceSecret, red, MaxSelected); !apierrors.IsForbidden(err) {
		t.Errorf("got %v", err)
	}
}

func TestSelectorsNotifyWhenOthersMatch(t *testing.T) {
	red, _ := labels.Parse("color=red")
	redSet, blueSet := labels.Set{"color": "red"}, labels.Set{"color": "blue"}
	s := newSuite(t, Watch)
	s.options.Cache = &fakeCache{}
	pick := func(by types.NamespacedName) {
		if _, err := s.Select(t.Context(), by, autorebootv1.SourceSecret, red, MaxSelected); err != nil {
			t.Fatal(err)
		}
	}
	pick(alice)
	ref := secret("a")
	check := func(wanted ...types.NamespacedName) {
		t.Helper()
		s.events.OnAdd(meta(ref, 5, redSet), false)
		s.expectNotified(wanted...)
		s.events.OnUpdate(meta(ref, 5, redSet), meta(ref, 6, redSet))
		s.expectNotified()
		s.events.OnUpdate(meta(ref, 6, redSet), meta(ref, 7, blueSet))
		s.expectNotified(wanted...)
		s.events.OnUpdate(meta(ref, 7, blueSet), meta(ref, 8, blueSet))
		s.expectNotified()
		s.events.OnUpdate(meta(ref, 8, blueSet), meta(ref, 9, redSet))
		s.expectNotified(wanted...)
		s.events.OnDelete(meta(ref, 10, redSet))
		s.expectNotified(wanted...)
		s.events.OnAdd(meta(Ref{Kind: autorebootv1.SourceSecret, Namespace: "elsewhere", Name: "a"}, 5, redSet), false)
		s.expectNotified()
	}
	check(alice) // before its Observe
	s.observe(alice)
	check(alice)
	pick(bob)
	pick(alice)
	s.observe(alice)
	s.observe(bob)
	check(alice, bob)
	s.observe(alice) // and has not selected before
	check(bob)
	s.Forget(bob)
	check()
	if len(s.selectorOwners) != 0 {
		t.Errorf("%d namespaces are selected from without an owner", len(s.selectorOwners))
	}
}

func TestTheCacheHoldsNoContent(t *testing.T) {
	full := meta(secret("a"), 7, labels.Set{"app": "x"})
	full.UID = "u"
	full.Annotations = map[string]string{corev1.LastAppliedConfigAnnotation: `{"data":{"password":"c2VjcmV0"}}`}
	full.ManagedFields = []metav1.ManagedFieldsEntry{owns(epoch, "password")}
	full.Finalizers, full.OwnerReferences = []string{"x"}, []metav1.OwnerReference{{Name: "x"}}
	out, err := Transform(full)
	if err != nil {
		t.Fatal(err)
	}
	got := out.(*metav1.PartialObjectMetadata)
	if got.Name != "a" || got.Namespace != shop || got.UID != "u" || got.ResourceVersion != "7" || got.Labels["app"] != "x" {
		t.Errorf("got %+v", got)
	}
	if got.Annotations != nil || got.ManagedFields != nil || got.Finalizers != nil || got.OwnerReferences != nil {
		t.Errorf("got %+v", got)
	}
	late := toolscache.DeletedFinalStateUnknown{Key: "x"}
	if out, err := Transform(late); err != nil || out != late {
		t.Errorf("got %v, %v", out, err)
	}
	for object, options := range ByObject() {
		if object.GetObjectKind().GroupVersionKind().Version != "v1" || options.Transform == nil {
			t.Errorf("%v is not transformed", object)
		}
	}
}
