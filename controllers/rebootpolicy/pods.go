// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/api/common"
	"github.com/fairlead-dev/fairlead/controllers/internal/workloads"
	"github.com/fairlead-dev/fairlead/controllers/rebootpolicy/restart"
	"github.com/fairlead-dev/fairlead/internal/apistatus"
	"github.com/fairlead-dev/fairlead/internal/workloadkinds"
)

// readPods reads the pods that each workload controls: selectors of workloads may overlap. The owners are
// watched before their pods are read, so that no later change is missed.
func (r *Reconciler) readPods(ctx context.Context, o *observation) {
	owners := map[types.UID]bool{}
	for _, w := range o.workloads {
		owners[w.UID] = true
		if w.TemplateOwner != "" {
			owners[w.TemplateOwner] = true // a change of it is one of the workload
		}
	}
	r.updateOwners(o.key, owners) // so that new ReplicaSets enqueue the policy
	replicaSets := r.replicaSets(ctx, o)
	owners = maps.Clone(owners)
	for _, sets := range replicaSets {
		for _, set := range sets {
			owners[set] = true
		}
	}
	r.updateOwners(o.key, owners)
	for _, w := range slices.Clone(o.workloads) {
		if w.RunsToEnd {
			w.addRun(o)
			continue
		}
		owned, err := r.podsOf(ctx, append(replicaSets[w.UID], w.UID), client.InNamespace(o.key.Namespace))
		if err != nil {
			o.couldNotRead(fmt.Errorf("list pods of %s %s: %w", w.Kind, w.Name, err))
			o.setUnread(w, podsCannotBeRead)
			continue
		}
		w.addPods(owned, r.podVersions)
	}
}

// podsCannotBeRead is why the state of a workload stays as it is that was read without its pods.
const podsCannotBeRead = "its pods cannot be read"

// podsOf returns the pods of some controllers.
func (r *Reconciler) podsOf(ctx context.Context, owners []types.UID, in client.InNamespace) (owned []corev1.Pod, err error) {
	for _, owner := range owners {
		var list corev1.PodList
		if err := r.Client.List(ctx, &list, in, client.MatchingFields{workloads.ByOwner: string(owner)}, shared); err != nil {
			return nil, err
		}
		owned = append(owned, list.Items...)
	}
	return owned, nil
}

// replicaSets returns the UIDs of the ReplicaSets of each workload that may have any.
func (r *Reconciler) replicaSets(ctx context.Context, o *observation) map[types.UID][]types.UID {
	all := map[types.UID][]types.UID{}
	for _, w := range slices.Clone(o.workloads) {
		if !hasReplicaSets(w.Kind) || w.RunsToEnd {
			continue
		}
		sets, err := workloads.ReplicaSetsOf(ctx, r.Client, w.UID, client.InNamespace(o.key.Namespace),
			client.MatchingFields{workloads.ByOwner: string(w.UID)}, shared)
		if err != nil {
			o.couldNotRead(fmt.Errorf("list ReplicaSets of %s %s: %w", w.Kind, w.Name, err))
			o.setUnread(w, podsCannotBeRead)
			continue
		}
		all[w.UID] = sets
	}
	return all
}

func hasReplicaSets(kind common.WorkloadKind) bool {
	return kind == common.WorkloadDeployment || workloadkinds.IsOptional(kind)
}

// addPods adds the pods that have not finished. Kept has those that a rollout would not replace.
func (w *workload) addPods(pods []corev1.Pod, versions *podCreationVersions) {
	slices.SortFunc(pods, func(a, b corev1.Pod) int { return cmp.Compare(a.Name, b.Name) })
	for i := range pods {
		p := &pods[i]
		if workloads.IsFinished(p) {
			continue
		}
		pod := restart.Pod{
			Name: p.Name, UID: p.UID, Created: p.CreationTimestamp.Time, Version: versions.get(p.UID).created, Ready: workloads.IsReady(p),
			ReadyChanged: workloads.ReadyChanged(p), Terminating: !p.DeletionTimestamp.IsZero(), Node: p.Spec.NodeName,
		}
		if !pod.Ready {
			pod.WaitsFor = workloads.WaitsFor(p)
		}
		if pod.Terminating {
			pod.Ends = p.DeletionTimestamp.Time
		}
		if finalizers := keptFinalizers(p); len(finalizers) > 0 {
			pod.Finalizer = finalizers[0]
		}
		pod.Restarts, pod.RestartsBeforeReady = workloads.Restarts(p)
		if c := workloads.Unschedulable(p.Status.Conditions); c != nil && w.Shortage.Reason == "" {
			w.Shortage = workloads.Shortage{Reason: autorebootv1.ReasonUnschedulable, Message: "pod " + p.Name + ": " + c.Message}
		}
		if w.KeptByRollout != nil && w.KeptByRollout(workloads.Ordinal(p)) {
			w.Kept = append(w.Kept, pod)
			continue
		}
		w.Pods = append(w.Pods, pod)
		w.cached = append(w.cached, p)
	}
}

const (
	// overdueAfter is how long after its grace period a pod that is there still does not end: what kills it may be slow, and
	// the time is that of the API server.
	overdueAfter = time.Minute
	// lateAfter is how long a pod may take until its node is looked at: a rollout that goes well reads no nodes.
	lateAfter = 30 * time.Second
	// maxNodeReads is how many nodes one reconcile reads.
	maxNodeReads = 10
)

// findLostPods finds the pods that can neither become ready nor end, of each DaemonSet and StatefulSet whose restart waits or
// is in flight: their controllers wait for such a pod. Those of a ReplicaSet are made elsewhere.
func (r *Reconciler) findLostPods(ctx context.Context, o *observation) {
	reads := maxNodeReads
	for _, w := range o.workloads {
		if hasReplicaSets(w.Kind) || !o.inFlight(w.UID) && o.targetStatus(w).Pending == nil {
			continue
		}
		for i := range w.Pods {
			if p := &w.Pods[i]; p.Node != "" && p.IsLate(o.now, lateAfter) {
				o.requeueAt(o.now.Add(nodeInterval)) // no event says that it is
				p.Lost = r.whyLost(ctx, p, o.now, &reads)
			}
		}
	}
}

// whyLost returns why a pod that is late can neither become ready nor end; empty where it may. It counts down reads for each
// node that it reads.
func (r *Reconciler) whyLost(ctx context.Context, p *restart.Pod, now time.Time, reads *int) string {
	why := ""
	if p.Terminating && p.Finalizer == "" && now.After(p.Ends.Add(overdueAfter)) {
		why = "where it does not end"
	}
	if r.WithoutNodes {
		return why
	}
	known, found := r.nodes.get(p.Node, now)
	if !found && *reads > 0 {
		*reads--
		known = r.readNode(ctx, p.Node)
		r.nodes.set(p.Node, known, now)
	}
	return cmp.Or(known, why)
}

// readNode returns why nothing can become ready or end on a node; empty where that is not known.
func (r *Reconciler) readNode(ctx context.Context, name string) string {
	var node corev1.Node
	err := r.Live.Get(ctx, client.ObjectKey{Name: name}, &node)
	if apistatus.IsAbsent(err, corev1.Resource("nodes"), name) {
		return "which does not exist"
	}
	if err != nil {
		return ""
	}
	for i := range node.Status.Conditions {
		if c := &node.Status.Conditions[i]; c.Type == corev1.NodeReady && c.Status != corev1.ConditionTrue {
			return "which is not ready"
		}
	}
	return ""
}

// absentFor is how long a pod that the API server did not list counts as absent although the cache has it. It bounds how
// often such pods are looked for, and how long a false list has an effect.
const absentFor = 5 * time.Minute

// checkLevelPods looks for the pods of each restart that is about to start because of how its pods are, and reports
// whether any does not exist. The watch may have lost its deletion (kubernetes/kubernetes#123072): the cache has such a
// pod until it lists again, and it would be restarted for until the limit. Where they cannot be listed, the restart waits.
func (r *Reconciler) checkLevelPods(ctx context.Context, o *observation, d *restart.Decision) (found bool) {
	for _, w := range o.starting(d) {
		if w.podsChecked || !slices.ContainsFunc(w.Signals, func(s restart.Signal) bool { return s.Level && s.Firing }) {
			continue
		}
		w.podsChecked = true
		absent, err := r.absentPods(ctx, o, w)
		if err != nil {
			o.couldNotRead(err)
			w.Unchecked, found = "which of its pods exist cannot be read", true
		}
		if len(absent) == 0 {
			continue
		}
		found = true
		ctrllog.FromContext(ctx).Info("Pods that the cache has do not exist: no trigger fires for them", "kind", w.Kind, "workload", w.Name, "pods", len(absent))
		for _, pod := range absent {
			o.state.setAbsent(pod, o.now.Add(absentFor))
		}
		for i := range w.Signals {
			if s := &w.Signals[i]; s.Level {
				s.Firing = false
			}
		}
		o.requeueAt(o.now) // for the pods that do exist
	}
	return found
}

// absentPods returns the pods of a workload that the API server does not list.
func (r *Reconciler) absentPods(ctx context.Context, o *observation, w *workload) ([]types.UID, error) {
	live, err := r.listPods(ctx, o, w)
	if err != nil {
		return nil, err
	}
	exists := map[types.UID]bool{}
	for i := range live {
		exists[live[i].UID] = true
	}
	var absent []types.UID
	for i := range w.Pods {
		if p := &w.Pods[i]; !exists[p.UID] && !p.Terminating {
			absent = append(absent, p.UID)
		}
	}
	return absent, nil
}

// listPods returns the pods that the API server lists by the selector of a workload, with those list options.
func (r *Reconciler) listPods(
	ctx context.Context, o *observation, w *workload, with ...client.ListOption,
) ([]metav1.PartialObjectMetadata, error) {
	selector, err := metav1.LabelSelectorAsSelector(w.Selector)
	if err != nil {
		return nil, fmt.Errorf("selector of %s %s: %w", w.Kind, w.Name, err)
	}
	list := metav1.PartialObjectMetadataList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PodList"}}
	options := append(slices.Clip(with), client.InNamespace(o.key.Namespace), client.MatchingLabelsSelector{Selector: selector})
	if err := r.Live.List(ctx, &list, options...); err != nil {
		return nil, fmt.Errorf("list the pods of %s %s: %w", w.Kind, w.Name, err)
	}
	return list.Items, nil
}
