// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/controllers/internal/workloads"
	"github.com/fairlead-dev/fairlead/controllers/rebootpolicy/restart"
)

// readPods reads the pods that each workload controls: selectors of workloads may overlap. The owners are
// watched before their pods are read, so that no later change is missed.
func (r *Reconciler) readPods(ctx context.Context, o *observation) error {
	owners := map[types.UID]bool{}
	for _, w := range o.workloads {
		owners[w.UID] = true
	}
	r.updateOwners(o.key, owners) // so that new ReplicaSets enqueue the policy
	replicaSets, err := r.replicaSets(ctx, o)
	if err != nil {
		return err
	}
	owners = maps.Clone(owners)
	for _, sets := range replicaSets {
		for _, set := range sets {
			owners[set] = true
		}
	}
	r.updateOwners(o.key, owners)
	for _, w := range o.workloads {
		var owned []corev1.Pod
		for _, owner := range append(replicaSets[w.UID], w.UID) {
			var list corev1.PodList
			if err := r.Client.List(ctx, &list, client.InNamespace(o.key.Namespace), client.MatchingFields{workloads.ByOwner: string(owner)}, shared); err != nil {
				return fmt.Errorf("list pods of %s %s: %w", w.Kind, w.Name, err)
			}
			owned = append(owned, list.Items...)
		}
		w.addPods(owned, r.podVersions)
	}
	return nil
}

// replicaSets returns the UIDs of the ReplicaSets of each Deployment.
func (r *Reconciler) replicaSets(ctx context.Context, o *observation) (map[types.UID][]types.UID, error) {
	all := map[types.UID][]types.UID{}
	for _, w := range o.workloads {
		if w.Kind != autorebootv1.TargetDeployment {
			continue
		}
		list := metav1.PartialObjectMetadataList{TypeMeta: workloads.ReplicaSets().TypeMeta}
		list.Kind += "List"
		if err := r.Client.List(ctx, &list, client.InNamespace(o.key.Namespace), client.MatchingFields{workloads.ByOwner: string(w.UID)}, shared); err != nil {
			return nil, fmt.Errorf("list ReplicaSets of Deployment %s: %w", w.Name, err)
		}
		for i := range list.Items {
			all[w.UID] = append(all[w.UID], list.Items[i].UID)
		}
	}
	return all, nil
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
			Name: p.Name, UID: p.UID, Created: p.CreationTimestamp.Time, Version: versions.createdAt(p.UID), Ready: workloads.IsReady(p),
			Terminating: !p.DeletionTimestamp.IsZero(), Node: p.Spec.NodeName,
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
		w.ips = append(w.ips, p.Status.PodIP)
	}
}
