// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/fairlead-dev/fairlead/controllers/internal/workloads"
)

func TestPodsThatARolloutLeavesAloneDoNotCount(t *testing.T) {
	s := &appsv1.StatefulSet{Spec: appsv1.StatefulSetSpec{
		Replicas: ptr.To(int32(4)), Ordinals: &appsv1.StatefulSetOrdinals{Start: 5},
		UpdateStrategy: appsv1.StatefulSetUpdateStrategy{RollingUpdate: &appsv1.RollingUpdateStatefulSetStrategy{Partition: ptr.To(int32(2))}},
	}}
	pods := []corev1.Pod{*pod("db-8", nil), *pod("db-5", nil), *pod("db-6", nil), *pod("db-7", nil)}
	pods[0].Status.Phase = corev1.PodFailed
	pods[3].DeletionTimestamp = &metav1.Time{Time: epoch}
	pods[3].Status.ContainerStatuses = []corev1.ContainerStatus{{RestartCount: 2}}
	pods[3].Status.InitContainerStatuses = []corev1.ContainerStatus{{RestartCount: 1}}
	w := &workload{Workload: *workloads.StatefulSet(s, false)}
	w.addPods(pods, &podCreationVersions{})
	if len(w.Pods) != 1 || w.Pods[0].Name != "db-7" || !w.Pods[0].Terminating || w.Pods[0].Restarts != 3 || !w.Pods[0].Ready {
		t.Errorf("took %+v", w.Pods)
	}
	w = &workload{Workload: *workloads.StatefulSet(s, true)}
	w.addPods(pods, &podCreationVersions{})
	if len(w.Pods) != 3 || w.Pods[0].Name != "db-5" {
		t.Errorf("to evict: %+v", w.Pods)
	}
}
