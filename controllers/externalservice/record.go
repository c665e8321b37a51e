// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package externalservice

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/controllers/externalservice/failover"
	"github.com/fairlead-dev/fairlead/controllers/internal/controller"
	"github.com/fairlead-dev/fairlead/controllers/internal/history"
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

// isTransient reports whether an error is none that the API server, or what it calls at admission, gives on purpose, and no
// object of another owner.
func isTransient(err error) bool {
	status := apierrors.APIStatus(nil)
	if errors.Is(err, errForeignNetworkPolicy) {
		return false
	}
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
	u.Remove(networkingv1.ConditionStalled)
	u.Set(networkingv1.ConditionReady, metav1.ConditionFalse, networkingv1.ReasonWriteRefused, f.message())
}

// report sets the status and writes it. Where nothing was decided, it does so only for an object that has none yet.
func (r *reconciliation) report(ctx context.Context) (reconcile.Result, error) {
	o, fault := &r.input.Observed, &r.decided.Fault
	requeueAt := controller.Earliest(r.decided.RequeueAt, r.selectedDue)
	if r.decided.IsHeld {
		isDue := r.state.failover.IsStatusDue(&r.input)
		if isDue {
			r.update.setIncomplete(r.service, o)
		}
		return r.finish(ctx, isDue, requeueAt)
	}
	if r.writer.failed && r.es.Status.Fault.Lasts() && !fault.Status.Lasts() { // slices still show it
		*fault = failover.FaultDecision{Status: r.es.Status.Fault}
	}
	r.metrics.record(client.ObjectKeyFromObject(r.es), o, &r.shown, r.es.Spec.HealthCheck != nil, fault.Status)
	r.update.setFault(fault, r.es.Annotations[networkingv1.InjectFaultAnnotation])
	r.update.setObserved(r.es, r.service, o, &r.shown)
	r.update.status.HandledFailbackNow = r.state.failover.HandledFailback
	r.update.cause, r.update.from = r.state.failover.Cause, r.state.failover.Reported
	if !r.refusals.any() {
		r.update.setPublished(r.es, r.service, o, &r.shown, len(r.wanted), r.foreign)
	}
	due := r.statuses.Get(r.es).writes.Due(r.now)
	if r.now.Before(due) && !r.refusals.any() && onlyTextDiffers(&r.es.Status, &r.update.status) {
		return controller.RequeueAt(r.now, requeueAt, due), nil
	}
	result, err := r.finish(ctx, true, requeueAt)
	if r.update.isStored {
		r.state.failover.Reported = r.update.status.ActivePriority
	}
	return result, err
}

// finish writes the status if that is wanted or something was refused, and returns when to reconcile again.
func (r *reconciliation) finish(ctx context.Context, write bool, requeueAt time.Time) (reconcile.Result, error) {
	f, state := &r.refusals, r.state
	if f.isReported(state.refused) {
		r.update.setRefused(f)
		write = true
	}
	if write && !f.stale && !f.terminating {
		err := r.writeStatus(ctx, r.es, r.update)
		if f.add(err); err == nil && r.decided.Fault.IsUnstored {
			requeueAt = controller.Earliest(requeueAt, r.now.Add(controller.StaleRetry))
		}
	}
	switch {
	case f.terminating:
		return reconcile.Result{}, nil
	case len(f.errs) > 0:
		if message := f.message(); state.refused == 0 || message != state.refusal {
			state.refusal = message
			log.FromContext(ctx).Error(errors.Join(f.errs...), "Not everything could be written")
		}
		requeueAt = controller.Earliest(requeueAt, r.now.Add(retryAfter(state.refused)))
		state.refused++
	case write && !f.stale: // nothing was held back
		state.refused, state.refusal = 0, ""
	}
	if f.stale {
		requeueAt = controller.Earliest(requeueAt, r.now.Add(controller.StaleRetry))
	}
	return controller.RequeueAt(r.now, requeueAt), nil
}

// writeStatus writes a status that differs in more than times, and records events of what has changed. An event tells the
// first of refusals in a row: the status cannot.
func (r *Reconciler) writeStatus(ctx context.Context, es *networkingv1.ExternalService, update *statusUpdate) error {
	state := r.statuses.Get(es)
	before, isRemoved := update.before(es)
	changed := changes(es, before, &update.status, isRemoved, update.cause, update.Now)
	update.status.History = history.Add(es.Status.History, es.Spec.HistoryLimit, changed...)
	update.complete(es)
	switch {
	case state.lastWrite.NewerThan(es, r.Now()):
		return controller.ErrStale
	case sameFacts(&es.Status, &update.status):
		state.refused, update.isStored = controller.RefusedStatus{}, true
		return nil
	}
	updated := es.DeepCopy()
	updated.Status = update.status
	err := r.Client.Status().Patch(ctx, updated, client.MergeFromWithOptions(es, client.MergeFromWithOptimisticLock{}))
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case err != nil:
		err = fmt.Errorf("write status: %w", err)
	}
	if err = state.refused.Check(ctx, err, es, r.Events, r.Now(), actionPublish); err != nil {
		return err
	}
	state.lastWrite.Record(updated, r.Now())
	state.writes.Count(r.Now())
	r.ownWrites.Record(updated)
	update.isStored = true
	r.recordEvents(es, transitions(before, &update.status, isRemoved))
	return nil
}

// sameFacts reports whether two statuses are equal except for the times of lookups and checks. These are written
// when something else changes.
func sameFacts(a, b *networkingv1.ExternalServiceStatus) bool {
	if !slices.EqualFunc(a.Endpoints, b.Endpoints, sameEndpoint) {
		return false
	}
	x, y := *a, *b
	x.Endpoints, y.Endpoints = nil, nil
	return apiequality.Semantic.DeepEqual(&x, &y)
}

func sameEndpoint(a, b networkingv1.EndpointStatus) bool {
	return a.Name == b.Name && a.DNSName == b.DNSName && a.Reason == b.Reason &&
		slices.EqualFunc(a.Addresses, b.Addresses, func(x, y networkingv1.AddressStatus) bool {
			return x.IP == y.IP && x.Port == y.Port && x.Health == y.Health && x.Reason == y.Reason &&
				x.LastTransitionTime.Equal(y.LastTransitionTime)
		})
}

// onlyTextDiffers reports whether two statuses are the same to a client that waits for a condition: they
// differ in messages, counts and single addresses only. Such changes are damped.
func onlyTextDiffers(a, b *networkingv1.ExternalServiceStatus) bool {
	if a.ObservedGeneration != b.ObservedGeneration || a.ClusterIP != b.ClusterIP || a.HandledFailbackNow != b.HandledFailbackNow ||
		!ptr.Equal(a.ActivePriority, b.ActivePriority) || !ptr.Equal(a.ServiceRef, b.ServiceRef) ||
		!apiequality.Semantic.DeepEqual(a.Fault, b.Fault) || len(a.Conditions) != len(b.Conditions) {
		return false
	}
	for i := range a.Conditions {
		is, was := &b.Conditions[i], meta.FindStatusCondition(a.Conditions, b.Conditions[i].Type)
		if was == nil || was.Status != is.Status || was.Reason != is.Reason {
			return false
		}
	}
	return true
}
