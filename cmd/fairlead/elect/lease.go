// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

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

	"github.com/fairlead-dev/fairlead/internal/apistatus"
)

// recordingClient calls a function with the results of all requests but watches, which polling replaces: the
// Lease as it was written, nil for a read, and when the request was sent. Other candidates count from later, when
// they see the write.
type recordingClient struct {
	coordinationv1client.LeasesGetter
	now    func() time.Duration
	record func(verb string, sent time.Duration, written *coordinationv1.Lease, err error)
}

func (c recordingClient) Leases(namespace string) coordinationv1client.LeaseInterface {
	return recordingLeases{c.LeasesGetter.Leases(namespace), c}
}

type recordingLeases struct {
	coordinationv1client.LeaseInterface
	recordingClient
}

func (l recordingLeases) Get(ctx context.Context, name string, o metav1.GetOptions) (*coordinationv1.Lease, error) {
	sent := l.now()
	lease, err := l.LeaseInterface.Get(ctx, name, o)
	l.record("get", sent, nil, apistatus.IgnoreAbsent(err, coordinationv1.Resource("leases"), name)) // it may be read, and is created next
	return lease, err
}

func (l recordingLeases) Create(ctx context.Context, lease *coordinationv1.Lease, o metav1.CreateOptions) (*coordinationv1.Lease, error) {
	sent := l.now()
	written, err := l.LeaseInterface.Create(ctx, lease, o)
	l.record("create", sent, written, err)
	return written, err
}

func (l recordingLeases) Update(ctx context.Context, lease *coordinationv1.Lease, o metav1.UpdateOptions) (*coordinationv1.Lease, error) {
	sent := l.now()
	written, err := l.LeaseInterface.Update(ctx, lease, o)
	l.record("update", sent, written, err)
	return written, err
}

// refusalTimeout is how long a refusal that only a person can end is retried before the first request has
// succeeded: an installation may still be creating the namespace and the rights.
const refusalTimeout = 30 * time.Second

// refusals ends the wait for a Lease that cannot be acquired, such as one in a namespace that does not exist.
// After a first success of a verb its refusals do not: the flags are not the problem then.
type refusals struct {
	lease string // as namespace/name, for errors

	mu        sync.Mutex
	succeeded map[string]bool          // by verb
	since     map[string]time.Duration // the first refusal of other verbs
}

func newRefusals(lease string) *refusals {
	return &refusals{lease: lease, succeeded: map[string]bool{}, since: map[string]time.Duration{}}
}

// record records the result of a request, and returns why the wait has to end.
func (r *refusals) record(verb string, now time.Duration, err error) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	remedy, final := remedyFor(err)
	since, known := r.since[verb]
	switch {
	case err == nil, apierrors.IsConflict(err), apierrors.IsAlreadyExists(err): // the latter two are allowed to write
		r.succeeded[verb] = true
	case r.succeeded[verb]:
	case remedy == "":
		delete(r.since, verb)
	case final, known && now-since >= refusalTimeout:
		return fmt.Errorf("cannot %s the Lease %s: %w; %s", verb, r.lease, err, remedy)
	case !known:
		r.since[verb] = now
	}
	return nil
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
