// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package chaospod

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	chaosv1 "github.com/fairlead-dev/fairlead/api/chaos/v1"
	"github.com/fairlead-dev/fairlead/api/common"
	"github.com/fairlead-dev/fairlead/controllers/chaospod/chaos"
	"github.com/fairlead-dev/fairlead/controllers/internal/dependence"
	"github.com/fairlead-dev/fairlead/controllers/internal/workloads"
	"github.com/fairlead-dev/fairlead/internal/argorollouts"
	"github.com/fairlead-dev/fairlead/internal/events"
	"github.com/fairlead-dev/fairlead/internal/workloadkinds"
)

// shared reads objects as the cache holds them. They must not be changed.
const shared = client.UnsafeDisableDeepCopy

// workloadName names a workload in the ChaosPod's namespace.
type workloadName struct{ kind, name string }

// view reads the namespace of one ChaosPod, from the cache or live. Only a live view has what the cache strips, such
// as a pod's node.
type view struct {
	from client.Reader
	// live reads from the API server what the cache does not hold.
	live      client.Reader
	isLive    bool
	namespace string
	// selector of the target; nil where it has none.
	selector labels.Selector
	// targets are the workloads that the spec selects. A victim in the status may be of another workload, which is
	// observed, and none of whose pods is killed.
	targets map[workloadName]bool
	// faults are injected into what workloads may depend on.
	faults *dependence.Faults
	// nodes caches isCordoned.
	nodes map[string]chaos.Fact
	// withoutNodes means that no node is read.
	withoutNodes bool
	budgets      []labels.Selector
}

// isAbsent reports whether an object does not exist according to the API server or the cache. The page of a proxy says
// nothing: a run that took it for the end of its workload would end, with its victims dead.
func isAbsent(err error) bool {
	return apierrors.IsNotFound(err) && !apierrors.IsUnexpectedServerError(err)
}

// isCached reports whether workloads of a kind are read from the cache.
func isCached(kind string) bool {
	return workloadkinds.Find(workloadkinds.Apps, common.WorkloadKind(kind)) != nil
}

// read returns a workload; nil where there is none. A ReplicaSet and a Rollout are read from the API server.
func (v *view) read(ctx context.Context, name workloadName) (*workloads.Workload, error) {
	key := types.NamespacedName{Namespace: v.namespace, Name: name.name}
	if name.kind == argorollouts.Kind {
		w, err := workloads.Get(ctx, v.live, key, common.WorkloadRollout, true)
		if meta.IsNoMatchError(err) {
			return nil, nil // no Rollout exists
		}
		return w, err
	}
	if name.kind != "ReplicaSet" {
		if !isCached(name.kind) {
			return nil, fmt.Errorf("%s %s is of a kind that cannot be watched", name.kind, name.name)
		}
		return workloads.Get(ctx, v.from, key, common.WorkloadKind(name.kind), true)
	}
	var set appsv1.ReplicaSet
	if err := v.live.Get(ctx, key, &set); isAbsent(err) {
		return nil, nil
	} else if err != nil {
		return nil, fmt.Errorf("read ReplicaSet %s: %w", name.name, err)
	}
	return workloads.ReplicaSet(&set), nil
}

func (v *view) exists(ctx context.Context, name workloadName) (bool, error) {
	w, err := v.read(ctx, name)
	return w != nil, err
}

// owner returns a workload with all its pods, and the UIDs of their controllers; nil where there is none. What cannot
// be read is in the owner's Unknown, which makes it unsafe.
func (v *view) owner(ctx context.Context, name workloadName) (*chaos.Owner, []types.UID) {
	w, err := v.read(ctx, name)
	if err != nil {
		return &chaos.Owner{Kind: name.kind, Name: name.name, Unknown: err.Error()}, nil
	}
	if w == nil {
		return nil, nil
	}
	owner := &chaos.Owner{Kind: name.kind, Name: name.name, UID: w.UID, Desired: w.Desired, MinReady: w.MinReady,
		Fault: v.faults.Of(dependence.Workload{Kind: name.kind, Name: name.name}, w.DependsOn), Mistake: w.DependsOnMistake}
	switch {
	case w.Obstacle == autorebootv1.ReasonTerminating:
		owner.Unstable = "is being deleted"
	case !w.Updated:
		owner.Unstable = "rolls out"
	}
	controllers := []types.UID{w.UID}
	selector, err := metav1.LabelSelectorAsSelector(w.Selector)
	if err == nil && (name.kind == workloadkinds.Deployments.Kind || name.kind == argorollouts.Kind) {
		var sets []types.UID
		sets, err = workloads.ReplicaSetsOf(ctx, v.from, w.UID, v.ownedBy(w.UID, selector)...)
		controllers = append(controllers, sets...)
	}
	var pods []corev1.Pod
	if err == nil {
		pods, err = v.podsOf(ctx, controllers, selector)
	}
	if err != nil {
		owner.Unknown = fmt.Sprintf("the pods of %s %s cannot be read: %v", name.kind, name.name, err)
		return owner, controllers
	}
	for i := range pods {
		if !workloads.IsFinished(&pods[i]) {
			observed := v.pod(ctx, &pods[i])
			observed.Selected = v.targets[name] && (v.selector == nil || v.selector.Matches(labels.Set(pods[i].Labels)))
			owner.Pods = append(owner.Pods, observed)
		}
	}
	return owner, controllers
}

// ownedBy returns options that list what a controller owns: by the index of the cache, or by labels.
func (v *view) ownedBy(owner types.UID, selector labels.Selector) []client.ListOption {
	if v.isLive {
		return []client.ListOption{client.InNamespace(v.namespace), client.MatchingLabelsSelector{Selector: selector}}
	}
	return []client.ListOption{client.InNamespace(v.namespace), client.MatchingFields{workloads.ByOwner: string(owner)}, shared}
}

// podsOf returns the pods whose controller is one of some owners.
func (v *view) podsOf(ctx context.Context, owners []types.UID, selector labels.Selector) ([]corev1.Pod, error) {
	var all []corev1.Pod
	for _, owner := range owners {
		var pods corev1.PodList
		if err := v.from.List(ctx, &pods, v.ownedBy(owner, selector)...); err != nil {
			return nil, err
		}
		for i := range pods.Items {
			if by := workloads.ControllerOf(&pods.Items[i]); by == owner || v.isLive && slices.Contains(owners, by) {
				all = append(all, pods.Items[i])
			}
		}
		if v.isLive {
			break // one list has them all
		}
	}
	return all, nil
}

// selectTargets returns the workloads of a target, or what is missing.
func (v *view) selectTargets(ctx context.Context, t *chaosv1.Target) (names []workloadName, missing string, err error) {
	switch {
	case t.Workload != nil:
		name := workloadName{string(t.Workload.Kind), t.Workload.Name}
		var exists bool
		if exists, err = v.exists(ctx, name); err == nil && exists && name.kind == "ReplicaSet" {
			name, err = v.topOwner(ctx, name) // which owns the pods
		}
		if err == nil && !exists {
			missing = fmt.Sprintf("%s %s does not exist", name.kind, name.name)
		}
		return []workloadName{name}, missing, err
	case t.Selector != nil:
		if v.selector, err = t.Selector.Selector(); err != nil {
			return nil, "", err
		}
		names, others, err := v.selectedOwners(ctx)
		if err == nil && len(names) == 0 {
			missing = noneSelected(others)
		}
		return names, missing, err
	}
	return nil, "", nil
}

// selectedOwners returns the workloads whose pods the target's selector matches, and counts the pods that are left out by what
// controls them. These are pods without a controller, and those of other kinds such as a Job: it cannot be observed when
// these have recovered.
func (v *view) selectedOwners(ctx context.Context) (names []workloadName, others map[string]int, err error) {
	var pods corev1.PodList
	options := []client.ListOption{client.InNamespace(v.namespace), client.MatchingLabelsSelector{Selector: v.selector}}
	if !v.isLive {
		options = append(options, shared)
	}
	if err := v.from.List(ctx, &pods, options...); err != nil {
		return nil, nil, fmt.Errorf("list the pods of spec.target.selector: %w", err)
	}
	sets := map[string]workloadName{}
	others = map[string]int{}
	for i := range pods.Items {
		owner := metav1.GetControllerOfNoCopy(&pods.Items[i])
		switch {
		case workloads.IsFinished(&pods.Items[i]):
			continue
		case owner == nil:
			others["no controller"]++
			continue
		}
		name := nameOfOwner(owner)
		if name.kind == "ReplicaSet" {
			if _, known := sets[owner.Name]; !known {
				top, err := v.topOwner(ctx, name)
				if err != nil {
					return names, nil, err
				}
				sets[owner.Name] = top
			}
			name = sets[owner.Name]
		}
		if isCached(name.kind) || name.kind == "ReplicaSet" || name.kind == argorollouts.Kind {
			names = append(names, name)
		} else {
			others[name.kind+" "+name.name]++
		}
	}
	return distinct(names), others, nil
}

// nameOfOwner returns the name of a controller. The kind of one that is neither of apps/v1 nor a Rollout has the group too, as in
// Job.batch.
func nameOfOwner(owner *metav1.OwnerReference) workloadName {
	group, _, _ := strings.Cut(owner.APIVersion, "/")
	if owner.APIVersion == appsv1.SchemeGroupVersion.String() || group == common.RolloutsGroup && owner.Kind == argorollouts.Kind {
		return workloadName{owner.Kind, owner.Name}
	}
	return workloadName{owner.Kind + "." + group, owner.Name}
}

// noneSelected returns why a selector selects no workload.
func noneSelected(others map[string]int) string {
	if len(others) == 0 {
		return "no pod matches spec.target.selector"
	}
	var counts []string
	for _, name := range slices.Sorted(maps.Keys(others)) {
		counts = append(counts, fmt.Sprintf("%d of %s", others[name], name))
	}
	return "spec.target.selector matches no pod of a Deployment, StatefulSet, DaemonSet, ReplicaSet or Rollout, but " + events.Summarize(counts)
}

// topOwner returns what controls a ReplicaSet, such as a Deployment or a Rollout, or the ReplicaSet itself.
func (v *view) topOwner(ctx context.Context, name workloadName) (workloadName, error) {
	set := workloads.ReplicaSets()
	if err := v.from.Get(ctx, types.NamespacedName{Namespace: v.namespace, Name: name.name}, set); isAbsent(err) {
		return name, nil
	} else if err != nil {
		return name, fmt.Errorf("read ReplicaSet %s: %w", name.name, err)
	}
	if owner := metav1.GetControllerOfNoCopy(set); owner != nil {
		return nameOfOwner(owner), nil
	}
	return name, nil
}

// pod returns what decisions about a pod are made from.
func (v *view) pod(ctx context.Context, p *corev1.Pod) chaos.Pod {
	observed := chaos.Pod{
		Name: p.Name, UID: p.UID, Node: p.Spec.NodeName, Labels: p.Labels, Created: p.CreationTimestamp.Time,
		Running: p.Status.Phase == corev1.PodRunning, ReadySince: readySince(p), Terminating: !p.DeletionTimestamp.IsZero(),
	}
	if observed.Terminating {
		observed.Ends = p.DeletionTimestamp.Time
		if len(p.Finalizers) > 0 {
			observed.Finalizer = p.Finalizers[0]
		}
	}
	if !v.isLive {
		return observed // the cache does not have the rest
	}
	observed.Protected = chaos.FactOf(isStatic(p))
	observed.Cordoned = v.isCordoned(ctx, p.Spec.NodeName)
	observed.Covered = chaos.FactOf(slices.ContainsFunc(v.budgets,
		func(budget labels.Selector) bool { return budget.Matches(labels.Set(p.Labels)) }))
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

// drainTaints are the taints of nodes that are being emptied without being cordoned: by Cluster Autoscaler, by Karpenter, or
// after a user declares the node shut down.
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

// distinct returns names in their order, each once.
func distinct(names []workloadName) []workloadName {
	seen := map[workloadName]bool{}
	return slices.DeleteFunc(names, func(name workloadName) bool {
		known := seen[name]
		seen[name] = true
		return known
	})
}
