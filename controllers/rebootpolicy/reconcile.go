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

const (
	// unreadableRetry is how often that is tried of which no event says when it works again.
	unreadableRetry = 30 * time.Second
)

// Reconciler restarts what RebootPolicies name.
type Reconciler struct {
	// Client reads from the cache and writes to the API server.
	Client client.Client
	// Live reads from the API server.
	Live client.Reader
	// Events go on policies and workloads.
	Events recorder.EventRecorder
	// Now is the clock.
	Now func() time.Time
	// Sources, Health and Ledger know what there is to know, and Key makes fingerprints of it.
	Sources Sources
	Probes  Probes
	Ledger  Ledger
	Key     Fingerprinter
	// Freeze knows the blackouts of the whole cluster; nil for none.
	Freeze *freeze.Freeze
	// Actor restarts workloads.
	Actor Actor
	// WebhookExemptNamespaces are namespaces whose writers admission does not ask: nothing is restarted there.
	WebhookExemptNamespaces []string

	enqueuer    *controller.CoalescingEnqueuer
	watchIndex  *controller.WatchIndex[*watchSet]
	podVersions *podCreationVersions
	states      *stateStore
	metrics     *metrics
}

func newReconciler(r Reconciler) *Reconciler {
	if r.enqueuer == nil {
		r.enqueuer = controller.NewCoalescingEnqueuer(r.Now)
	}
	r.watchIndex, r.podVersions, r.states, r.metrics = &controller.WatchIndex[*watchSet]{}, &podCreationVersions{}, &stateStore{}, newMetrics(r.Now)
	return &r
}

// Reconcile looks at one policy, decides, and restarts what may be restarted now.
func (r *Reconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	policy := &autorebootv1.RebootPolicy{}
	if err := r.Client.Get(ctx, req.NamespacedName, policy); err != nil {
		if apierrors.IsNotFound(err) {
			r.forget(req.NamespacedName)
		}
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if !policy.DeletionTimestamp.IsZero() {
		r.forget(req.NamespacedName)
		return reconcile.Result{}, nil
	}
	again, err := r.reconcile(ctx, policy)
	if client.IgnoreNotFound(err) != nil {
		return controller.ResultOf(fmt.Errorf("rebootpolicy %s: %w", req.NamespacedName, err))
	}
	return controller.RequeueAt(r.Now(), again), nil
}

// reconcile goes through the steps, and returns when to do so again.
func (r *Reconciler) reconcile(ctx context.Context, stored *autorebootv1.RebootPolicy) (time.Time, error) {
	s := r.begin(stored)
	if s.state.lastWrite.NewerThan(stored, s.now) {
		return time.Time{}, controller.ErrStale
	}
	if err := r.observe(ctx, s); err != nil {
		return time.Time{}, err
	}
	decided, err := r.decide(ctx, s)
	if err != nil {
		return time.Time{}, err
	}
	results, err := r.act(ctx, s, decided)
	if err != nil {
		return time.Time{}, err
	}
	again, err := r.recordResults(ctx, s, decided, results)
	if err != nil {
		return time.Time{}, err
	}
	r.metrics.record(s.key, &s.stored.Status, s.sourceCount)
	return controller.Earliest(s.requeue, again), nil
}

// begin takes up a policy. From here on it is heard of what moves around it.
func (r *Reconciler) begin(stored *autorebootv1.RebootPolicy) *observation {
	policy := stored.DeepCopy()
	rules.Default(policy)
	s := &observation{
		key: client.ObjectKeyFromObject(stored), now: r.Now(), stored: stored, policy: policy, state: r.states.get(policy),
	}
	if errs := rules.Validate(policy, nil); len(errs) > 0 {
		s.blockedBy, s.invalid = autorebootv1.ReasonInvalidSpec, errs.ToAggregate().Error()
		s.addProblem(s.blockedBy, s.invalid)
	} else if !approval.RebootPolicyApproved(policy, r.WebhookExemptNamespaces...) {
		s.blockedBy = autorebootv1.ReasonForbidden
		s.addProblem(s.blockedBy, r.unapproved(policy))
	}
	r.updateWatchSet(s.key, watchSetOf(&policy.Spec))
	return s
}

// unapproved says what to do about a policy of which it is not known whether its writer may do what it
// does.
func (r *Reconciler) unapproved(policy *autorebootv1.RebootPolicy) string {
	if slices.Contains(r.WebhookExemptNamespaces, policy.Namespace) {
		return "no admission webhook is called in namespace " + policy.Namespace + ", so it is not known whether the writer of the policy has the rights to what it does: nothing is restarted here"
	}
	if policy.Annotations[common.ApprovedByAnnotation] != "" {
		return "annotation " + common.ApprovedByAnnotation + " does not cover the policy as it is now: it is of an earlier version of Fairlead, or the policy was changed where no admission webhook was called; the next write by a user with the rights to what the policy does renews it"
	}
	return "it is not known whether the writer of the policy has the rights to what it does: a user with these rights must write it, or set its annotation " + common.ApprovedByAnnotation + " to any value"
}

// observe finds out what there is to know.
func (r *Reconciler) observe(ctx context.Context, o *observation) error {
	if err := r.findTargets(ctx, o); err != nil {
		return err
	}
	if err := r.readPods(ctx, o); err != nil {
		return err
	}
	if err := r.budgetBlocks(ctx, o); err != nil {
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

// forget ends everything that goes on for a policy.
func (r *Reconciler) forget(key types.NamespacedName) {
	r.watchIndex.Forget(key)
	r.Sources.Forget(key)
	r.Probes.Forget(key)
	r.Ledger.Forget(holderOf(key))
	r.states.drop(key)
	r.metrics.drop(key)
	r.enqueuer.Forget(key)
}
