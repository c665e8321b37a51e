// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package shard

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"

	"github.com/fairlead-dev/fairlead/internal/panics"
)

// pageSize is how many objects of a namespace that arrives are listed in one request.
const pageSize = 500

// filter lists and watches what its source does, without the objects of other namespaces. When a namespace
// arrives or leaves, it adds events to the watch that runs, as if its objects had been created or deleted.
//
// Resource versions of one kind are compared as numbers, which the API server documents for its own kinds
// and CustomResources since Kubernetes 1.35.
type filter struct {
	source   cache.ListerWatcherWithContext
	example  runtime.Object
	known    func(ctx context.Context) (map[string]bool, error) // the shard's namespaces, once they are known
	informer cache.SharedIndexInformer

	mu      sync.Mutex
	members map[string]*member // the namespaces that pass
	live    *filteredWatch     // nil between two watches
	changed chan struct{}      // closed when live changes
	// position is the resource version up to which the source was watched. The reflector takes its own from
	// events, also from those that were added.
	position string
}

func newFilter(source cache.ListerWatcher, example runtime.Object, known func(context.Context) (map[string]bool, error)) *filter {
	return &filter{source: cache.ToListerWatcherWithContext(source), example: example, known: known, changed: make(chan struct{})}
}

// namespacesLister is a source that spends nothing on the objects of other namespaces.
type namespacesLister interface {
	ListNamespaces(ctx context.Context, o metav1.ListOptions, passes func(namespace string) bool) (runtime.Object, error)
}

// filtered is a filter in client-go's form.
type filtered struct {
	*cache.ListWatch
	source any
}

// IsWatchListSemanticsUnSupported reports whether an informer lists first, as it would with the source.
func (f filtered) IsWatchListSemanticsUnSupported() bool {
	source, ok := f.source.(interface{ IsWatchListSemanticsUnSupported() bool })
	return ok && source.IsWatchListSemanticsUnSupported()
}

func (f *filter) listWatch() cache.ListerWatcher {
	return filtered{&cache.ListWatch{ListWithContextFunc: f.list, WatchFuncWithContext: f.watch}, f.source}
}

// reset lets the namespaces pass that the shard has now.
func (f *filter) reset(ctx context.Context) error {
	known, err := f.known(ctx)
	if err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.members = make(map[string]*member, len(known))
	for namespace := range known {
		f.members[namespace] = &member{}
	}
	return nil
}

func (f *filter) list(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
	if err := f.reset(ctx); err != nil {
		return nil, err
	}
	list, err := f.listSource(ctx, o)
	if err != nil {
		return nil, err
	}
	all, err := meta.ExtractListWithAlloc(list)
	if err != nil {
		return nil, err
	}
	kept := all[:0]
	for _, object := range all {
		if accessor, err := meta.Accessor(object); err != nil || f.passesNamespace(accessor.GetNamespace()) {
			kept = append(kept, object)
		}
	}
	if err := meta.SetList(list, kept); err != nil {
		return nil, err
	}
	accessor, err := meta.ListAccessor(list)
	if err != nil {
		return nil, err
	}
	if accessor.GetContinue() == "" {
		f.setPosition(accessor.GetResourceVersion())
	}
	return list, nil
}

func (f *filter) listSource(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
	if source, ok := f.source.(namespacesLister); ok {
		return source.ListNamespaces(ctx, o, f.passesNamespace)
	}
	return f.source.ListWithContext(ctx, o)
}

func (f *filter) watch(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
	initial := o.SendInitialEvents != nil && *o.SendInitialEvents
	f.mu.Lock()
	if initial {
		f.position = "" // until the initial events have ended
	} else if f.position != "" {
		o.ResourceVersion = f.position
	}
	f.mu.Unlock()
	if initial {
		if err := f.reset(ctx); err != nil {
			return nil, err
		}
	}
	from, err := f.source.WatchWithContext(ctx, o)
	if err != nil {
		return nil, err
	}
	w := &filteredWatch{
		filter: f, source: from, initial: initial,
		result: make(chan watch.Event), injections: make(chan injection), done: make(chan struct{}), ended: make(chan struct{}),
	}
	f.setLive(w, nil)
	go func() {
		defer close(w.ended)
		defer close(w.result)
		defer from.Stop()
		defer f.setLive(nil, w)
		panics.Go("filtered watch", w.run)
	}()
	return w, nil
}

// setLive makes a watch the one that runs, or ends that it is.
func (f *filter) setLive(w, was *filteredWatch) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if was != nil && f.live != was {
		return
	}
	f.live = w
	close(f.changed)
	f.changed = make(chan struct{})
}

func (f *filter) setPosition(version string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.position = version
}

// passesNamespace reports whether the objects of a namespace pass, or those without one.
func (f *filter) passesNamespace(namespace string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return namespace == "" || f.members[namespace] != nil
}

// passes reports whether an event is about an object of a namespace that passes, and newer than the list that the
// namespace arrived with.
func (f *filter) passes(object runtime.Object) bool {
	accessor, err := meta.Accessor(object)
	if err != nil || accessor.GetNamespace() == "" {
		return true // which the reflector handles, or an object without a namespace
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	m := f.members[accessor.GetNamespace()]
	return m != nil && m.passes(accessor.GetName(), version(accessor.GetResourceVersion()))
}

// arrive adds the objects of a namespace to the informer, and returns once it has them.
func (f *filter) arrive(ctx context.Context, namespace string) error {
	for {
		w, err := f.running(ctx)
		if err != nil {
			return err
		}
		err = w.inject(ctx, watch.Added, func() []runtime.Object {
			f.members[namespace] = &member{seen: map[string]uint64{}}
			return nil
		})
		if errors.Is(err, errWatchEnded) {
			continue
		}
		if err != nil {
			return err
		}
		objects, at, err := f.listNamespace(ctx, namespace)
		if err != nil {
			return fmt.Errorf("list namespace %s: %w", namespace, err)
		}
		var added []runtime.Object
		err = w.inject(ctx, watch.Added, func() []runtime.Object {
			if m := f.members[namespace]; m != nil {
				added = m.merge(objects, at)
			}
			return added
		})
		if errors.Is(err, errWatchEnded) {
			continue
		}
		if err != nil {
			return err
		}
		return f.waitFor(ctx, added)
	}
}

// waitFor returns when the informer has the objects. One that was deleted since may be missed, and waits
// in vain: whatever came after it has been handled long before the wait ends.
func (f *filter) waitFor(ctx context.Context, objects []runtime.Object) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	missing := func(object runtime.Object) bool {
		_, exists, err := f.informer.GetIndexer().Get(object)
		return err == nil && !exists
	}
	for _, object := range objects {
		err := wait.PollUntilContextCancel(ctx, 5*time.Millisecond, true, func(context.Context) (bool, error) { return !missing(object), nil })
		if err != nil && !errors.Is(ctx.Err(), context.DeadlineExceeded) {
			return err
		}
	}
	return nil
}

// leave removes the objects of a namespace from the informer, and returns once it has none.
func (f *filter) leave(ctx context.Context, namespace string) error {
	remaining := func() ([]runtime.Object, error) {
		found, err := f.informer.GetIndexer().ByIndex(cache.NamespaceIndex, namespace)
		objects := make([]runtime.Object, 0, len(found))
		for _, one := range found {
			if object, ok := one.(runtime.Object); ok {
				objects = append(objects, object.DeepCopyObject()) // those of the informer are shared
			}
		}
		return objects, err
	}
	for {
		w, err := f.running(ctx)
		if err != nil {
			return err
		}
		objects, err := remaining()
		if err != nil {
			return err
		}
		err = w.inject(ctx, watch.Deleted, func() []runtime.Object {
			delete(f.members, namespace)
			return objects
		})
		if err != nil && !errors.Is(err, errWatchEnded) {
			return err
		}
		err = wait.PollUntilContextTimeout(ctx, 5*time.Millisecond, time.Second, true, func(context.Context) (bool, error) {
			objects, err := remaining()
			return len(objects) == 0, err
		})
		if err == nil || ctx.Err() != nil {
			return err
		} // an object was on its way into the informer
	}
}

// listNamespace returns the objects of a namespace and the resource version of the list.
func (f *filter) listNamespace(ctx context.Context, namespace string) (objects []runtime.Object, at uint64, err error) {
	o := metav1.ListOptions{FieldSelector: fields.OneTermEqualSelector("metadata.namespace", namespace).String(), Limit: pageSize}
	for {
		page, err := f.source.ListWithContext(ctx, o)
		if err != nil {
			return nil, 0, err
		}
		found, err := meta.ExtractListWithAlloc(page)
		if err != nil {
			return nil, 0, err
		}
		objects = append(objects, found...)
		accessor, err := meta.ListAccessor(page)
		if err != nil {
			return nil, 0, err
		}
		if o.Continue = accessor.GetContinue(); o.Continue == "" {
			return objects, version(accessor.GetResourceVersion()), nil
		}
	}
}

// running returns the watch that runs, and waits for one.
func (f *filter) running(ctx context.Context) (*filteredWatch, error) {
	for {
		f.mu.Lock()
		w, changed := f.live, f.changed
		f.mu.Unlock()
		if w != nil {
			return w, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, fmt.Errorf("no watch of %T runs: %w", f.example, context.Cause(ctx))
		}
	}
}
