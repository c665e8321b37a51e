// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package elect

import (
	"crypto/tls"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// refusalTimeout is how long a refusal that only a person can end is retried before the first request has
// succeeded: an installation may still be creating the namespace and the rights.
const refusalTimeout = 30 * time.Second

// refusals are the verbs of requests for the Lease that are refused, since when. One that succeeded once is refused from
// forever on: the flags are not the problem then.
type refusals map[string]time.Duration

// record records the result of a request, and returns why the wait for the Lease has to end: it cannot be acquired, as in a
// namespace that does not exist.
func (r refusals) record(verb string, now time.Duration, err error) error {
	remedy, final := remedyFor(err)
	since, known := r[verb]
	switch {
	case err == nil, apierrors.IsConflict(err), apierrors.IsAlreadyExists(err): // the latter two are allowed to write
		r[verb] = forever
	case since == forever:
	case remedy == "":
		delete(r, verb)
	case final, known && now-since >= refusalTimeout:
		return fmt.Errorf("cannot %s the Lease: %w; %s", verb, err, remedy)
	case !known:
		r[verb] = now
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
