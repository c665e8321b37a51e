// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package chaospod

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	chaosv1 "github.com/fairlead-dev/fairlead/api/chaos/v1"
	"github.com/fairlead-dev/fairlead/api/common"
	"github.com/fairlead-dev/fairlead/controllers/chaospod/chaos"
	"github.com/fairlead-dev/fairlead/controllers/internal/dependence"
	"github.com/fairlead-dev/fairlead/controllers/internal/workloads"
	"github.com/fairlead-dev/fairlead/internal/approval"
	rules "github.com/fairlead-dev/fairlead/internal/rules/chaospod"
)

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
	case r.WithoutCanaries && stored.Spec.Target.Template != nil:
		o.blockedBy = chaos.Obstacle{Reason: chaosv1.ReasonForbidden,
			Message: "spec.target.template: this operator makes no pods, since its configuration has chaosPods.canaries: false; target a workload or a selector"}
	case !approval.ChaosPodApproved(stored, r.Denied...):
		o.blockedBy = chaos.Obstacle{Reason: chaosv1.ReasonForbidden, Message: unapproved(stored)}
	}
	o.withoutProbes = o.blockedBy.Reason != ""
	if run := stored.Status.CurrentRun; run != nil {
		o.begun = run.ID
	}
	switch {
	case o.withoutProbes:
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
		return "annotation " + common.ApprovedByAnnotation + " does not cover the current spec: the ChaosPod was changed while no admission webhook was called; apply it again as a user with the rights that it needs"
	}
	return "not approved: apply the ChaosPod again as a user with the rights that it needs, or have that user set annotation " + common.ApprovedByAnnotation + " to any value"
}

// observe reads the inputs of a decision from the cache. If live is true, it reads from the API server instead.
func (r *Reconciler) observe(ctx context.Context, o *observation, live bool) chaos.Observation {
	cluster := r.Freeze.State()
	o.blackoutsUnknown = cluster.Unknown != ""
	in := chaos.Observation{Now: o.now, Schedule: o.state.schedule.With(cluster.Blackouts), BlockedBy: o.blockedBy,
		Refused: o.refused, Cached: !live, Suspect: r.Suspicions.Any(), Requests: r.requests(o), WithoutProbes: o.withoutProbes}
	v := &view{from: r.Client, live: r.Live, isLive: live, namespace: o.key.Namespace, nodes: map[string]chaos.Fact{},
		withoutNodes: r.WithoutNodes, targets: map[workloadName]bool{}}
	if live {
		v.from = r.Live
	}
	if o.blackoutsUnknown {
		in.Unknown = cluster.Message(o.now)
	}
	if o.spec.Spec.Target.Template != nil {
		in.Canary = r.canary(ctx, o, v)
		return in
	}
	if live && o.spec.Spec.Safety != nil && ptr.Deref(o.spec.Spec.Safety.RequireDisruptionBudget, false) {
		if err := v.readBudgets(ctx); err != nil {
			in.Unknown = err.Error()
		}
	}
	names, missing, err := watchedWorkloads(ctx, o, v)
	if err != nil {
		in.Unknown = err.Error()
	} else {
		in.Missing = missing
	}
	if v.faults, err = dependence.In(ctx, r.Client, o.key.Namespace); err != nil {
		in.Unknown = err.Error()
	}
	watched := &watchSet{owners: map[types.UID]bool{}, workloads: map[workloadName]bool{}, selector: v.selector}
	if w := o.spec.Spec.Target.Workload; w != nil {
		watched.workloads[workloadName{string(w.Kind), w.Name}] = true
	}
	for _, name := range names {
		watched.workloads[name] = true
		owner, controllers := v.owner(ctx, name)
		if owner == nil {
			continue // it does not exist
		}
		if owner.UID == "" { // it cannot be read, and a run under way may wait for it
			in.Unknown = owner.Unknown
			continue
		}
		for _, uid := range controllers {
			watched.owners[uid] = true
		}
		in.Owners = append(in.Owners, *owner)
	}
	r.watchIndex.Set(o.key, watched)
	return in
}

// watchedWorkloads returns the workloads of the target and those whose pods are victims of the run under way, each
// once, or what is missing.
func watchedWorkloads(ctx context.Context, o *observation, v *view) (names []workloadName, missing string, err error) {
	targets, missing, err := v.selectTargets(ctx, &o.spec.Spec.Target)
	for _, name := range targets {
		v.targets[name] = true
	}
	names = targets
	if run := o.stored.Status.CurrentRun; run != nil {
		for i := range run.Victims {
			if owner := run.Victims[i].Owner; owner != nil {
				names = append(names, workloadName{owner.Kind, owner.Name})
			}
		}
	}
	return distinct(names), missing, err
}

// canary reads the pod that has the canary's name, which is the ChaosPod's.
func (r *Reconciler) canary(ctx context.Context, o *observation, v *view) *chaos.Canary {
	r.watchIndex.Set(o.key, &watchSet{pod: o.key.Name})
	var pod corev1.Pod
	if err := v.from.Get(ctx, o.key, &pod); isAbsent(err) {
		return &chaos.Canary{}
	} else if err != nil {
		return &chaos.Canary{Unknown: "the pod " + o.key.Name + " cannot be read: " + err.Error()}
	}
	observed := v.pod(ctx, &pod)
	observed.Selected = true
	c := &chaos.Canary{
		Pod: &observed, Foreign: workloads.ControllerOf(&pod) != o.stored.UID,
		Hash: pod.Labels[chaosv1.TemplateHashLabel], Finished: workloads.IsFinished(&pod),
	}
	if unscheduled := workloads.Unschedulable(pod.Status.Conditions); unscheduled != nil {
		c.Unschedulable = unscheduled.Message
	}
	return c
}
