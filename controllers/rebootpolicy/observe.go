// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	"context"
	"slices"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/api/common"
	"github.com/fairlead-dev/fairlead/controllers/internal/controller"
	"github.com/fairlead-dev/fairlead/controllers/rebootpolicy/sources"
	"github.com/fairlead-dev/fairlead/internal/approval"
	rules "github.com/fairlead-dev/fairlead/internal/rules/rebootpolicy"
)

// begin validates a policy and checks its approval. From here on the policy is enqueued when what its spec
// names changes.
func (r *Reconciler) begin(stored *autorebootv1.RebootPolicy) *observation {
	policy := stored.DeepCopy()
	rules.Default(policy)
	o := &observation{
		key: client.ObjectKeyFromObject(stored), now: r.Now(), stored: stored, policy: policy, state: r.stateOf(policy),
		required: map[string][]string{}, wants: map[signalID]sources.Want{},
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
		return "not approved: no admission webhook checks the rights of writers in namespace " + policy.Namespace + ", so nothing is restarted here"
	}
	if policy.Annotations[common.ApprovedByAnnotation] != "" {
		return "annotation " + common.ApprovedByAnnotation + " does not cover the current spec: it is from an earlier version of Fairlead, or the policy was changed while no admission webhook was called; apply the policy again as a user with the rights that it needs"
	}
	return "not approved: apply the policy again as a user with the rights that it needs, or have that user set annotation " + common.ApprovedByAnnotation + " to any value"
}

// observe reads the inputs of a decision. A step that fails leaves its own result unknown and does not stop the others. The
// error is that of ctx, or ErrUnknown.
func (r *Reconciler) observe(ctx context.Context, o *observation) error {
	if err := r.findKinds(o); err != nil {
		return err
	}
	r.followJobs(ctx, o)
	r.findTargets(ctx, o)
	r.findUnselected(ctx, o)
	r.enqueuer.SetInterval(o.key, o.interval())
	r.readPods(ctx, o)
	r.updateDependencies(o)
	r.findLostPods(ctx, o)
	r.findBudgetBlocks(ctx, o)
	var until time.Time
	o.calendar, until = o.state.calendar.at(o.now, r.Freeze.State())
	o.requeueAt(until)
	if o.blockedBy == "" {
		o.gates = r.closedGates(ctx, o)
	} else {
		r.Queries.Set(o.key, nil)
		r.Objects.Set(o.key, nil)
	}
	r.observeRequests(o)
	r.signals(ctx, o)
	o.state.trackUnread(o)
	return ctx.Err()
}
