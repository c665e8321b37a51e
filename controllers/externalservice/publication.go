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
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/controllers/externalservice/endpoints"
	"github.com/fairlead-dev/fairlead/controllers/internal/controller"
)

// publication is one reconcile of an object that is published: what is known, what is decided, and which writes failed.
type publication struct {
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
	foreign  []string
	observed observation
	// decided is what to publish, and shown the same under the fault. wanted are the slices that shown needs.
	decided, shown decision
	fault          faultDecision
	wanted         []desiredSlice
	writer         *sliceWriter
	refusals       refusals
	// selectedDue is when to look again for what was made of a selector.
	selectedDue time.Time
}

// newPublication reads what there is. A Service that cannot be read is the one of the status as far as its slices say so.
func (r *Reconciler) newPublication(ctx context.Context, es *networkingv1.ExternalService, update *statusUpdate) (*publication, error) {
	key := client.ObjectKeyFromObject(es)
	p := &publication{Reconciler: r, es: es, update: update, now: r.Now()}
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
func (p *publication) decide(ctx context.Context) (hold bool, due time.Time) {
	p.observed = p.observe(ctx, p.es, p.current, p.state)
	if p.observed.policyUnsynced || p.observed.incomplete && p.now.Before(p.state.holdEnd(p.now)) {
		return true, p.incompleteUntil()
	}
	if p.state.cacheStale(p.current, p.now) {
		return true, p.now.Add(controller.StaleRetry)
	}
	p.decided = decide(candidatesOf(p.observed.endpoints), p.failoverInput(p.es, &p.observed, p.state))
	if due := p.state.awaitFirstProbes(p.current, &p.observed, &p.decided, p.now); p.now.Before(due) {
		return true, due
	}
	p.state.heldSince = time.Time{}
	var err error
	if p.fault, p.shown, err = p.inject(ctx, p.es, &p.observed, &p.decided, p.state); err != nil {
		p.refusals.add(err)
		return true, time.Time{}
	}
	if !p.fault.inEffect {
		p.keepReady(p.es, p.current, &p.observed, &p.shown, p.state)
	}
	p.wanted = packSlices(p.es.Name, p.current, p.shown.wanted())
	if p.observed.incomplete && p.isPublished() { // until the lookup ends there is nothing to tell
		return true, p.shown.requeueAt
	}
	return false, time.Time{}
}

// isPublished reports whether the spec is published as far as it is known.
func (p *publication) isPublished() bool {
	return p.es.Status.ObservedGeneration == p.es.Generation && p.service != nil && sameSlices(p.service, p.current, p.wanted)
}

// incompleteUntil returns when to reconcile again while the observation is incomplete. A lookup that ends enqueues the
// object.
func (p *publication) incompleteUntil() time.Time {
	first := p.state.firstSeen.Add(firstStatusDelay)
	switch {
	case p.now.Before(first) && p.es.Status.ObservedGeneration != p.es.Generation:
		return first
	case p.observed.policyUnsynced:
		return p.now.Add(unsyncedRetry)
	}
	return p.state.holdEnd(p.now)
}

// withdraw takes traffic off addresses, whatever becomes of the Service and of what is added.
func (p *publication) withdraw(ctx context.Context) {
	if p.service == nil {
		return
	}
	p.writer = p.newSliceWriter(p.service, p.current, fitnessOf(&p.observed, &p.shown, p.fault.inEffect), p.state)
	p.writer.withdraw(ctx, p.wanted)
}

// protect has the finalizer and the Service in place. The error is errForeignService or errReplacing.
func (p *publication) protect(ctx context.Context) error {
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
func (p *publication) postponeUntil() time.Time {
	before := p.es.Status.Fault
	if p.service == nil || p.fault.inEffect || before.Lasts() || p.fault.status != before || p.state.refused > 0 || p.refusals.any() {
		return time.Time{}
	}
	due := p.state.postponeUntil(p.es, p.service, p.current, p.wanted, &p.observed, &p.shown, p.now)
	if !p.now.Before(due) {
		return time.Time{}
	}
	return controller.Earliest(due, p.shown.requeueAt, p.observed.requeueAt, p.fault.requeueAt)
}

// extend writes the slices that are left, and stores what has become of all writes of slices. A decision that slices do
// not show was not made: the one before is in force as far as they show it.
func (p *publication) extend(ctx context.Context) {
	if p.mayExtend() {
		if p.writer == nil {
			p.writer = p.newSliceWriter(p.service, p.current, fitnessOf(&p.observed, &p.shown, p.fault.inEffect), p.state)
		}
		p.writer.service = p.service
		p.writer.extend(ctx, p.wanted)
	}
	if w := p.writer; w != nil {
		for _, err := range w.errs {
			p.refusals.add(err)
		}
		if w.wrote {
			writeDamping.add(&p.state.sliceWriteRate, 1, p.now)
		}
		if w.extended && len(w.errs) == 0 {
			p.state.recordDecision(&p.decided, p.now, failbackRequest(p.es))
			return
		}
	}
	p.shown = p.shown.inForce(candidatesOf(p.observed.endpoints), p.publishedNow(), p.state.active)
}

// mayExtend reports whether slices may be written as the spec wants them. A Service that could not be changed, and has a
// port by a name that the spec has no more, would lose its endpoints.
func (p *publication) mayExtend() bool {
	if p.service == nil || p.unread {
		return false
	}
	return !slices.ContainsFunc(p.service.Spec.Ports, func(is corev1.ServicePort) bool {
		return !slices.ContainsFunc(p.es.Spec.Ports, func(wanted networkingv1.ServicePort) bool { return wanted.Name == is.Name })
	})
}

// publishedNow returns the addresses of the slices, and whether each is ready.
func (p *publication) publishedNow() map[endpoints.Key]bool {
	if p.writer != nil {
		return endpoints.PublishedIn(maps.Values(p.writer.held))
	}
	return endpoints.PublishedIn(slices.Values(p.current))
}

// inForce returns a decision as far as slices show it. Its priority is the one before (active) until an address of another
// is published.
func (d *decision) inForce(candidates []candidate, published map[endpoints.Key]bool, active *int32) decision {
	shown := *d
	isPublished := func(p publishedAddress) bool { return published[endpoints.Key{IP: p.ip, Ports: p.ports.Digest}] }
	if active != nil && !slices.ContainsFunc(d.published, isPublished) {
		shown.active = ptr.To(*active)
	}
	shown.published = nil
	for i := range candidates {
		if c := &candidates[i]; shown.active != nil && c.priority == *shown.active {
			shown.published = append(shown.published, publishedAddress{c, published[endpoints.Key{IP: c.ip, Ports: c.ports.Digest}]})
		}
	}
	return shown
}

// report sets the status and writes it.
func (p *publication) report(ctx context.Context) (reconcile.Result, error) {
	p.metrics.record(client.ObjectKeyFromObject(p.es), &p.observed, &p.shown, p.es.Spec.HealthCheck != nil, p.fault.status)
	p.update.setFault(&p.fault, p.es.Annotations[networkingv1.InjectFaultAnnotation])
	p.update.setObserved(p.es, p.service, &p.observed, &p.shown)
	p.update.status.LastHandledFailback = p.state.handledFailback
	if !p.refusals.any() {
		p.update.setPublished(p.service, &p.observed, &p.shown, len(p.wanted), p.foreign)
	}
	requeueAt := controller.Earliest(p.shown.requeueAt, p.observed.requeueAt, p.fault.requeueAt, p.selectedDue)
	due := p.state.statusWriteRate.at.Add(writeDamping.delay(&p.state.statusWriteRate, p.now))
	if p.now.Before(due) && !p.refusals.any() && onlyTextDiffers(&p.es.Status, &p.update.status) {
		return controller.RequeueAt(p.now, requeueAt, due), nil
	}
	return p.finish(ctx, true, requeueAt)
}

// hold ends a reconcile that has decided nothing, until requeueAt.
func (p *publication) hold(ctx context.Context, requeueAt time.Time) (reconcile.Result, error) {
	late := p.observed.incomplete && p.now.Sub(p.state.firstSeen) >= firstStatusDelay && p.es.Status.ObservedGeneration != p.es.Generation
	if late {
		p.update.setIncomplete(p.service, &p.observed)
	}
	return p.finish(ctx, late, requeueAt)
}

// finish writes the status if that is wanted or something was refused, and returns when to reconcile again.
func (p *publication) finish(ctx context.Context, write bool, requeueAt time.Time) (reconcile.Result, error) {
	f, state := &p.refusals, p.state
	if f.isReported(state.refused) {
		p.update.setRefused(f)
		write = true
	}
	if write && !f.stale && !f.terminating {
		err := p.writeStatus(ctx, p.es, p.update)
		if f.add(err); err == nil && p.fault.unstored {
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
