// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/internal/restart"
)

// workload is a target as the cache has it.
type workload struct {
	restart.Workload
	version  string // metadata.resourceVersion
	template *corev1.PodTemplateSpec
	// ips are the addresses of the pods of Workload, in their order.
	ips []string
	// keeps says of a pod's ordinal that a rollout would leave the pod as it is.
	keeps func(ordinal int) bool
}

func newWorkload(kind autorebootv1.TargetKind, object metav1.Object, template *corev1.PodTemplateSpec) *workload {
	w := &workload{version: object.GetResourceVersion(), template: template}
	w.Kind, w.Name, w.UID, w.Generation = kind, object.GetName(), object.GetUID(), object.GetGeneration()
	w.RestartID = template.Annotations[autorebootv1.RestartIDAnnotation]
	if object.GetDeletionTimestamp() != nil {
		w.Obstacle = autorebootv1.ReasonTerminating
	}
	return w
}

// hinders notes the first obstacle.
func (w *workload) hinders(reason string, holds bool) {
	if holds && w.Obstacle == "" {
		w.Obstacle = reason
	}
}

// counts are what the status of a workload says.
type counts struct {
	seen                             bool // its controller has seen the latest spec
	desired, all, updated, available int32
	toUpdate                         int32 // pods that a rollout reaches
	byHand                           bool  // a change of the template rolls nothing out by itself
}

// counted draws the conclusions. Where a change of the template waits for a hand, which is no obstacle
// to evicting pods, of what revision they are says nothing about a rollout.
func (w *workload) counted(c counts) {
	w.Desired = c.desired
	w.Available = c.available >= c.desired
	w.Updated = c.seen && (c.byHand || c.updated >= c.toUpdate && c.all <= max(c.updated, c.desired))
	w.Complete = w.Updated && w.Available
}

// deploymentOf reads a Deployment; evicts says that its pods would be evicted.
func deploymentOf(d *appsv1.Deployment, evicts bool) *workload {
	w := newWorkload(autorebootv1.TargetDeployment, d, &d.Spec.Template)
	desired := ptr.Deref(d.Spec.Replicas, 1)
	w.hinders(autorebootv1.ReasonPaused, d.Spec.Paused && !evicts)
	w.hinders(autorebootv1.ReasonScaledToZero, desired == 0)
	w.counted(counts{
		seen: d.Status.ObservedGeneration >= d.Generation, desired: desired, toUpdate: desired,
		all: d.Status.Replicas, updated: d.Status.UpdatedReplicas, available: d.Status.AvailableReplicas,
		byHand: d.Spec.Paused,
	})
	return w
}

// statefulSetOf reads a StatefulSet.
func statefulSetOf(s *appsv1.StatefulSet, evicts bool) *workload {
	w := newWorkload(autorebootv1.TargetStatefulSet, s, &s.Spec.Template)
	desired, partition := ptr.Deref(s.Spec.Replicas, 1), int32(0)
	onDelete := s.Spec.UpdateStrategy.Type == appsv1.OnDeleteStatefulSetStrategyType
	if rolling := s.Spec.UpdateStrategy.RollingUpdate; rolling != nil && !onDelete {
		partition = ptr.Deref(rolling.Partition, 0)
	}
	w.hinders(autorebootv1.ReasonScaledToZero, desired == 0)
	w.hinders(autorebootv1.ReasonOnDelete, onDelete && !evicts)
	w.hinders(autorebootv1.ReasonPartitioned, partition >= desired && !evicts)
	w.counted(counts{
		seen: s.Status.ObservedGeneration >= s.Generation, desired: desired, toUpdate: max(desired-partition, 0),
		all: s.Status.Replicas, updated: s.Status.UpdatedReplicas, available: s.Status.AvailableReplicas,
		byHand: onDelete,
	})
	if partition > 0 && !evicts {
		first := 0
		if s.Spec.Ordinals != nil {
			first = int(s.Spec.Ordinals.Start)
		}
		w.keeps = func(ordinal int) bool { return ordinal < first+int(partition) }
	}
	return w
}

// daemonSetOf reads a DaemonSet.
func daemonSetOf(d *appsv1.DaemonSet, evicts bool) *workload {
	w := newWorkload(autorebootv1.TargetDaemonSet, d, &d.Spec.Template)
	onDelete := d.Spec.UpdateStrategy.Type == appsv1.OnDeleteDaemonSetStrategyType
	seen, desired := d.Status.ObservedGeneration >= d.Generation, d.Status.DesiredNumberScheduled
	w.hinders(autorebootv1.ReasonScaledToZero, seen && desired == 0)
	w.hinders(autorebootv1.ReasonOnDelete, onDelete && !evicts)
	w.counted(counts{
		seen: seen, desired: desired, toUpdate: desired,
		all: d.Status.CurrentNumberScheduled, updated: d.Status.UpdatedNumberScheduled, available: d.Status.NumberAvailable,
		byHand: onDelete,
	})
	w.Available = w.Available && d.Status.ObservedGeneration > 0 // before that desired is nought
	w.Complete = w.Complete && w.Available
	return w
}

// ordinalOf is which of a StatefulSet's pods this is: they are named by it.
func ordinalOf(pod *corev1.Pod) int {
	ordinal, err := strconv.Atoi(pod.Name[strings.LastIndexByte(pod.Name, '-')+1:])
	if err != nil {
		return 0
	}
	return ordinal
}

func finished(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}

func isReady(pod *corev1.Pod) bool {
	for i := range pod.Status.Conditions {
		if c := &pod.Status.Conditions[i]; c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

func restartsOf(pod *corev1.Pod) int32 {
	total := int32(0)
	for _, all := range [][]corev1.ContainerStatus{pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses} {
		for i := range all {
			total += all[i].RestartCount
		}
	}
	return total
}
