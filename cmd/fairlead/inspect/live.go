// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/internal/intern"
)

const (
	// firstPause and longestPause are between two attempts to read a kind. They double, and a watch that held resets them.
	firstPause, longestPause = time.Second, time.Minute
	// watchSeconds is after how long the API server ends a watch, which is then continued.
	watchSeconds int64 = 600
)

// Live holds the objects that a user can read. A watch of each kind keeps them current.
type Live struct {
	from      client.WithWatch
	namespace string
	changed   func()
	shared    *intern.Interner

	mu      sync.Mutex
	kinds   []*followed
	leaders Leaders
	labels  map[string]labels.Set // of the namespace, where one was asked for
}

// followed is a kind and its objects.
type followed struct {
	kind
	objects map[client.ObjectKey]client.Object
	// failed is why they are not read, and since is from when on; nil where they are.
	failed error
	since  time.Time
}

// Follow lists each kind once, as Read does, and watches it until the context ends. It calls changed, which must not block,
// whenever a Snapshot would have something else. The error is that the API server does not answer at first;
// the context is to be ended then as well.
func Follow(ctx context.Context, from client.WithWatch, namespace string, changed func()) (*Live, error) {
	l := &Live{from: from, namespace: namespace, changed: changed, shared: intern.New()}
	for _, k := range kinds {
		l.kinds = append(l.kinds, &followed{kind: k})
	}
	if namespace == "" {
		l.kinds = append(l.kinds, &followed{kind: namespaces})
	} else if o := namespaces.object(); from.Get(ctx, client.ObjectKey{Name: namespace}, o) == nil {
		l.labels = map[string]labels.Set{namespace: o.GetLabels()}
	}
	var first sync.WaitGroup
	for _, f := range l.kinds {
		first.Add(1)
		go l.follow(ctx, f, sync.OnceFunc(first.Done))
	}
	first.Wait()
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, f := range l.kinds {
		if f.failed == nil || isAnswer(f.failed) {
			return l, context.Cause(ctx)
		}
	}
	return nil, Unanswered(l.kinds[0].failed)
}

// follow keeps a kind current.
func (l *Live) follow(ctx context.Context, f *followed, tried func()) {
	for pause := firstPause; ctx.Err() == nil; pause = min(2*pause, longestPause) {
		objects := map[client.ObjectKey]client.Object{}
		version, err := list(ctx, l.from, f.kind, l.namespace, func(o client.Object) { objects[client.ObjectKeyFromObject(o)] = l.keep(o) })
		if err == nil {
			l.change(func() { f.objects, f.failed = objects, nil })
		} else {
			l.fail(f, err)
		}
		tried()
		if err == nil {
			began := time.Now()
			if err = l.watch(ctx, f, version); err != nil {
				l.fail(f, err)
			}
			if time.Since(began) > longestPause {
				pause = firstPause
			}
		}
		select {
		case <-ctx.Done():
		case <-time.After(wait.Jitter(pause, 0.2)):
		}
	}
}

// watch applies what happens to a kind until that cannot be followed. Without an error the kind is to be listed again.
func (l *Live) watch(ctx context.Context, f *followed, version string) error {
	namespace, seconds := l.namespace, watchSeconds
	if f.ofCluster {
		namespace = ""
	}
	for ctx.Err() == nil {
		began := time.Now()
		events, err := l.from.Watch(ctx, f.list(), &client.ListOptions{Namespace: namespace, Raw: &metav1.ListOptions{
			ResourceVersion: version, AllowWatchBookmarks: true, TimeoutSeconds: &seconds}})
		if err == nil {
			version, err = l.apply(f, events, version)
			events.Stop()
		}
		switch {
		case apierrors.IsResourceExpired(err) || apierrors.IsGone(err):
			return nil
		case err != nil:
			return err
		case time.Since(began) < firstPause:
			return errors.New("a watch ends as soon as it begins")
		}
	}
	return nil
}

// apply returns the resource version of the last event of a watch.
func (l *Live) apply(f *followed, events watch.Interface, version string) (string, error) {
	for event := range events.ResultChan() {
		if event.Type == watch.Error {
			return version, apierrors.FromObject(event.Object)
		}
		o, is := event.Object.(client.Object)
		if !is {
			return version, fmt.Errorf("the API server sent a %T", event.Object)
		}
		version = o.GetResourceVersion()
		key := client.ObjectKeyFromObject(o)
		switch event.Type {
		case watch.Deleted:
			l.change(func() { delete(f.objects, key) })
		case watch.Added, watch.Modified:
			if _, has := f.objects[key]; !has && len(f.objects) >= MaxObjects {
				return version, fmt.Errorf("there are more than %d: name a namespace with -n", MaxObjects)
			}
			kept := l.keep(o)
			l.change(func() { f.objects[key] = kept })
		}
	}
	return version, nil
}

func (l *Live) change(by func()) {
	l.mu.Lock()
	by()
	l.mu.Unlock()
	l.changed()
}

// fail records why a kind is not read. Objects that this user may not see any more are dropped.
func (l *Live) fail(f *followed, err error) {
	l.change(func() {
		if f.failed == nil {
			f.since = time.Now()
		}
		f.failed = err
		if isAnswer(err) {
			f.objects = nil
		}
	})
}

// Snapshot returns the objects as they were read last. If a kind can no longer be read, the Snapshot marks its objects as
// stale.
func (l *Live) Snapshot() *Snapshot {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := &Snapshot{namespace: l.namespace, stale: map[string]string{}, namespaces: maps.Clone(l.labels)}
	count := 0
	for _, f := range l.kinds {
		count += len(f.objects)
	}
	s.Objects = make([]client.Object, 0, count)
	for _, f := range l.kinds {
		if f.failed != nil {
			u := unreadOf(f.kind, f.failed, "list and watch", l.namespace)
			if !isAnswer(f.failed) {
				u.Message = Unanswered(f.failed).Error()
			}
			if len(f.objects) > 0 {
				u.Message += "; what is shown was read before " + at(&metav1.Time{Time: f.since})
				s.stale[f.Kind] = "not read since " + at(&metav1.Time{Time: f.since})
			}
			s.Unread = append(s.Unread, u)
		}
		if f.Kind != namespaces.Kind {
			s.Objects = slices.AppendSeq(s.Objects, maps.Values(f.objects))
			continue
		}
		s.namespaces = make(map[string]labels.Set, len(f.objects))
		for _, o := range f.objects {
			if o.GetDeletionTimestamp() == nil {
				s.namespaces[o.GetName()] = o.GetLabels()
			}
		}
	}
	s.dropMissing()
	return s
}

// keep returns what is kept of an object: it drops what is not used and may be most of it, and shares what other objects have as
// well. It is a copy, as one object of a page of a list would keep all of the page.
func (l *Live) keep(o client.Object) client.Object {
	o.SetManagedFields(nil)
	o.SetUID("")
	o.SetResourceVersion("")
	annotations := o.GetAnnotations()
	if delete(annotations, corev1.LastAppliedConfigAnnotation); len(annotations) == 0 {
		o.SetAnnotations(nil)
	}
	var kept client.Object
	if health, said, isWorkload := workloadHealth(o); isWorkload {
		kept = newWorkload(o, health, said)
	} else {
		pointer := reflect.New(reflect.TypeOf(o).Elem())
		pointer.Elem().Set(reflect.ValueOf(o).Elem())
		kept = pointer.Interface().(client.Object) //nolint:errcheck,forcetypeassert // it is of the type of o
	}
	l.shared.Share(kept)
	return kept
}
