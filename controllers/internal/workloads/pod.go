// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package workloads

import (
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Ordinal is which of a StatefulSet's pods this is: they are named by it.
func Ordinal(pod *corev1.Pod) int {
	ordinal, err := strconv.Atoi(pod.Name[strings.LastIndexByte(pod.Name, '-')+1:])
	if err != nil {
		return 0
	}
	return ordinal
}

// IsFinished says whether a pod has ended for good.
func IsFinished(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}

// IsReady says whether a pod is.
func IsReady(pod *corev1.Pod) bool {
	for i := range pod.Status.Conditions {
		if c := &pod.Status.Conditions[i]; c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

// Restarts of all containers of a pod.
func Restarts(pod *corev1.Pod) int32 {
	total := int32(0)
	for _, all := range [][]corev1.ContainerStatus{pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses} {
		for i := range all {
			total += all[i].RestartCount
		}
	}
	return total
}

// ControllerOf is the UID of what controls an object; "" where nothing does.
func ControllerOf(object metav1.Object) types.UID {
	if owner := metav1.GetControllerOfNoCopy(object); owner != nil {
		return owner.UID
	}
	return ""
}
