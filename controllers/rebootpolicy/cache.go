// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	"context"
	"maps"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	chaosv1 "github.com/fairlead-dev/fairlead/api/chaos/v1"
	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/controllers/internal/workloads"
	"github.com/fairlead-dev/fairlead/controllers/rebootpolicy/sources"
)

// lastApplied is kubectl's copy of a whole object in an annotation of it.
const lastApplied = corev1.LastAppliedConfigAnnotation

// Cache returns what the cache must hold for the controller. To save memory, pods are stripped, and ReplicaSets,
// ConfigMaps and Secrets are held as metadata, the latter two only where they are watched.
func Cache(mode sources.Mode) map[client.Object]cache.ByObject {
	objects := map[client.Object]cache.ByObject{
		&appsv1.Deployment{}:    {Transform: stripWorkload},
		&appsv1.StatefulSet{}:   {Transform: stripWorkload},
		&appsv1.DaemonSet{}:     {Transform: stripWorkload},
		workloads.ReplicaSets(): {Transform: stripReplicaSet},
		&corev1.Pod{}:           {Transform: stripPod},
	}
	if mode == sources.Watch {
		maps.Copy(objects, sources.ByObject())
	}
	return objects
}

// Index adds the index by which this controller and that of ChaosPods find pods. It must be called once for each
// cache.
func Index(ctx context.Context, in client.FieldIndexer) error { return workloads.Index(ctx, in) }

// Kinds returns all that the controller reads from the cache.
func Kinds(mode sources.Mode) []client.Object {
	return append(slices.Collect(maps.Keys(Cache(mode))), &autorebootv1.RebootPolicy{}, &networkingv1.ExternalService{}, &chaosv1.ChaosPod{})
}

func stripWorkload(in any) (any, error) {
	object, ok := in.(client.Object)
	if !ok {
		return in, nil
	}
	object.SetManagedFields(nil)
	if annotations := object.GetAnnotations(); annotations[lastApplied] != "" {
		annotations = maps.Clone(annotations)
		delete(annotations, lastApplied)
		object.SetAnnotations(annotations)
	}
	return in, nil
}

func stripReplicaSet(in any) (any, error) {
	rs, ok := in.(*metav1.PartialObjectMetadata)
	if !ok {
		return in, nil
	}
	rs.ObjectMeta = identity(&rs.ObjectMeta)
	return rs, nil
}

// stripPod keeps what decisions are made from.
func stripPod(in any) (any, error) {
	pod, ok := in.(*corev1.Pod)
	if !ok {
		return in, nil
	}
	labels := pod.Labels
	pod.ObjectMeta = identity(&pod.ObjectMeta)
	pod.Labels = labels // the gate NoPods selects by them
	pod.Spec = corev1.PodSpec{}
	pod.Status = corev1.PodStatus{
		Phase: pod.Status.Phase, PodIP: pod.Status.PodIP, Conditions: readyCondition(pod.Status.Conditions),
		ContainerStatuses:     restartCounts(pod.Status.ContainerStatuses),
		InitContainerStatuses: restartCounts(pod.Status.InitContainerStatuses),
	}
	return pod, nil
}

func identity(of *metav1.ObjectMeta) metav1.ObjectMeta {
	kept := metav1.ObjectMeta{
		Namespace: of.Namespace, Name: of.Name, UID: of.UID, ResourceVersion: of.ResourceVersion,
		CreationTimestamp: of.CreationTimestamp, DeletionTimestamp: of.DeletionTimestamp,
	}
	if owner := metav1.GetControllerOf(of); owner != nil {
		kept.OwnerReferences = []metav1.OwnerReference{*owner}
	}
	return kept
}

// readyCondition returns only the condition Ready, and none where there were none, as in a pod that was just
// created.
func readyCondition(all []corev1.PodCondition) []corev1.PodCondition {
	if len(all) == 0 {
		return nil
	}
	ready := corev1.PodCondition{Type: corev1.PodReady, Status: corev1.ConditionUnknown}
	for i := range all {
		if all[i].Type == corev1.PodReady {
			ready.Status = all[i].Status
		}
	}
	return []corev1.PodCondition{ready}
}

// restartCounts returns the sum over all containers.
func restartCounts(all []corev1.ContainerStatus) []corev1.ContainerStatus {
	total := int32(0)
	for i := range all {
		total += all[i].RestartCount
	}
	if total == 0 {
		return nil
	}
	return []corev1.ContainerStatus{{RestartCount: total}}
}

// samePod reports whether two pods lead to the same decisions.
func samePod(a, b *corev1.Pod) bool {
	return a.UID == b.UID && a.Status.Phase == b.Status.Phase && a.Status.PodIP == b.Status.PodIP &&
		workloads.IsReady(a) == workloads.IsReady(b) && sameRestarts(a, b) &&
		a.DeletionTimestamp.IsZero() == b.DeletionTimestamp.IsZero() &&
		workloads.ControllerOf(a) == workloads.ControllerOf(b) && maps.Equal(a.Labels, b.Labels)
}

func sameRestarts(a, b *corev1.Pod) bool {
	total, beforeReady := workloads.Restarts(a)
	totalNow, beforeReadyNow := workloads.Restarts(b)
	return total == totalNow && beforeReady == beforeReadyNow
}
