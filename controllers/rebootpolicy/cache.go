// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	"context"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	chaosv1 "github.com/fairlead-dev/fairlead/api/chaos/v1"
	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/controllers/internal/workloads"
	"github.com/fairlead-dev/fairlead/controllers/rebootpolicy/sources"
	"github.com/fairlead-dev/fairlead/internal/text"
	"github.com/fairlead-dev/fairlead/internal/workloadkinds"
)

// lastApplied is kubectl's copy of a whole object in an annotation of it.
const lastApplied = corev1.LastAppliedConfigAnnotation

// Cache returns what the cache must hold for the controller. To save memory, pods are stripped, and ReplicaSets,
// ConfigMaps and Secrets are held as metadata, the latter two only where they are watched.
func Cache(mode sources.Mode) map[client.Object]cache.ByObject {
	objects := map[client.Object]cache.ByObject{
		workloads.ReplicaSets(): {Transform: stripReplicaSet},
		&corev1.Pod{}:           {Transform: stripPod},
	}
	for _, workload := range workloadkinds.AppsObjects() {
		objects[workload] = cache.ByObject{Transform: stripWorkload}
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
	workloads.StripManagedFields(object)
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
	labels, finalizers := pod.Labels, keptFinalizers(pod)
	total, beforeReady := workloads.Restarts(pod)
	ports := workloads.NamedPorts(pod)
	pod.ObjectMeta = identity(&pod.ObjectMeta)
	pod.Finalizers = finalizers
	pod.Labels = labels // the gate NoPods selects by them
	pod.Spec = corev1.PodSpec{NodeName: pod.Spec.NodeName}
	pod.Status = corev1.PodStatus{Phase: pod.Status.Phase, PodIP: pod.Status.PodIP, Conditions: keptConditions(pod)}
	setRestarts(pod, total-beforeReady, beforeReady)
	if len(ports) > 0 {
		pod.Spec.Containers = append(pod.Spec.Containers, corev1.Container{Name: "ports", Ports: ports}) // a probe may name one
	}
	return pod, nil
}

// keptFinalizers returns those of a pod that is being deleted: it exists until they are gone.
func keptFinalizers(pod *corev1.Pod) []string {
	if pod.DeletionTimestamp.IsZero() {
		return nil
	}
	return pod.Finalizers
}

// probedContainer is a container whose restarts may have been before its pod was first ready.
var probedContainer = corev1.Container{Name: "probed", ReadinessProbe: &corev1.Probe{}}

// setRestarts has a pod without containers have restarted so often, as workloads.Restarts returns it.
func setRestarts(pod *corev1.Pod, ready, beforeReady int32) {
	if ready > 0 {
		pod.Status.ContainerStatuses = []corev1.ContainerStatus{{RestartCount: ready}}
	}
	if beforeReady > 0 {
		pod.Spec.Containers = []corev1.Container{probedContainer}
		pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses,
			corev1.ContainerStatus{Name: probedContainer.Name, RestartCount: beforeReady})
	}
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

// maxWaitsFor is the length of what a pod that is not ready waits for, in bytes.
const maxWaitsFor = 256

// keptConditions returns only the condition Ready, with its time and what the pod waits for, and why the pod cannot be scheduled. It
// returns none where there were none, as in a pod that was just created.
func keptConditions(pod *corev1.Pod) []corev1.PodCondition {
	all := pod.Status.Conditions
	if len(all) == 0 {
		return nil
	}
	ready := corev1.PodCondition{Type: corev1.PodReady, Status: corev1.ConditionUnknown}
	for i := range all {
		if all[i].Type == corev1.PodReady {
			ready.Status, ready.LastTransitionTime = all[i].Status, all[i].LastTransitionTime
			ready.Message = text.Truncate(workloads.WaitsFor(pod), maxWaitsFor)
		}
	}
	kept := []corev1.PodCondition{ready}
	if c := workloads.Unschedulable(all); c != nil {
		kept = append(kept, corev1.PodCondition{Type: c.Type, Status: c.Status, Reason: c.Reason, Message: text.Truncate(c.Message, maxRefusal)})
	}
	return kept
}

// samePod reports whether two pods lead to the same decisions.
func samePod(a, b *corev1.Pod) bool {
	return a.UID == b.UID && a.Status.Phase == b.Status.Phase && a.Status.PodIP == b.Status.PodIP &&
		workloads.IsReady(a) == workloads.IsReady(b) && sameRestarts(a, b) &&
		(workloads.Unschedulable(a.Status.Conditions) == nil) == (workloads.Unschedulable(b.Status.Conditions) == nil) &&
		a.DeletionTimestamp.IsZero() == b.DeletionTimestamp.IsZero() && slices.Equal(keptFinalizers(a), keptFinalizers(b)) &&
		workloads.ControllerOf(a) == workloads.ControllerOf(b) && maps.Equal(a.Labels, b.Labels)
}

func sameRestarts(a, b *corev1.Pod) bool {
	total, beforeReady := workloads.Restarts(a)
	totalNow, beforeReadyNow := workloads.Restarts(b)
	return total == totalNow && beforeReady == beforeReadyNow
}
