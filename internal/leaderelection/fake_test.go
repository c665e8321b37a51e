// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package leaderelection

import (
	"context"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	coordinationv1client "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/utils/ptr"
)

var resource = schema.GroupResource{Group: "coordination.k8s.io", Resource: "leases"}

// server is an API server with one Lease. Unlike client-go's fake it refuses updates of what has
// changed since, which is what an election rests on.
type server struct {
	coordinationv1client.LeaseInterface // what is not overridden is not used, and panics

	mu      sync.Mutex
	lease   *coordinationv1.Lease
	version int
	writes  int
	reads   int

	// before may answer a request in place of the server: of "get", "create", "update". after may replace its answer.
	before, after func(ctx context.Context, verb string) error
}

func (s *server) Leases(string) coordinationv1client.LeaseInterface { return s }

// fault returns the error of a hook.
func (s *server) fault(ctx context.Context, verb string, hook *func(context.Context, string) error) error {
	s.mu.Lock()
	f := *hook
	s.mu.Unlock()
	if f == nil {
		return nil
	}
	return f(ctx, verb)
}

// fail has a hook answer every request; nil: none.
func (s *server) fail(hook *func(context.Context, string) error, f func(context.Context, string) error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	*hook = f
}

// serve responds to a request.
func (s *server) serve(
	ctx context.Context, verb string, answer func() (*coordinationv1.Lease, error),
) (*coordinationv1.Lease, error) {
	if err := s.fault(ctx, verb, &s.before); err != nil {
		return nil, err
	}
	s.mu.Lock()
	lease, err := answer()
	s.mu.Unlock()
	if err := s.fault(ctx, verb, &s.after); err != nil {
		return nil, err
	}
	return lease, err
}

func (s *server) Get(ctx context.Context, name string, _ metav1.GetOptions) (*coordinationv1.Lease, error) {
	return s.serve(ctx, "get", func() (*coordinationv1.Lease, error) {
		s.reads++
		if s.lease == nil {
			return nil, apierrors.NewNotFound(resource, name)
		}
		return s.lease.DeepCopy(), nil
	})
}

func (s *server) Create(ctx context.Context, lease *coordinationv1.Lease, _ metav1.CreateOptions) (*coordinationv1.Lease, error) {
	return s.serve(ctx, "create", func() (*coordinationv1.Lease, error) {
		if s.lease != nil {
			return nil, apierrors.NewAlreadyExists(resource, lease.Name)
		}
		return s.storeLocked(lease), nil
	})
}

func (s *server) Update(ctx context.Context, lease *coordinationv1.Lease, _ metav1.UpdateOptions) (*coordinationv1.Lease, error) {
	return s.serve(ctx, "update", func() (*coordinationv1.Lease, error) {
		switch {
		case s.lease == nil:
			return nil, apierrors.NewNotFound(resource, lease.Name)
		case s.lease.ResourceVersion != lease.ResourceVersion:
			return nil, apierrors.NewConflict(resource, lease.Name, nil)
		case ptr.Deref(lease.Spec.LeaseTransitions, 0) < 0 || ptr.Deref(lease.Spec.LeaseDurationSeconds, 1) <= 0:
			return nil, apierrors.NewInvalid(schema.GroupKind{Group: resource.Group, Kind: "Lease"}, lease.Name, nil)
		}
		return s.storeLocked(lease), nil
	})
}

func (s *server) storeLocked(lease *coordinationv1.Lease) *coordinationv1.Lease {
	s.version++
	s.writes++
	s.lease = lease.DeepCopy()
	s.lease.ResourceVersion = strconv.Itoa(s.version)
	return s.lease.DeepCopy()
}

// edit changes the Lease as another client would.
func (s *server) edit(change func(*coordinationv1.Lease)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lease != nil {
		lease := s.lease.DeepCopy()
		change(lease)
		s.storeLocked(lease)
	}
}

// remove deletes the Lease.
func (s *server) remove() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lease = nil
}

func (s *server) stored() *coordinationv1.Lease {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lease.DeepCopy()
}

func (s *server) holder() string {
	lease := s.stored()
	if lease == nil {
		return ""
	}
	return ptr.Deref(lease.Spec.HolderIdentity, "")
}

// held is a Lease of one that runs no more, written now.
func held(by string) *coordinationv1.Lease {
	now := metav1.NowMicro()
	return &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Namespace: "fairlead-system", Name: "fairlead-manager"},
		Spec: coordinationv1.LeaseSpec{
			HolderIdentity: &by, LeaseDurationSeconds: ptr.To(int32(15)), AcquireTime: &now, RenewTime: &now, LeaseTransitions: ptr.To(int32(0)),
		},
	}
}

// replica is one elector that runs. Its work ends on a signal, and finish says how.
type replica struct {
	*Elector
	stop    context.CancelFunc
	working chan context.Context
	finish  chan error
	done    chan error
}

// poll is how often candidates read in tests; the pause is up to 2.2 times as long.
const poll = 200 * time.Millisecond

func options(s *server, identity string) Options {
	began := time.Now()
	return Options{
		Leases: s, Namespace: "fairlead-system", Name: "fairlead-manager", Identity: identity,
		LeaseDuration: 15 * time.Second, RenewDeadline: 10 * time.Second, RetryPeriod: 2 * time.Second, PollPeriod: poll,
		Elapsed: func() time.Duration { return time.Since(began) + time.Hour },
	}
}

// start starts a replica in the test's bubble, and ends it with the test.
func start(t *testing.T, o Options) *replica {
	t.Helper()
	e, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	r := &replica{Elector: e, stop: stop, working: make(chan context.Context, 1), finish: make(chan error), done: make(chan error, 1)}
	go func() {
		r.done <- e.Run(ctx, func(ctx context.Context) error {
			r.working <- ctx
			<-ctx.Done()
			return <-r.finish
		})
		close(r.done)
	}()
	t.Cleanup(func() {
		stop()
		close(r.finish)
		for range r.done { // until it has ended
		}
	})
	return r
}

func leads(t *testing.T, r *replica) context.Context {
	t.Helper()
	select {
	case ctx := <-r.working:
		return ctx
	case <-time.After(2 * time.Minute):
		t.Fatalf("%s does not lead: %s", r.options.Identity, r.Status())
		return nil
	}
}

func ends(t *testing.T, r *replica) error {
	t.Helper()
	select {
	case err := <-r.done:
		return err
	case <-time.After(time.Minute):
		t.Fatalf("%s does not end", r.options.Identity)
		return nil
	}
}

// finish ends the work, which has been told to, and with it the replica.
func finish(t *testing.T, r *replica, err error) error {
	t.Helper()
	select {
	case r.finish <- err:
	case <-time.After(2 * time.Minute):
		t.Fatalf("the work of %s is not told to end", r.options.Identity)
	}
	return ends(t, r)
}

// pass lets time pass.
func pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}
