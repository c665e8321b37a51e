// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package elect

import (
	"crypto/tls"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/validation"
)

// refusalPatience is how long a refusal that only a person can end is borne before the first request has
// succeeded: an installation may still be creating the namespace and the rights.
const refusalPatience = 30 * time.Second

// refusals ends the wait for a Lease that cannot be had, such as in a namespace that does not exist. After a
// first success nothing ends it any more: what worked once is no mistake in the flags.
type refusals struct {
	lease string // as namespace/name, for errors
	now   func() time.Duration
	end   func() // called once, when failure is set

	mu      sync.Mutex
	works   map[string]bool          // verbs that have succeeded
	since   map[string]time.Duration // when a verb that has not was first refused
	failure error
}

func newRefusals(lease string, now func() time.Duration) *refusals {
	return &refusals{lease: lease, now: now, end: func() {}, works: map[string]bool{}, since: map[string]time.Duration{}}
}

// note takes the outcome of a request.
func (r *refusals) note(verb string, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	remedy, final := remedyFor(err)
	switch {
	case r.works[verb] || r.failure != nil:
		return
	case err == nil, apierrors.IsConflict(err), apierrors.IsAlreadyExists(err): // the latter two are allowed to write
		r.works[verb] = true
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
	if waited := r.now() - since; final || waited >= refusalPatience {
		r.failure = fmt.Errorf("cannot %s the Lease %s: %w; %s", verb, r.lease, err, remedy)
		r.end()
	}
}

// reason is why the wait was ended; nil where it was not.
func (r *refusals) reason() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.failure
}

// remedyFor is what a person must do about an error, and whether waiting is in vain. Empty: time may heal it.
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
	case apierrors.IsNotFound(err) && missing(err) == "namespaces":
		return "create its namespace, or correct --lease-lock-namespace", false
	}
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return "the kubeconfig does not trust the API server", false
	}
	return "", false
}

// missing is the resource that was not found.
func missing(err error) string {
	var status apierrors.APIStatus
	if errors.As(err, &status) && status.Status().Details != nil {
		return status.Status().Details.Kind
	}
	return ""
}

// validNames fails where no Lease can have such a name or namespace.
func validNames(namespace, name string) error {
	if problems := validation.IsDNS1123Subdomain(name); len(problems) > 0 {
		return fmt.Errorf("name of the Lease %q: %s", name, strings.Join(problems, "; "))
	}
	if problems := validation.IsDNS1123Label(namespace); len(problems) > 0 {
		return fmt.Errorf("namespace of the Lease %q: %s", namespace, strings.Join(problems, "; "))
	}
	return nil
}
