// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package leaderelection

import (
	"context"
	"strconv"
	"sync"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	coordinationv1client "k8s.io/client-go/kubernetes/typed/coordination/v1"
)

var resource = schema.GroupResource{Group: "coordination.k8s.io", Resource: "leases"}

// server is an API server with one Lease. Unlike client-go's fake it refuses updates of what has
// changed since, which is what an election rests on.
type server struct {
	coordinationv1client.LeaseInterface // what is not overridden is not used, and panics

	mu       sync.Mutex
	lease    *coordinationv1.Lease
	version  int
	updates  int
	watchers map[*watcher]struct{}

	// intercept may answer a request in place of the server: of "get", "create", "update", "watch".
	intercept func(ctx context.Context, verb string) error
	// lose makes the server carry out a write and then answer an error, once.
	lose bool
	// compacted is the oldest version from which a watch may start.
	compacted int
}

func (s *server) Leases(string) coordinationv1client.LeaseInterface { return s }

func (s *server) before(ctx context.Context, verb string) error {
	s.mu.Lock()
	intercept := s.intercept
	s.mu.Unlock()
	if intercept != nil {
		return intercept(ctx, verb)
	}
	return nil
}

func (s *server) setIntercept(f func(ctx context.Context, verb string) error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.intercept = f
}

func (s *server) Get(ctx context.Context, name string, _ metav1.GetOptions) (*coordinationv1.Lease, error) {
	if err := s.before(ctx, "get"); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lease == nil {
		return nil, apierrors.NewNotFound(resource, name)
	}
	return s.lease.DeepCopy(), nil
}

func (s *server) Create(ctx context.Context, lease *coordinationv1.Lease, _ metav1.CreateOptions) (*coordinationv1.Lease, error) {
	if err := s.before(ctx, "create"); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lease != nil {
		return nil, apierrors.NewAlreadyExists(resource, lease.Name)
	}
	return s.storeLocked(lease, watch.Added)
}

func (s *server) Update(ctx context.Context, lease *coordinationv1.Lease, _ metav1.UpdateOptions) (*coordinationv1.Lease, error) {
	if err := s.before(ctx, "update"); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lease == nil {
		return nil, apierrors.NewNotFound(resource, lease.Name)
	}
	if s.lease.ResourceVersion != lease.ResourceVersion {
		return nil, apierrors.NewConflict(resource, lease.Name, nil)
	}
	s.updates++
	return s.storeLocked(lease, watch.Modified)
}

func (s *server) storeLocked(lease *coordinationv1.Lease, event watch.EventType) (*coordinationv1.Lease, error) {
	s.version++
	s.lease = lease.DeepCopy()
	s.lease.ResourceVersion = strconv.Itoa(s.version)
	for watcher := range s.watchers {
		watcher.events <- watch.Event{Type: event, Object: s.lease.DeepCopy()}
	}
	if s.lose {
		s.lose = false
		return nil, apierrors.NewInternalError(context.DeadlineExceeded)
	}
	return s.lease.DeepCopy(), nil
}

func (s *server) Watch(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
	if err := s.before(ctx, "watch"); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	w := &watcher{server: s, events: make(chan watch.Event, 1000)}
	if version, err := strconv.Atoi(o.ResourceVersion); err == nil && version < s.compacted {
		return nil, apierrors.NewResourceExpired("too old resource version")
	} else if err != nil && s.lease != nil {
		w.events <- watch.Event{Type: watch.Added, Object: s.lease.DeepCopy()}
	}
	if s.watchers == nil {
		s.watchers = map[*watcher]struct{}{}
	}
	s.watchers[w] = struct{}{}
	return w, nil
}

type watcher struct {
	server *server
	events chan watch.Event
}

func (w *watcher) ResultChan() <-chan watch.Event { return w.events }

func (w *watcher) Stop() {
	w.server.mu.Lock()
	defer w.server.mu.Unlock()
	delete(w.server.watchers, w)
}

// edit changes the Lease as another client would.
func (s *server) edit(change func(*coordinationv1.Lease)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	lease := s.lease.DeepCopy()
	change(lease)
	_, _ = s.storeLocked(lease, watch.Modified)
}

// remove deletes the Lease.
func (s *server) remove() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.version++
	for watcher := range s.watchers {
		watcher.events <- watch.Event{Type: watch.Deleted, Object: s.lease.DeepCopy()}
	}
	s.lease = nil
}

func (s *server) holder() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return holder(s.lease)
}

func (s *server) updated() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.updates
}

func (s *server) watched() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.watchers)
}

// eventually waits for a condition. The bound is for a broken build only.
func eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	err := wait.PollUntilContextTimeout(context.Background(), time.Millisecond, time.Minute, true,
		func(context.Context) (bool, error) { return condition(), nil })
	if err != nil {
		t.Fatalf("never: %s", what)
	}
}
