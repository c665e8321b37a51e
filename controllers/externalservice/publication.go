// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package externalservice

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/controllers/externalservice/endpoints"
	"github.com/fairlead-dev/fairlead/controllers/externalservice/failover"
	"github.com/fairlead-dev/fairlead/controllers/externalservice/publication"
	"github.com/fairlead-dev/fairlead/controllers/internal/controller"
)

// reconciliation is one reconcile of an object that is published: what is known, what is decided, and which writes failed.
type reconciliation struct {
	*Reconciler
	es     *networkingv1.ExternalService
	state  *objectState
	update *statusUpdate
	now    time.Time
	found  foundService
	// service is the one that the slices belong to, or nil. unread means that it could not be read, and is known by the
	// status.
	service *corev1.Service
	unread  bool
	current []*discoveryv1.EndpointSlice
	// foreign are the names of EndpointSlices of others.
	foreign []string
	// input is what is known for a decision.
	input   failover.Input
	decided failover.Decision
	// shown is what slices show of the decision, and wanted are the slices that it needs.
	shown    failover.Choice
	wanted   []publication.Slice
	writer   *sliceWriter
	refusals refusals
	// selectedDue is when to look again for what was made of a selector.
	selectedDue time.Time
}

// newReconciliation reads what there is. A Service that cannot be read is the one of the status as far as its slices say so.
func (r *Reconciler) newReconciliation(ctx context.Context, es *networkingv1.ExternalService, update *statusUpdate) (*reconciliation, error) {
	key := client.ObjectKeyFromObject(es)
	p := &reconciliation{Reconciler: r, es: es, update: update, now: r.Now()}
	var err error
	if p.found, err = r.findService(ctx, es); errors.Is(err, errForeignService) {
		return nil, err
	}
	p.refusals.add(err)
	p.unread = err != nil
	switch ref := es.Status.ServiceRef; {
	case p.found.ours:
		p.service = p.found.service
	case p.unread && ref != nil:
		p.service = &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: es.Namespace, Name: es.Name, UID: ref.UID}}
	}
	if p.current, p.foreign, err = r.slicesOf(ctx, es.Namespace, es.Name); err != nil {
		return nil, err
	}
	var isNew bool
	if p.state, isNew = r.states.get(key, es.UID, p.now); isNew { // also where another object has taken the name
		r.Resolution.Forget(key)
		r.Probes.Forget(key)
	}
	if p.found.ours {
		p.state.families = endpoints.FamiliesOf(p.service)
	}
	return p, nil
}

// decide observes the addresses and decides which to publish. due is until when nothing is decided; zero with hold means
// until something is enqueued.
func (p *reconciliation) decide(ctx context.Context) (hold bool, due time.Time) {
	p.input = p.observe(ctx, p.es, p.current, p.state)
	if p.state.cacheStale(p.current, p.now) {
		return true, p.now.Add(controller.StaleRetry)
	}
	if failover.ConcernsFault(p.es) && p.states.statusCacheStale(p.es, p.now) {
		p.refusals.add(controller.ErrStale)
		return true, time.Time{}
	}
	p.decided = p.state.failover.Decide(&p.input)
	if p.decided.IsHeld {
		return true, p.decided.RequeueAt
	}
	if err := p.confirmFault(ctx); err != nil {
		p.refusals.add(err)
		return true, time.Time{}
	}
	p.shown = p.decided.Shown
	p.wanted = publication.Pack(p.es.Name, p.current, p.shown.Wanted())
	if p.input.Observed.IsIncomplete && p.isPublished() { // until the lookup ends there is nothing to tell
		return true, p.shown.RequeueAt
	}
	return false, time.Time{}
}

// confirmFault reads a fault that takes effect from the API server, once: another process may have ended it.
func (p *reconciliation) confirmFault(ctx context.Context) error {
	requested := p.es.Annotations[networkingv1.InjectFaultAnnotation]
	if !p.decided.Fault.IsInEffect || p.state.confirmedFault == requested {
		return nil
	}
	if err := controller.ConfirmStored(ctx, p.Live, p.es, &networkingv1.ExternalService{}); err != nil {
		return err
	}
	p.state.confirmedFault = requested
	return nil
}

// isPublished reports whether the spec is published as far as it is known.
func (p *reconciliation) isPublished() bool {
	return p.es.Status.ObservedGeneration == p.es.Generation && p.service != nil && publication.AreCurrent(p.service, p.current, p.wanted)
}

// withdraw takes traffic off addresses, whatever becomes of the Service and of what is added.
func (p *reconciliation) withdraw(ctx context.Context) {
	if p.service == nil {
		return
	}
	p.writer = p.newSliceWriter(p.service, p.current, p.decided.Fitness(p.input.Observed.Endpoints), p.state)
	p.writer.withdraw(ctx, p.wanted)
}

// protect has the finalizer and the Service in place. The error is errForeignService or errReplacing.
func (p *reconciliation) protect(ctx context.Context) error {
	p.refusals.add(p.addFinalizer(ctx, p.es))
	if p.unread {
		return nil
	}
	service, err := p.ensureService(ctx, p.es, p.found)
	switch {
	case errors.Is(err, errForeignService), errors.Is(err, errReplacing):
		return err
	case err != nil:
		p.refusals.add(err)
		return nil
	}
	p.service, p.state.clusterIP = service, service.Spec.ClusterIP
	return nil
}

// postponeUntil returns until when slices and status are not written, or zero.
func (p *reconciliation) postponeUntil() time.Time {
	if p.service == nil || p.state.refused > 0 || p.refusals.any() {
		return time.Time{}
	}
	due := p.state.failover.PostponeUntil(&p.input, &p.decided)
	if !p.now.Before(due) || publication.AreCurrent(p.service, p.current, p.wanted) {
		return time.Time{}
	}
	return due
}

// extend writes the slices that are left, and stores what has become of all writes of slices. A decision that slices do
// not show was not made: the one before is in force as far as they show it.
func (p *reconciliation) extend(ctx context.Context) {
	if p.mayExtend() {
		if p.writer == nil {
			p.writer = p.newSliceWriter(p.service, p.current, p.decided.Fitness(p.input.Observed.Endpoints), p.state)
		}
		p.writer.service = p.service
		p.writer.extend(ctx, p.wanted)
	}
	if w := p.writer; w != nil {
		for _, err := range w.errs {
			p.refusals.add(err)
		}
		if w.wrote {
			p.state.failover.SliceWrites.Count(p.now)
		}
		if w.extended && len(w.errs) == 0 {
			p.state.failover.Record(&p.input, &p.decided.Actual)
			return
		}
	}
	p.shown = p.state.failover.InForce(&p.input, &p.shown, p.publishedNow())
}

// mayExtend reports whether slices may be written as the spec wants them. A Service that could not be changed, and has a
// port by a name that the spec has no more, would lose its endpoints.
func (p *reconciliation) mayExtend() bool {
	if p.service == nil || p.unread {
		return false
	}
	return !slices.ContainsFunc(p.service.Spec.Ports, func(is corev1.ServicePort) bool {
		return !slices.ContainsFunc(p.es.Spec.Ports, func(wanted networkingv1.ServicePort) bool { return wanted.Name == is.Name })
	})
}

// publishedNow returns the addresses of the slices, and whether each is ready.
func (p *reconciliation) publishedNow() map[endpoints.Key]bool {
	if p.writer != nil {
		return endpoints.PublishedIn(maps.Values(p.writer.held))
	}
	return endpoints.PublishedIn(slices.Values(p.current))
}

// report sets the status and writes it.
func (p *reconciliation) report(ctx context.Context) (reconcile.Result, error) {
	o, fault := &p.input.Observed, &p.decided.Fault
	p.metrics.record(client.ObjectKeyFromObject(p.es), o, &p.shown, p.es.Spec.HealthCheck != nil, fault.Status)
	p.update.setFault(fault, p.es.Annotations[networkingv1.InjectFaultAnnotation])
	p.update.setObserved(p.es, p.service, o, &p.shown)
	p.update.status.LastHandledFailback = p.state.failover.HandledFailback
	if !p.refusals.any() {
		p.update.setPublished(p.service, o, &p.shown, len(p.wanted), p.foreign)
	}
	requeueAt := controller.Earliest(p.shown.RequeueAt, p.decided.RequeueAt, p.selectedDue)
	due := p.state.failover.StatusWrites.Due(p.now)
	if p.now.Before(due) && !p.refusals.any() && onlyTextDiffers(&p.es.Status, &p.update.status) {
		return controller.RequeueAt(p.now, requeueAt, due), nil
	}
	return p.finish(ctx, true, requeueAt)
}

// hold ends a reconcile that has decided nothing, until requeueAt.
func (p *reconciliation) hold(ctx context.Context, requeueAt time.Time) (reconcile.Result, error) {
	isDue := p.state.failover.IsStatusDue(&p.input)
	if isDue {
		p.update.setIncomplete(p.service, &p.input.Observed)
	}
	return p.finish(ctx, isDue, requeueAt)
}

// finish writes the status if that is wanted or something was refused, and returns when to reconcile again.
func (p *reconciliation) finish(ctx context.Context, write bool, requeueAt time.Time) (reconcile.Result, error) {
	f, state := &p.refusals, p.state
	if f.isReported(state.refused) {
		p.update.setRefused(f)
		write = true
	}
	if write && !f.stale && !f.terminating {
		err := p.writeStatus(ctx, p.es, p.update)
		if f.add(err); err == nil && p.decided.Fault.IsUnstored {
			requeueAt = controller.Earliest(requeueAt, p.now.Add(controller.StaleRetry))
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
		requeueAt = controller.Earliest(requeueAt, p.now.Add(retryAfter(state.refused)))
		state.refused++
	case write && !f.stale: // nothing was held back
		state.refused, state.refusal = 0, ""
	}
	if f.stale {
		requeueAt = controller.Earliest(requeueAt, p.now.Add(controller.StaleRetry))
	}
	return controller.RequeueAt(p.now, requeueAt), nil
}
