// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package chaospod

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	chaosv1 "github.com/fairlead-dev/fairlead/api/chaos/v1"
	"github.com/fairlead-dev/fairlead/controllers/chaospod/chaos"
	"github.com/fairlead-dev/fairlead/controllers/internal/dependence"
	"github.com/fairlead-dev/fairlead/controllers/internal/workloads"
)

// shared reads objects as the cache holds them. They must not be changed.
const shared = client.UnsafeDisableDeepCopy

// observe reads everything that a decision is made from, from the cache or live.
func (r *Reconciler) observe(ctx context.Context, o *observation, live bool) chaos.Observation {
	cluster := r.Freeze.State()
	o.blackoutsUnknown = cluster.Unknown != ""
	in := chaos.Observation{Now: o.now, Schedule: o.state.schedule.With(cluster.Blackouts), BlockedBy: o.blockedBy, Refused: o.refused, Cached: !live, Suspect: r.Suspicions.Any()}
	v := &view{from: r.Client, live: r.Live, isLive: live, namespace: o.key.Namespace, nodes: map[string]chaos.Fact{}, withoutNodes: r.WithoutNodes, targets: map[workloadName]bool{}}
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
	names, missing, err := r.watchedWorkloads(ctx, o, v)
	if err != nil {
		in.Unknown = err.Error()
	} else {
		in.Missing = missing
	}
	faults, err := dependence.Faults(ctx, r.Client, o.key.Namespace)
	if err != nil {
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
		owner.Fault = faults[dependence.Workload{Kind: name.kind, Name: name.name}]
		in.Owners = append(in.Owners, *owner)
	}
	r.watchIndex.Set(o.key, watched)
	return in
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

// watchedWorkloads returns the workloads of the target and those whose pods are victims of the run under way, each
// once, or what is missing.
func (r *Reconciler) watchedWorkloads(ctx context.Context, o *observation, v *view) (names []workloadName, missing string, err error) {
	seen := map[workloadName]bool{}
	add := func(name workloadName) {
		if !seen[name] {
			seen[name] = true
			names = append(names, name)
		}
	}
	switch t := &o.spec.Spec.Target; {
	case t.Workload != nil:
		name := workloadName{string(t.Workload.Kind), t.Workload.Name}
		var exists bool
		if exists, err = v.exists(ctx, name); err == nil && exists && name.kind == "ReplicaSet" {
			name, err = v.topOwner(ctx, name) // which owns the pods
		}
		if err == nil && !exists {
			missing = fmt.Sprintf("%s %s does not exist", name.kind, name.name)
		}
		add(name)
	case t.Selector != nil:
		var others map[string]int
		if v.selector, err = t.Selector.Selector(); err == nil {
			others, err = v.selectedOwners(ctx, add)
		}
		if err == nil && len(names) == 0 {
			missing = noneSelected(others)
		}
	}
	for _, name := range names {
		v.targets[name] = true
	}
	if run := o.stored.Status.CurrentRun; run != nil {
		for i := range run.Victims {
			if owner := run.Victims[i].Owner; owner != nil {
				add(workloadName{owner.Kind, owner.Name})
			}
		}
	}
	return names, missing, err
}

// pod returns what decisions about a pod are made from.
func (v *view) pod(ctx context.Context, p *corev1.Pod) chaos.Pod {
	observed := chaos.Pod{
		Name: p.Name, UID: p.UID, Node: p.Spec.NodeName, Labels: p.Labels, Created: p.CreationTimestamp.Time,
		Running: p.Status.Phase == corev1.PodRunning, ReadySince: readySince(p), Terminating: !p.DeletionTimestamp.IsZero(),
	}
	if !v.isLive {
		return observed // the cache does not have the rest
	}
	observed.Protected = chaos.FactOf(isStatic(p))
	observed.Cordoned = v.isCordoned(ctx, p.Spec.NodeName)
	observed.Covered = chaos.FactOf(slices.ContainsFunc(v.budgets, func(budget labels.Selector) bool { return budget.Matches(labels.Set(p.Labels)) }))
	return observed
}

// readySince returns when a pod last became ready; zero while it is not. Without a transition time it counts from
// its creation.
func readySince(p *corev1.Pod) time.Time {
	for i := range p.Status.Conditions {
		c := &p.Status.Conditions[i]
		switch {
		case c.Type != corev1.PodReady:
		case c.Status != corev1.ConditionTrue:
			return time.Time{}
		case c.LastTransitionTime.IsZero():
			return p.CreationTimestamp.Time
		default:
			return c.LastTransitionTime.Time
		}
	}
	return time.Time{}
}

// isStatic reports whether a pod is a static or mirror pod: it cannot be killed through the API server.
func isStatic(p *corev1.Pod) bool {
	if _, mirror := p.Annotations[corev1.MirrorPodAnnotationKey]; mirror {
		return true
	}
	owner := metav1.GetControllerOfNoCopy(p)
	return owner != nil && owner.Kind == "Node"
}

// drainTaints are the taints of nodes that are being emptied without being cordoned: by Cluster Autoscaler, by Karpenter,
// and those of which a user says that they are shut down.
var drainTaints = []string{"ToBeDeletedByClusterAutoscaler", "karpenter.sh/disrupted", corev1.TaintNodeOutOfService}

// isCordoned reports whether a node is cordoned or being emptied. A node that does not exist any more counts.
func (v *view) isCordoned(ctx context.Context, name string) chaos.Fact {
	if name == "" || v.withoutNodes {
		return chaos.False // without a node it is not ready either
	}
	if known, ok := v.nodes[name]; ok {
		return known
	}
	var node corev1.Node
	switch err := v.from.Get(ctx, types.NamespacedName{Name: name}, &node); {
	case isAbsent(err):
		v.nodes[name] = chaos.True
	case err != nil:
		v.nodes[name] = chaos.Unknown
	default:
		v.nodes[name] = chaos.FactOf(node.Spec.Unschedulable || !node.DeletionTimestamp.IsZero() ||
			slices.ContainsFunc(node.Spec.Taints, func(t corev1.Taint) bool { return slices.Contains(drainTaints, t.Key) }))
	}
	return v.nodes[name]
}

// readBudgets reads the selectors of all PodDisruptionBudgets.
func (v *view) readBudgets(ctx context.Context) error {
	var budgets policyv1.PodDisruptionBudgetList
	if err := v.from.List(ctx, &budgets, client.InNamespace(v.namespace)); err != nil {
		return fmt.Errorf("list PodDisruptionBudgets: %w", err)
	}
	for i := range budgets.Items {
		selector, err := metav1.LabelSelectorAsSelector(budgets.Items[i].Spec.Selector)
		if err != nil {
			return fmt.Errorf("selector of PodDisruptionBudget %s: %w", budgets.Items[i].Name, err)
		}
		v.budgets = append(v.budgets, selector)
	}
	return nil
}
