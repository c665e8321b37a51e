// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package shard

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
)

// server is a kind as an API server has it: a list, and a watch from a resource version on.
type server struct {
	mu      sync.Mutex
	version int
	objects map[string]*corev1.ConfigMap
	history []watch.Event
	from    []string // the resource versions that watches began at
	onList  func()   // is called after a namespace was listed
	watches []*watch.FakeWatcher
}

func (s *server) write(key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.version++
	namespace, name, _ := strings.Cut(key, "/")
	object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, ResourceVersion: strconv.Itoa(s.version)}}
	kind := watch.Modified
	if s.objects[key] == nil {
		kind = watch.Added
	}
	s.objects[key] = object
	s.tell(watch.Event{Type: kind, Object: object})
}

func (s *server) remove(key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.version++
	object := s.objects[key].DeepCopy()
	object.ResourceVersion = strconv.Itoa(s.version)
	delete(s.objects, key)
	s.tell(watch.Event{Type: watch.Deleted, Object: object})
}

func (s *server) tell(e watch.Event) {
	s.history = append(s.history, e)
	for _, w := range s.watches {
		if !w.IsStopped() {
			w.Action(e.Type, e.Object.DeepCopyObject())
		}
	}
}

// end ends all watches.
func (s *server) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, w := range s.watches {
		w.Stop()
	}
}

func (s *server) listWatch() cache.ListerWatcher {
	return noWatchList{&cache.ListWatch{
		ListWithContextFunc: func(_ context.Context, o metav1.ListOptions) (runtime.Object, error) {
			s.mu.Lock()
			list := &corev1.ConfigMapList{ListMeta: metav1.ListMeta{ResourceVersion: strconv.Itoa(s.version)}}
			namespace := strings.TrimPrefix(o.FieldSelector, "metadata.namespace=")
			for _, object := range s.objects {
				if namespace == "" || object.Namespace == namespace {
					list.Items = append(list.Items, *object)
				}
			}
			onList := s.onList
			s.mu.Unlock()
			if onList != nil && namespace != "" {
				onList()
			}
			return list, nil
		},
		WatchFuncWithContext: func(_ context.Context, o metav1.ListOptions) (watch.Interface, error) {
			s.mu.Lock()
			defer s.mu.Unlock()
			w := watch.NewFakeWithChanSize(1000, false)
			s.from = append(s.from, o.ResourceVersion)
			for _, e := range s.history {
				if version(e.Object.(*corev1.ConfigMap).ResourceVersion) > version(o.ResourceVersion) {
					w.Action(e.Type, e.Object.DeepCopyObject())
				}
			}
			s.watches = append(s.watches, w)
			return w, nil
		},
	}}
}

// noWatchList makes the reflector list and watch, which the fake server is simpler for.
type noWatchList struct{ *cache.ListWatch }

func (noWatchList) IsWatchListSemanticsUnSupported() bool { return true }

// informer runs an informer of a shard that has the namespaces.
func (s *server) informer(t *testing.T, namespaces ...string) *filter {
	t.Helper()
	known := map[string]bool{}
	for _, n := range namespaces {
		known[n] = true
	}
	f := newFilter(s.listWatch(), &corev1.ConfigMap{}, func(context.Context) (map[string]bool, error) { return known, nil })
	f.informer = cache.NewSharedIndexInformer(f.listWatch(), &corev1.ConfigMap{}, 0, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); f.informer.RunWithContext(ctx) }()
	t.Cleanup(func() { cancel(); <-ended })
	cache.WaitForCacheSync(ctx.Done(), f.informer.HasSynced)
	return f
}

// skipping is a source that leaves out the objects of other namespaces itself.
type skipping struct {
	noWatchList
	skipped int
}

func (s *skipping) ListNamespaces(ctx context.Context, o metav1.ListOptions, passes func(namespace string) bool) (runtime.Object, error) {
	list, err := s.ListWithContext(ctx, o)
	if err != nil {
		return nil, err
	}
	all := list.(*corev1.ConfigMapList)
	all.Items = slices.DeleteFunc(all.Items, func(c corev1.ConfigMap) bool {
		if passes(c.Namespace) {
			return false
		}
		s.skipped++
		return true
	})
	return all, nil
}

func TestAListThatCanSkipOtherNamespacesDoes(t *testing.T) {
	s := &server{objects: map[string]*corev1.ConfigMap{}}
	for _, key := range []string{"a/one", "b/one", "c/one"} {
		s.write(key)
	}
	source := &skipping{noWatchList: s.listWatch().(noWatchList)}
	f := newFilter(source, &corev1.ConfigMap{}, func(context.Context) (map[string]bool, error) { return map[string]bool{"b": true}, nil })
	list, err := f.list(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if all := list.(*corev1.ConfigMapList).Items; len(all) != 1 || all[0].Namespace != "b" || source.skipped != 2 {
		t.Errorf("%d skipped, and the list has %v", source.skipped, all)
	}
}

// has compares what an informer holds, as namespace/name@version.
func has(t *testing.T, f *filter, want ...string) {
	t.Helper()
	synctest.Wait()
	var got []string
	for _, object := range f.informer.GetStore().List() {
		c := object.(*corev1.ConfigMap)
		got = append(got, c.Namespace+"/"+c.Name+"@"+c.ResourceVersion)
	}
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("the informer has %v, not %v", got, want)
	}
}

func TestAnInformerHoldsTheNamespacesOfItsShardAsTheyComeAndGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{objects: map[string]*corev1.ConfigMap{}}
		for _, key := range []string{"a/one", "b/one", "c/one"} { // 1 to 3
			s.write(key)
		}
		f := s.informer(t, "a")
		has(t, f, "a/one@1")
		s.write("b/two") // 4
		s.write("a/two") // 5
		has(t, f, "a/one@1", "a/two@5")

		if err := f.arrive(t.Context(), "b"); err != nil {
			t.Fatal(err)
		}
		has(t, f, "a/one@1", "a/two@5", "b/one@2", "b/two@4")
		s.write("b/one") // 6
		s.remove("b/two")
		s.write("c/one") // 8
		has(t, f, "a/one@1", "a/two@5", "b/one@6")

		if err := f.leave(t.Context(), "a"); err != nil {
			t.Fatal(err)
		}
		s.write("a/three") // 9
		has(t, f, "b/one@6")
	})
}

func TestWhatHappensWhileANamespaceIsListedIsNeitherLostNorUndone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{objects: map[string]*corev1.ConfigMap{}}
		s.write("a/one") // 1
		s.write("b/one") // 2
		s.write("b/two") // 3
		f := s.informer(t, "a")
		s.onList = func() { // after the list: an update, a deletion, and one of another namespace
			s.onList = nil
			s.write("b/one") // 4
			s.remove("b/two")
			s.write("a/one") // 6
			s.write("b/new") // 7
		}
		if err := f.arrive(t.Context(), "b"); err != nil {
			t.Fatal(err)
		}
		has(t, f, "a/one@6", "b/new@7", "b/one@4")
		s.write("b/one") // 8
		has(t, f, "a/one@6", "b/new@7", "b/one@8")
	})
}

func TestAWatchThatEndsInAnArrivalGoesOnWhereItWas(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{objects: map[string]*corev1.ConfigMap{}}
		s.write("a/one") // 1
		f := s.informer(t, "a")
		for range 20 {
			s.write("b/busy") // 2 to 21, of which the watch tells
		}
		synctest.Wait()
		s.onList = func() { s.onList = nil; s.end() }
		if err := f.arrive(t.Context(), "b"); err != nil {
			t.Fatal(err)
		}
		s.write("a/two") // 22
		s.write("b/busy")
		err := wait.PollUntilContextTimeout(t.Context(), time.Second, 10*time.Second, true, func(context.Context) (bool, error) {
			_, exists, err := f.informer.GetIndexer().GetByKey("a/two")
			return exists, err
		})
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		has(t, f, "a/one@1", "a/two@22", "b/busy@23")
		if from := s.from[len(s.from)-1]; from != "21" && from != "22" && from != "23" {
			t.Errorf("the watch went on from %s", from)
		}
	})
}
