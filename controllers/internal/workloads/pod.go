// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package workloads

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

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

// OwnerOf is what ByOwner holds of an object.
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
