// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package elect

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	coordinationv1client "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/utils/ptr"
)

// leaseDeadline is the time until which the command may run, on a clock that is never set and that runs while
// the machine sleeps. The elector's clock, Go's, does not run then.
type leaseDeadline struct {
	now             func() time.Duration
	renewal, grace  time.Duration // from a renewal to SIGTERM, and from there to SIGKILL
	extended        chan struct{} // receives after each renewal
	mu              sync.Mutex
	renewed, killAt time.Duration
	held            bool
	lease           *coordinationv1.Lease // as written last
}

func newLeaseDeadline(now func() time.Duration, renewal, grace time.Duration) *leaseDeadline {
	return &leaseDeadline{now: now, renewal: renewal, grace: grace, extended: make(chan struct{}, 1)}
}

// setWritten stores the Lease that this candidate has written.
func (t *leaseDeadline) setWritten(lease *coordinationv1.Lease) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.lease = lease
}

// written returns the Lease that this candidate has written last.
func (t *leaseDeadline) written() *coordinationv1.Lease {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.lease
}

// extend records a renewal that was sent at a time and has succeeded.
func (t *leaseDeadline) extend(sent time.Duration) {
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

// action is what to do with the command.
type action int

const (
	keepRunning action = iota
	terminate
	kill
)

// due returns the action that is due, and the time until the next one.
func (t *leaseDeadline) due() (action, time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.now()
	switch termAt := t.renewed + t.renewal; {
	case !t.held || now >= t.killAt:
		return kill, 0
	case now >= termAt:
		return terminate, t.killAt - now
	default:
		return keepRunning, termAt - now
	}
}

// deadline returns the time by which the command must be dead.
func (t *leaseDeadline) deadline() time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.killAt
}

// recordingClient records the writes by which a candidate acquires or renews the Lease in a leaseDeadline, and
// the results of all requests but watches, which polling replaces, in refusals. The time that counts is that
// of sending: other candidates count from when they see the write.
type recordingClient struct {
	coordinationv1client.LeasesGetter
	identity string
	deadline *leaseDeadline
	refusals *refusals
}

func (n recordingClient) Leases(namespace string) coordinationv1client.LeaseInterface {
	return recordingLeases{n.LeasesGetter.Leases(namespace), n}
}

type recordingLeases struct {
	coordinationv1client.LeaseInterface
	recordingClient
}

func (n recordingLeases) Get(ctx context.Context, name string, o metav1.GetOptions) (*coordinationv1.Lease, error) {
	lease, err := n.LeaseInterface.Get(ctx, name, o)
	if apierrors.IsNotFound(err) {
		n.refusals.record("get", nil) // it may be read, and is created next
	} else {
		n.refusals.record("get", err)
	}
	return lease, err
}

func (n recordingLeases) Create(ctx context.Context, lease *coordinationv1.Lease, o metav1.CreateOptions) (*coordinationv1.Lease, error) {
	return n.recorded("create", lease, func() (*coordinationv1.Lease, error) { return n.LeaseInterface.Create(ctx, lease, o) })
}

func (n recordingLeases) Update(ctx context.Context, lease *coordinationv1.Lease, o metav1.UpdateOptions) (*coordinationv1.Lease, error) {
	return n.recorded("update", lease, func() (*coordinationv1.Lease, error) { return n.LeaseInterface.Update(ctx, lease, o) })
}

func (n recordingLeases) recorded(verb string, lease *coordinationv1.Lease, write func() (*coordinationv1.Lease, error)) (*coordinationv1.Lease, error) {
	sent := n.deadline.now()
	written, err := write()
	n.refusals.record(verb, err)
	if err == nil && ptr.Deref(lease.Spec.HolderIdentity, "") == n.identity {
		n.deadline.setWritten(written)
		n.deadline.extend(sent)
	}
	return written, err
}

// refusalTimeout is how long a refusal that only a person can end is retried before the first request has
// succeeded: an installation may still be creating the namespace and the rights.
const refusalTimeout = 30 * time.Second

// refusals ends the wait for a Lease that cannot be acquired, such as one in a namespace that does not exist.
// After a first success nothing ends it: the flags are not the problem then.
type refusals struct {
	lease  string // as namespace/name, for errors
	now    func() time.Duration
	cancel func() // called once, when failure is set

	mu        sync.Mutex
	succeeded map[string]bool          // verbs that have succeeded
	since     map[string]time.Duration // the first refusal of other verbs
	failure   error
}

func newRefusals(lease string, now func() time.Duration) *refusals {
	return &refusals{lease: lease, now: now, cancel: func() {}, succeeded: map[string]bool{}, since: map[string]time.Duration{}}
}

// record records the result of a request.
func (r *refusals) record(verb string, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	remedy, final := remedyFor(err)
	switch {
	case r.succeeded[verb] || r.failure != nil:
		return
	case err == nil, apierrors.IsConflict(err), apierrors.IsAlreadyExists(err): // the latter two are allowed to write
		r.succeeded[verb] = true
		return
	case remedy == "":
		delete(r.since, verb)
		return
	}
	since, known := r.since[verb]
	if !known {
		since = r.now()
		r.since[verb] = since
	}
	if waited := r.now() - since; final || waited >= refusalTimeout {
		r.failure = fmt.Errorf("cannot %s the Lease %s: %w; %s", verb, r.lease, err, remedy)
		r.cancel()
	}
}

// err returns why the wait was ended; nil where it was not.
func (r *refusals) err() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.failure
}

// remedyFor returns what a person must do about an error, and whether retrying is useless. It is empty where
// the error may be temporary.
func remedyFor(err error) (remedy string, final bool) {
	switch {
	case err == nil:
		return "", false
	case apierrors.IsInvalid(err), apierrors.IsBadRequest(err):
		return "correct the flags", true
	case apierrors.HasStatusCause(err, "NamespaceTerminating"):
		return "its namespace is being deleted", false
	case apierrors.IsForbidden(err):
		return "grant the rights that docs/guides/elect.md names", false
	case apierrors.IsUnauthorized(err):
		return "the credentials of the kubeconfig are not accepted", false
	case apierrors.IsNotFound(err) && missingResource(err) == "namespaces":
		return "create its namespace, or correct --lease-lock-namespace", false
	}
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return "the kubeconfig does not trust the API server", false
	}
	return "", false
}

// missingResource returns the resource that was not found.
func missingResource(err error) string {
	var status apierrors.APIStatus
	if errors.As(err, &status) && status.Status().Details != nil {
		return status.Status().Details.Kind
	}
	return ""
}

// validNames returns an error where no Lease can have such a name or namespace.
func validNames(namespace, name string) error {
	if problems := validation.IsDNS1123Subdomain(name); len(problems) > 0 {
		return fmt.Errorf("name of the Lease %q: %s", name, strings.Join(problems, "; "))
	}
	if problems := validation.IsDNS1123Label(namespace); len(problems) > 0 {
		return fmt.Errorf("namespace of the Lease %q: %s", namespace, strings.Join(problems, "; "))
	}
	return nil
}
