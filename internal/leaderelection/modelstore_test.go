// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package leaderelection

import (
	"context"
	"errors"
	"math"
	"strconv"
	"sync"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	coordinationv1client "k8s.io/client-go/kubernetes/typed/coordination/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/utils/ptr"
)

// store is the API server's storage: a Lease, with optimistic locks, and Pods.
type store struct {
	mu      sync.Mutex
	version int
	lease   *coordinationv1.Lease
	history []watch.Event // by version, from 1
	changed chan struct{}
	pods    map[string]*corev1.Pod
}

func newStore() *store {
	return &store{changed: make(chan struct{}), pods: map[string]*corev1.Pod{}}
}

func (s *store) recordLocked(event watch.EventType, lease *coordinationv1.Lease) *coordinationv1.Lease {
	s.version++
	lease = lease.DeepCopy()
	lease.ResourceVersion = strconv.Itoa(s.version)
	s.history = append(s.history, watch.Event{Type: event, Object: lease})
	s.lease = lease
	if event == watch.Deleted {
		s.lease = nil
	}
	close(s.changed)
	s.changed = make(chan struct{})
	return lease.DeepCopy()
}

func (s *store) get(name string) (*coordinationv1.Lease, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lease == nil {
		return nil, apierrors.NewNotFound(resource, name)
	}
	return s.lease.DeepCopy(), nil
}

func (s *store) create(lease *coordinationv1.Lease) (*coordinationv1.Lease, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lease != nil {
		return nil, apierrors.NewAlreadyExists(resource, lease.Name)
	}
	return s.recordLocked(watch.Added, lease), nil
}

func (s *store) update(lease *coordinationv1.Lease) (*coordinationv1.Lease, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.lease == nil:
		return nil, apierrors.NewNotFound(resource, lease.Name)
	case s.lease.ResourceVersion != lease.ResourceVersion:
		return nil, apierrors.NewConflict(resource, lease.Name, errors.New("changed since"))
	case ptr.Deref(lease.Spec.LeaseTransitions, 0) < 0 || ptr.Deref(lease.Spec.LeaseDurationSeconds, 1) <= 0:
		return nil, apierrors.NewInvalid(schema.GroupKind{Group: resource.Group, Kind: "Lease"}, lease.Name, nil)
	}
	return s.recordLocked(watch.Modified, lease), nil
}

// edit is another writer, which removes or falsifies members of the Lease as the bits say.
func (s *store) edit(bits uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lease == nil {
		return
	}
	lease := s.lease.DeepCopy()
	for _, falsify := range []func(spec *coordinationv1.LeaseSpec){
		func(spec *coordinationv1.LeaseSpec) { spec.LeaseDurationSeconds = nil },
		func(spec *coordinationv1.LeaseSpec) { spec.LeaseDurationSeconds = ptr.To(int32(1)) },
		func(spec *coordinationv1.LeaseSpec) { spec.LeaseDurationSeconds = ptr.To(int32(-1)) },
		func(spec *coordinationv1.LeaseSpec) { spec.RenewTime = nil },
		func(spec *coordinationv1.LeaseSpec) { spec.AcquireTime = nil },
		func(spec *coordinationv1.LeaseSpec) { spec.LeaseTransitions = nil },
		func(spec *coordinationv1.LeaseSpec) { spec.LeaseTransitions = ptr.To(int32(math.MaxInt32)) },
		func(spec *coordinationv1.LeaseSpec) { spec.HolderIdentity = nil },
	} {
		if bits&1 == 1 {
			falsify(&lease.Spec)
		}
		bits >>= 1
	}
	s.recordLocked(watch.Modified, lease)
}

// collect is the garbage collector: it reads, and a moment later deletes what it read, unless that has
// changed.
func (s *store) collect(pause func()) {
	s.mu.Lock()
	owner := podOwner(s.lease)
	if owner == nil || s.pods[owner.Name] != nil && s.pods[owner.Name].UID == owner.UID {
		s.mu.Unlock()
		return
	}
	seen := s.lease.ResourceVersion
	s.mu.Unlock()
	pause()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lease != nil && s.lease.ResourceVersion == seen {
		s.recordLocked(watch.Deleted, s.lease)
	}
}

func (s *store) setPod(name string, uid types.UID, change func(*corev1.Pod)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, UID: uid}, Status: corev1.PodStatus{
		Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}},
	}}
	if old := s.pods[name]; old != nil && old.UID == uid {
		pod = old.DeepCopy()
	}
	change(pod)
	s.pods[name] = pod
}

func (s *store) deletePod(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.pods, name)
}

// leaseClient and podClient are the clients of one replica.
type leaseClient struct {
	coordinationv1client.LeaseInterface // what is not overridden is not used
	m                                   *machine
}

func (c leaseClient) Leases(string) coordinationv1client.LeaseInterface { return c }

func (c leaseClient) Get(ctx context.Context, name string, _ metav1.GetOptions) (*coordinationv1.Lease, error) {
	return roundTrip(ctx, c.m, func() (*coordinationv1.Lease, error) { return c.m.simulation.store.get(name) })
}

func (c leaseClient) Create(ctx context.Context, lease *coordinationv1.Lease, _ metav1.CreateOptions) (*coordinationv1.Lease, error) {
	return roundTrip(ctx, c.m, func() (*coordinationv1.Lease, error) { return c.m.simulation.store.create(lease) })
}

func (c leaseClient) Update(ctx context.Context, lease *coordinationv1.Lease, _ metav1.UpdateOptions) (*coordinationv1.Lease, error) {
	return roundTrip(ctx, c.m, func() (*coordinationv1.Lease, error) { return c.m.simulation.store.update(lease) })
}

func (c leaseClient) Watch(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
	return roundTrip(ctx, c.m, func() (watch.Interface, error) { return c.m.watch(ctx, o.ResourceVersion), nil })
}

type podClient struct {
	corev1client.PodInterface
	m *machine
}

func (c podClient) Pods(string) corev1client.PodInterface { return c }

func (c podClient) Get(ctx context.Context, name string, _ metav1.GetOptions) (*corev1.Pod, error) {
	return roundTrip(ctx, c.m, func() (*corev1.Pod, error) {
		s := c.m.simulation.store
		s.mu.Lock()
		defer s.mu.Unlock()
		if pod := s.pods[name]; pod != nil {
			return pod.DeepCopy(), nil
		}
		return nil, apierrors.NewNotFound(schema.GroupResource{Resource: "pods"}, name)
	})
}
