// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package chaospod

import (
	"context"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/recorder"

	chaosv1 "github.com/fairlead-dev/fairlead/api/chaos/v1"
	"github.com/fairlead-dev/fairlead/api/common"
	"github.com/fairlead-dev/fairlead/controllers/chaospod/chaos"
	"github.com/fairlead-dev/fairlead/controllers/internal/controller"
	"github.com/fairlead-dev/fairlead/internal/approval"
	"github.com/fairlead-dev/fairlead/internal/disruption"
	"github.com/fairlead-dev/fairlead/internal/freeze"
	"github.com/fairlead-dev/fairlead/internal/probe"
	rules "github.com/fairlead-dev/fairlead/internal/rules/chaospod"
)

// Ledger has the disruptions of all objects.
type Ledger interface {
	Do(h disruption.Holder, group string, f func(disruption.View) []disruption.Claim)
	Restore(h disruption.Holder, group string, claims []disruption.Claim)
	Forget(h disruption.Holder)
}

// Reconciler runs what ChaosPods describe.
type Reconciler struct {
	// Client reads from the cache and writes to the API server.
	Client client.Client
	// Live reads from the API server.
	Live client.Reader
	// As returns a client that acts as a ServiceAccount, or as the operator where the name is empty.
	As func(ctx context.Context, namespace, serviceAccount string) (client.Client, error)
	// Events are written about ChaosPods, victims and their owners.
	Events recorder.EventRecorder
	// Now is the clock.
	Now func() time.Time
	// Ledger has what else is disrupted.
	Ledger Ledger
	// Suspicions report whether the network of this process is probably at fault; nil for never.
	Suspicions *probe.Suspicions
	// Freeze has the blackouts of the whole cluster; nil for none.
	Freeze *freeze.Freeze
	// Denied are namespaces in which no pod is ever killed, and for which no admission webhook is called.
	Denied []string
	// WithoutNodes reads no nodes: none counts as cordoned.
	WithoutNodes bool

	enqueuer   *controller.CoalescingEnqueuer
	watchIndex *controller.WatchIndex[*watchSet]
	states     *controller.States[objectState]
	ownWrites  *controller.OwnWrites
	deaths     *deaths
	metrics    *metrics
}

func newReconciler(r Reconciler) *Reconciler {
	r.enqueuer, r.watchIndex = controller.NewCoalescingEnqueuer(r.Now), &controller.WatchIndex[*watchSet]{}
	r.states, r.metrics, r.ownWrites = &controller.States[objectState]{}, newMetrics(), &controller.OwnWrites{}
	r.deaths = &deaths{}
	enqueueAll := func() { r.watchIndex.EnqueueAll(r.enqueuer) }
	r.Freeze.Subscribe(enqueueAll)
	r.Suspicions.Subscribe(enqueueAll)
	return &r
}

// Reconcile decides about one ChaosPod, and does what may be done now.
func (r *Reconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	object := &chaosv1.ChaosPod{}
	if err := r.Client.Get(ctx, req.NamespacedName, object); err != nil {
		if apierrors.IsNotFound(err) {
			r.forget(req.NamespacedName)
		}
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if !object.DeletionTimestamp.IsZero() {
		r.forget(req.NamespacedName)
		return reconcile.Result{}, nil
	}
	requeue, err := r.reconcile(ctx, object)
	if client.IgnoreNotFound(err) != nil {
		return controller.ResultOf(fmt.Errorf("chaospod %s: %w", req.NamespacedName, err))
	}
	return controller.RequeueAt(r.Now(), requeue), nil
}

// reconcile runs the steps, and returns when to run them again.
func (r *Reconciler) reconcile(ctx context.Context, stored *chaosv1.ChaosPod) (time.Time, error) {
	o := r.begin(r.deaths.restore(stored))
	if o.state.lastWrite.NewerThan(stored, o.now) {
		return time.Time{}, controller.ErrStale
	}
	if err := r.restoreStatus(ctx, o); err != nil {
		return time.Time{}, err
	}
	decision, err := r.decide(ctx, o)
	if err != nil {
		return time.Time{}, err
	}
	results, err := r.act(ctx, o, decision)
	if err != nil && len(results) == 0 {
		return time.Time{}, err
	}
	requeue := decision.RequeueAt
	if len(results) > 0 {
		recorded := chaos.Record(o.stored, results, r.Now())
		if err := r.writeStatus(ctx, o, &recorded); err != nil {
			return time.Time{}, err
		}
		requeue = controller.Earliest(requeue, recorded.RequeueAt)
	}
	r.deaths.record(o.stored)
	r.releaseClaims(o, &decision)
	r.metrics.record(o.key, &o.stored.Status)
	return controller.Earliest(o.requeue, requeue), err
}

// observation is what one reconcile has read and found of a ChaosPod.
type observation struct {
	key types.NamespacedName
	now time.Time
	// stored is the ChaosPod as it was read or written last, and spec the same with defaults.
	stored, spec *chaosv1.ChaosPod
	state        *objectState
	// blockedBy is why nothing may be done; zero for a ChaosPod that is valid, approved and not refused.
	blockedBy chaos.Obstacle
	// refused is why an action was refused that may be tried again by now.
	refused chaos.Obstacle
	// blackoutsUnknown means that the blackouts of the cluster are not known: nothing is killed.
	blackoutsUnknown bool
	// confirmed means that stored is what the API server has: it was just written, or read from there.
	confirmed bool
	// requeue is when to reconcile again, besides that of the decision.
	requeue time.Time
}

func (o *observation) requeueAt(at time.Time) { o.requeue = controller.Earliest(o.requeue, at) }

// objectState is what this process remembers of one ChaosPod. It can be lost at any time without a kill too many.
type objectState struct {
	generation int64
	schedule   *chaos.Schedule
	// refused is an action that is forbidden, for the reason refusedReason. It is tried again at once when the spec
	// changes or one of the values in requested.
	refused       controller.Refusal
	refusedReason string
	requested     []string
	lastWrite     controller.LastWrite
	// seen is the status as it was stored or read last; nil before the first reconcile.
	seen          *chaosv1.ChaosPodStatus
	refusedStatus controller.RefusedStatus
}

// requestAnnotations are those by which a user requests something, or is approved.
func requestAnnotations() []string {
	return []string{chaosv1.RunNowAnnotation, chaosv1.ResumeAnnotation, common.ApprovedByAnnotation}
}

// stateOf returns the state of a ChaosPod, without what an earlier spec or request left there.
func (r *Reconciler) stateOf(object *chaosv1.ChaosPod) *objectState {
	s := r.states.Get(object)
	requested := controller.AnnotationValues(object, requestAnnotations())
	newSpec := s.schedule == nil || s.generation != object.Generation
	if newSpec {
		s.generation, s.schedule = object.Generation, chaos.ScheduleOf(object)
	}
	if newSpec || !slices.Equal(requested, s.requested) {
		s.requested, s.refused = requested, controller.Refusal{}
	}
	return s
}

// begin validates a ChaosPod and checks its approval.
func (r *Reconciler) begin(stored *chaosv1.ChaosPod) *observation {
	o := &observation{key: client.ObjectKeyFromObject(stored), now: r.Now(), stored: stored, spec: stored.DeepCopy(), state: r.stateOf(stored)}
	rules.Default(o.spec)
	rules.Clamp(&o.spec.Spec)
	refused := o.state.refused
	switch errs := rules.Validate(o.spec, nil); {
	case len(errs) > 0:
		o.blockedBy = chaos.Obstacle{Reason: chaosv1.ReasonInvalidSpec, Message: errs.ToAggregate().Error()}
	case slices.Contains(r.Denied, stored.Namespace):
		o.blockedBy = chaos.Obstacle{Reason: chaosv1.ReasonForbidden, Message: "no pod of namespace " + stored.Namespace + " is ever killed: it is the operator's own, or that of Kubernetes itself"}
	case !approval.ChaosPodApproved(stored, r.Denied...):
		o.blockedBy = chaos.Obstacle{Reason: chaosv1.ReasonForbidden, Message: unapproved(stored)}
	case o.now.Before(refused.Until):
		o.blockedBy = chaos.Obstacle{Reason: o.state.refusedReason, Message: refused.Message}
		o.requeueAt(refused.Until)
	case refused.Message != "":
		o.refused = chaos.Obstacle{Reason: o.state.refusedReason, Message: refused.Message}
	}
	return o
}

// unapproved returns what to do about a ChaosPod that no approval covers.
func unapproved(object *chaosv1.ChaosPod) string {
	if object.Annotations[common.ApprovedByAnnotation] != "" {
		return "annotation " + common.ApprovedByAnnotation + " does not cover the ChaosPod as it is now: it was changed where no admission webhook was called; the next write by a user with the rights to what it does renews it"
	}
	return "it is not known whether the writer of the ChaosPod has the rights to what it does: a user with these rights must write it, or set its annotation " + common.ApprovedByAnnotation + " to any value"
}

// forget drops everything that is kept for a ChaosPod.
func (r *Reconciler) forget(key types.NamespacedName) {
	r.watchIndex.Forget(key)
	r.Ledger.Forget(holderOf(key))
	r.states.Forget(key)
	r.ownWrites.Forget(key)
	r.metrics.drop(key)
	r.enqueuer.Forget(key)
}
