// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package workloads

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// noticedWithin is how long after the end of a container the kubelet has its pod be unready.
const noticedWithin = 2 * time.Second

// Ordinal is which of a StatefulSet's pods this is: they are named by it.
func Ordinal(pod *corev1.Pod) int {
	ordinal, err := strconv.Atoi(pod.Name[strings.LastIndexByte(pod.Name, '-')+1:])
	if err != nil {
		return 0
	}
	return ordinal
}

// IsFinished reports whether a pod has ended for good.
func IsFinished(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}

// IsReady reports whether a pod is.
func IsReady(pod *corev1.Pod) bool {
	for i := range pod.Status.Conditions {
		if c := &pod.Status.Conditions[i]; c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

// ReadyChanged returns when a pod became ready, or stopped being so; zero where nothing says so.
func ReadyChanged(pod *corev1.Pod) time.Time {
	for i := range pod.Status.Conditions {
		if c := &pod.Status.Conditions[i]; c.Type == corev1.PodReady {
			return c.LastTransitionTime.Time
		}
	}
	return time.Time{}
}

// Unschedulable returns the condition that says why a pod cannot be scheduled; nil where it can, or nothing says so.
func Unschedulable(conditions []corev1.PodCondition) *corev1.PodCondition {
	for i := range conditions {
		if c := &conditions[i]; c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse && c.Reason == corev1.PodReasonUnschedulable {
			return c
		}
	}
	return nil
}

// WaitsFor returns why a pod is not ready, in the words of its containers; empty where it is, or nothing says so.
func WaitsFor(pod *corev1.Pod) string {
	for _, all := range [][]corev1.ContainerStatus{pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses} {
		for i := range all {
			if waiting := all[i].State.Waiting; waiting != nil && waiting.Reason != "" {
				return strings.TrimSuffix("container "+all[i].Name+": "+waiting.Reason+": "+waiting.Message, ": ")
			}
		}
	}
	for i := range pod.Status.Conditions {
		if c := &pod.Status.Conditions[i]; c.Type == corev1.PodReady && c.Status != corev1.ConditionTrue {
			return c.Message
		}
	}
	return ""
}

// NamedPorts returns the TCP ports of a pod's containers and sidecars that have a name.
func NamedPorts(pod *corev1.Pod) []corev1.ContainerPort {
	var named []corev1.ContainerPort
	add := func(c *corev1.Container) {
		for _, p := range c.Ports {
			if p.Name != "" && (p.Protocol == corev1.ProtocolTCP || p.Protocol == "") {
				named = append(named, corev1.ContainerPort{Name: p.Name, ContainerPort: p.ContainerPort})
			}
		}
	}
	for i := range pod.Spec.Containers {
		add(&pod.Spec.Containers[i])
	}
	for i := range pod.Spec.InitContainers {
		if c := &pod.Spec.InitContainers[i]; ptr.Deref(c.RestartPolicy, "") == corev1.ContainerRestartPolicyAlways {
			add(c)
		}
	}
	return named
}

// PortOf returns the number of a pod's port; 0 where it has none of that name.
func PortOf(pod *corev1.Pod, port *intstr.IntOrString) uint16 {
	if port.Type == intstr.Int {
		return uint16(port.IntVal)
	}
	for _, p := range NamedPorts(pod) {
		if p.Name == port.StrVal {
			return uint16(p.ContainerPort)
		}
	}
	return 0
}

// Restarts returns how often the containers of a pod restarted, and how many of these may have been before the pod was first
// ready. Those of init containers and sidecars do not count: the pod is not ready without them. Nor do those of a container
// that a resize restarts, unless it is backing off. A container without a probe is ready as soon as it runs.
func Restarts(pod *corev1.Pod) (total, beforeReady int32) {
	crashed := hasCrashed(pod)
	for i := range pod.Status.ContainerStatuses {
		c := &pod.Status.ContainerStatuses[i]
		spec := containerOf(pod, c.Name)
		if restartsForResize(spec) && !isBackingOff(c) {
			continue
		}
		total += c.RestartCount
		if !crashed && (spec.ReadinessProbe != nil || spec.StartupProbe != nil) {
			beforeReady += c.RestartCount
		}
	}
	return total, beforeReady
}

// containerOf returns the spec of a container; an empty one where the pod has none of that name.
func containerOf(pod *corev1.Pod, name string) *corev1.Container {
	for i := range pod.Spec.Containers {
		if c := &pod.Spec.Containers[i]; c.Name == name {
			return c
		}
	}
	return &corev1.Container{}
}

// restartsForResize reports whether a container restarts where its resources are changed in place.
func restartsForResize(c *corev1.Container) bool {
	return slices.ContainsFunc(c.ResizePolicy, func(p corev1.ContainerResizePolicy) bool { return p.RestartPolicy == corev1.RestartContainer })
}

func isBackingOff(c *corev1.ContainerStatus) bool {
	return c.State.Waiting != nil && c.State.Waiting.Reason == "CrashLoopBackOff"
}

// hasCrashed reports whether a pod has been ready and is not any more, and one of its containers ended at that time or later.
// Both times are those of the kubelet. A pod that was never ready has not crashed: its start may take several tries.
func hasCrashed(pod *corev1.Pod) bool {
	unready := time.Time{}
	for i := range pod.Status.Conditions {
		if c := &pod.Status.Conditions[i]; c.Type == corev1.PodReady && c.Status == corev1.ConditionFalse {
			unready = c.LastTransitionTime.Time
		}
	}
	started := pod.CreationTimestamp.Time
	if pod.Status.StartTime != nil {
		started = pod.Status.StartTime.Time
	}
	if !unready.After(started) {
		return false
	}
	return slices.ContainsFunc(pod.Status.ContainerStatuses, func(c corev1.ContainerStatus) bool {
		ended := c.LastTerminationState.Terminated
		if c.State.Terminated != nil {
			ended = c.State.Terminated
		}
		return ended != nil && !ended.FinishedAt.Add(noticedWithin).Before(unready)
	})
}

// ControllerOf is the UID of what controls an object; "" where nothing does.
func ControllerOf(object metav1.Object) types.UID {
	if owner := metav1.GetControllerOfNoCopy(object); owner != nil {
		return owner.UID
	}
	return ""
}

// ByOwner is the index of ReplicaSets and pods by the UID of their controller.
const ByOwner = "metadata.controller"

// Index has the cache keep the index ByOwner. It must be called once for each cache.
func Index(ctx context.Context, in client.FieldIndexer) error {
	for _, owned := range []client.Object{&corev1.Pod{}, ReplicaSets()} {
		if err := in.IndexField(ctx, owned, ByOwner, OwnerOf); err != nil {
			return fmt.Errorf("index %T by owner: %w", owned, err)
		}
	}
	return nil
}

// OwnerOf returns the values of an object in the index ByOwner: the UID of its controller, if it has one.
func OwnerOf(object client.Object) []string {
	if owner := ControllerOf(object); owner != "" {
		return []string{string(owner)}
	}
	return nil
}

// ReplicaSets asks for the metadata of ReplicaSets.
func ReplicaSets() *metav1.PartialObjectMetadata {
	return &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: appsv1.SchemeGroupVersion.String(), Kind: "ReplicaSet"}}
}
