// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

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

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/api/common"
	"github.com/fairlead-dev/fairlead/controllers/internal/controller"
	"github.com/fairlead-dev/fairlead/internal/approval"
	"github.com/fairlead-dev/fairlead/internal/freeze"
	rules "github.com/fairlead-dev/fairlead/internal/rules/rebootpolicy"
)

// Reconciler restarts the workloads that RebootPolicies select.
type Reconciler struct {
	// Client reads from the cache and writes to the API server.
	Client client.Client
	// Live reads from the API server.
	Live client.Reader
	// Events are written about policies and workloads.
	Events recorder.EventRecorder
	// Now is the clock.
	Now func() time.Time
	// Sources observe ConfigMaps and Secrets, Probes run Probe triggers, Ledger has the disruptions of all
	// objects, and Key makes fingerprints.
	Sources Sources
	Probes  Probes
	Ledger  Ledger
	Key     Fingerprinter
	// Freeze has the blackouts of the whole cluster; nil for none.
	Freeze *freeze.Freeze
	// Actor restarts workloads.
	Actor Actor
	// WithoutNodes reads no nodes: which are lost is not known.
	WithoutNodes bool
	// WebhookExemptNamespaces are namespaces that no admission webhook is called for: nothing is restarted
	// there.
	WebhookExemptNamespaces []string

	enqueuer    *controller.CoalescingEnqueuer
	watchIndex  *controller.WatchIndex[*watchSet]
	podVersions *podCreationVersions
	states      *controller.States[objectState]
	nodes       *nodes
	former      *formerPolicies
	ownWrites   *controller.OwnWrites
	metrics     *metrics
}

func newReconciler(r Reconciler) *Reconciler {
	if r.enqueuer == nil {
		r.enqueuer = controller.NewCoalescingEnqueuer(r.Now)
	}
	r.watchIndex, r.podVersions = &controller.WatchIndex[*watchSet]{}, &podCreationVersions{}
	r.states, r.metrics, r.ownWrites = &controller.States[objectState]{}, newMetrics(r.Now), &controller.OwnWrites{}
	r.former, r.nodes = &formerPolicies{}, &nodes{}
	return &r
}

// Reconcile decides about one policy, and restarts the workloads that may be restarted now.
func (r *Reconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	policy := &autorebootv1.RebootPolicy{}
	if err := r.Client.Get(ctx, req.NamespacedName, policy); err != nil {
		if apierrors.IsNotFound(err) {
			r.former.setDeleted(req.NamespacedName, r.Now())
			r.forget(req.NamespacedName)
		}
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if !policy.DeletionTimestamp.IsZero() {
		r.former.setDeleted(req.NamespacedName, r.Now())
		r.forget(req.NamespacedName)
		return reconcile.Result{}, nil
	}
	requeue, err := r.reconcile(ctx, policy)
	if client.IgnoreNotFound(err) != nil {
		return controller.ResultOf(fmt.Errorf("rebootpolicy %s: %w", req.NamespacedName, err))
	}
	return controller.RequeueAt(r.Now(), requeue), nil
}

// reconcile runs the steps, and returns when to run them again.
func (r *Reconciler) reconcile(ctx context.Context, stored *autorebootv1.RebootPolicy) (time.Time, error) {
	o := r.begin(stored)
	if o.state.lastWrite.NewerThan(stored, o.now) {
		return time.Time{}, controller.ErrStale
	}
	if err := r.observe(ctx, o); err != nil {
		return time.Time{}, err
	}
	decision, err := r.decide(ctx, o)
	if err != nil {
		return time.Time{}, err
	}
	results, err := r.act(ctx, o, decision)
	if err != nil {
		return time.Time{}, err
	}
	requeue, err := r.recordResults(ctx, o, decision, results)
	if err != nil {
		return time.Time{}, err
	}
	r.metrics.record(o.key, &o.stored.Status, o.sourceCount)
	return controller.Earliest(o.requeue, requeue), nil
}

// begin validates a policy and checks its approval. From here on the policy is enqueued when what its spec
// names changes.
func (r *Reconciler) begin(stored *autorebootv1.RebootPolicy) *observation {
	policy := stored.DeepCopy()
	rules.Default(policy)
	o := &observation{
		key: client.ObjectKeyFromObject(stored), now: r.Now(), stored: stored, policy: policy, state: r.stateOf(policy),
		required: map[string][]string{},
	}
	o.statusLost = stored.Status.ObservedGeneration <= 0 && o.state.lastWrite != (controller.LastWrite{})
	if status := r.former.statusFor(stored, o.now); status != nil {
		policy.Status, o.succeeds = *status, true
	} else {
		r.former.record(stored)
	}
	approved := approval.RebootPolicyApproved(policy, r.WebhookExemptNamespaces...) // of the spec as it was written
	o.clamped = rules.Clamp(&policy.Spec)
	if errs := rules.Validate(policy, nil); len(errs) > 0 {
		o.blockedBy, o.invalid = autorebootv1.ReasonInvalidSpec, errs.ToAggregate().Error()
		o.addProblem(o.blockedBy, o.invalid)
	} else if !approved {
		o.blockedBy = autorebootv1.ReasonForbidden
		o.addProblem(o.blockedBy, r.unapproved(policy))
	}
	r.updateWatchSet(o.key, watchSetOf(&policy.Spec))
	return o
}

// unapproved returns what to do about a policy that no approval covers.
func (r *Reconciler) unapproved(policy *autorebootv1.RebootPolicy) string {
	if slices.Contains(r.WebhookExemptNamespaces, policy.Namespace) {
		return "no admission webhook is called in namespace " + policy.Namespace + ", so it is not known whether the writer of the policy has the rights to what it does: nothing is restarted here"
	}
	if policy.Annotations[common.ApprovedByAnnotation] != "" {
		return "annotation " + common.ApprovedByAnnotation + " does not cover the policy as it is now: it is of an earlier version of Fairlead, or the policy was changed where no admission webhook was called; the next write by a user with the rights to what the policy does renews it"
	}
	return "it is not known whether the writer of the policy has the rights to what it does: a user with these rights must write it, or set its annotation " + common.ApprovedByAnnotation + " to any value"
}

// observe reads everything that a decision is made from.
func (r *Reconciler) observe(ctx context.Context, o *observation) (err error) {
	if o.workloads, err = r.findTargets(ctx, o); err != nil {
		return err
	}
	if err := r.findUnselected(ctx, o); err != nil {
		return err
	}
	r.enqueuer.SetInterval(o.key, o.interval())
	if err := r.readPods(ctx, o); err != nil {
		return err
	}
	if err := r.findLostPods(ctx, o); err != nil {
		return err
	}
	if o.budgetBlocks, err = r.budgetBlocks(ctx, o); err != nil {
		return err
	}
	var until time.Time
	o.calendar, until = o.state.calendar.at(o.now, r.Freeze.State())
	o.requeueAt(until)
	if o.blockedBy == "" {
		o.gates = r.closedGates(ctx, o)
	}
	return r.signals(ctx, o)
}

const (
	// intervalPerWrite is how many times as long as the last write of the status took a policy is left alone because
	// of events of workloads: the status of 100 targets with four sources each is 90 KB, and an API server that is
	// busy takes the longer for it.
	intervalPerWrite = 20
	// maxInterval limits that.
	maxInterval = 5 * time.Second
)

// interval returns the least time between two reconciles because of events of workloads.
func (o *observation) interval() time.Duration {
	return min(controller.CoalescingInterval+intervalPerWrite*o.state.writeTook, maxInterval)
}

// forget drops everything that is kept for a policy.
func (r *Reconciler) forget(key types.NamespacedName) {
	r.watchIndex.Forget(key)
	r.Sources.Forget(key)
	r.Probes.Forget(key)
	r.Ledger.Forget(holderOf(key))
	r.states.Forget(key)
	r.ownWrites.Forget(key)
	r.metrics.drop(key)
	r.enqueuer.Forget(key)
}
