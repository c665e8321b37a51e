// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package elect

import (
	"context"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coordinationv1client "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/utils/ptr"
)

// tenure is until when the command may run. Its times are those of a clock that starts anywhere,
// is never set, and runs while the machine sleeps; the elector's own, Go's, stands still then.
type tenure struct {
	now             func() time.Duration
	renewal, grace  time.Duration // how long after a renewal SIGTERM is due, and SIGKILL after that
	extended        chan struct{} // gets a word after renewals
	mu              sync.Mutex
	renewed, killAt time.Duration
	held            bool
	lease           *coordinationv1.Lease // as it was written last
}

func newTenure(now func() time.Duration, renewal, grace time.Duration) *tenure {
	return &tenure{now: now, renewal: renewal, grace: grace, extended: make(chan struct{}, 1)}
}

// wrote notes the Lease as a write of this candidate has left it.
func (t *tenure) wrote(lease *coordinationv1.Lease) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.lease = lease
}

// written is the Lease as this candidate wrote it last.
func (t *tenure) written() *coordinationv1.Lease {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.lease
}

// extend notes a renewal that was sent at a time and has succeeded.
func (t *tenure) extend(sent time.Duration) {
	t.mu.Lock()
	if !t.held || sent > t.renewed {
		t.held, t.renewed, t.killAt = true, sent, sent+t.renewal+t.grace
	}
	t.mu.Unlock()
	select {
	case t.extended <- struct{}{}:
	default:
	}
}

// order is what has to happen to the command.
type order int

const (
	goOn order = iota
	terminate
	kill
)

// due returns what the time demands, and how long nothing more will.
func (t *tenure) due() (order, time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.now()
	switch termAt := t.renewed + t.renewal; {
	case !t.held || now >= t.killAt:
		return kill, 0
	case now >= termAt:
		return terminate, t.killAt - now
	default:
		return goOn, termAt - now
	}
}

// deadline is when the command must be dead.
func (t *tenure) deadline() time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.killAt
}

// noting is a client that tells a tenure of the writes by which a candidate took or renewed the
// Lease, and refusals of every request but watches, which polling replaces. The time that counts is that of
// sending: others count from when they see the write.
type noting struct {
	coordinationv1client.LeasesGetter
	identity string
	tenure   *tenure
	refusals *refusals
}

func (n noting) Leases(namespace string) coordinationv1client.LeaseInterface {
	return notingLeases{n.LeasesGetter.Leases(namespace), n}
}

type notingLeases struct {
	coordinationv1client.LeaseInterface
	noting
}

func (n notingLeases) Get(ctx context.Context, name string, o metav1.GetOptions) (*coordinationv1.Lease, error) {
	lease, err := n.LeaseInterface.Get(ctx, name, o)
	if apierrors.IsNotFound(err) {
		n.refusals.note("get", nil) // it may be read, and is to be created
	} else {
		n.refusals.note("get", err)
	}
	return lease, err
}

func (n notingLeases) Create(ctx context.Context, lease *coordinationv1.Lease, o metav1.CreateOptions) (*coordinationv1.Lease, error) {
	return n.noted("create", lease, func() (*coordinationv1.Lease, error) { return n.LeaseInterface.Create(ctx, lease, o) })
}

func (n notingLeases) Update(ctx context.Context, lease *coordinationv1.Lease, o metav1.UpdateOptions) (*coordinationv1.Lease, error) {
	return n.noted("update", lease, func() (*coordinationv1.Lease, error) { return n.LeaseInterface.Update(ctx, lease, o) })
}

func (n notingLeases) noted(verb string, lease *coordinationv1.Lease, write func() (*coordinationv1.Lease, error)) (*coordinationv1.Lease, error) {
	sent := n.tenure.now()
	written, err := write()
	n.refusals.note(verb, err)
	if err == nil && ptr.Deref(lease.Spec.HolderIdentity, "") == n.identity {
		n.tenure.wrote(written)
		n.tenure.extend(sent)
	}
	return written, err
}
