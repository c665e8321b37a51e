// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package externalservice

import (
	"errors"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/controllers/internal/controller"
	"github.com/fairlead-dev/fairlead/internal/events"
)

// Writes that failed are tried again after minRefusalRetry, and after twice as long each time, up to maxRefusalRetry: no
// event says that a quota or an admission policy no longer refuses them.
const (
	minRefusalRetry = time.Second
	maxRefusalRetry = 30 * time.Second
)

// refusals are the errors of the writes of one reconcile. Each write is tried, whatever has become of the others. Its
// zero value has none.
type refusals struct {
	errs []error
	// stale means that a write was based on what has changed meanwhile: the next reconcile, soon, knows more.
	stale bool
	// terminating means that the namespace is being deleted.
	terminating bool
}

// add adds the error of a write, which may be nil.
func (r *refusals) add(err error) {
	switch {
	case err == nil:
	case apierrors.IsConflict(err), errors.Is(err, controller.ErrStale):
		r.stale = true
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		r.terminating = true
	default:
		r.errs = append(r.errs, err)
	}
}

// any reports whether any write has failed.
func (r *refusals) any() bool { return r.stale || r.terminating || len(r.errs) > 0 }

// isReported reports whether the condition has the errors. An error that may pass by itself is in it from the second
// reconcile on that has one; earlier is the number of those before.
func (r *refusals) isReported(earlier int) bool {
	for _, err := range r.errs {
		if earlier > 0 || !isTransient(err) {
			return true
		}
	}
	return false
}

// isTransient reports whether an error is none that the API server, or what it calls at admission, gives on purpose.
func isTransient(err error) bool {
	status := apierrors.APIStatus(nil)
	return !errors.As(err, &status) || status.Status().Code >= 500 || apierrors.IsTooManyRequests(err)
}

// retryAfter returns how long to wait after so many reconciles in a row that had errors.
func retryAfter(failed int) time.Duration {
	return min(minRefusalRetry<<min(failed, 10), maxRefusalRetry)
}

// message returns the errors in the words of the API server.
func (r *refusals) message() string {
	words := make([]string, len(r.errs))
	for i, err := range r.errs {
		words[i] = err.Error()
	}
	return events.Summarize(words)
}

// setRefused sets that not everything could be written. What was published before is not the spec.
func (u *statusUpdate) setRefused(f *refusals) {
	u.status.PublishedSpec = ""
	u.removeCondition(networkingv1.ConditionStalled)
	u.setCondition(networkingv1.ConditionReady, metav1.ConditionFalse, networkingv1.ReasonWriteRefused, f.message())
}
