// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-dev/fairlead/controllers/internal/workloads"
)

// What decisions are made from must be the same of a pod in the cache.
func TestAPodOfTheCacheSaysWhatItSaidBefore(t *testing.T) {
	for name, c := range map[string]struct {
		probed, crashed, unschedulable bool
	}{
		"a container without a probe restarted":                {},
		"a container restarted before its pod was first ready": {probed: true},
		"a container restarted since":                          {probed: true, crashed: true},
		"it cannot be scheduled":                               {unschedulable: true},
	} {
		t.Run(name, func(t *testing.T) {
			start := metav1.NewTime(epoch)
			p := &corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main"}, {Name: "other"}}}}
			if c.probed {
				p.Spec.Containers[0].ReadinessProbe = &corev1.Probe{}
			}
			ready := corev1.PodCondition{Type: corev1.PodReady, Status: corev1.ConditionFalse, LastTransitionTime: start}
			if c.crashed {
				ready.LastTransitionTime = metav1.NewTime(epoch.Add(time.Minute))
			}
			p.Status = corev1.PodStatus{StartTime: &start, Conditions: []corev1.PodCondition{ready}, ContainerStatuses: []corev1.ContainerStatus{
				{Name: "main", RestartCount: 2, LastTerminationState: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{FinishedAt: ready.LastTransitionTime}}},
				{Name: "other", RestartCount: 1},
			}}
			if c.unschedulable {
				p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{
					Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable, Message: "0/3 nodes are available"})
			}
			before := p.DeepCopy()
			stripped, err := stripPod(p)
			if err != nil {
				t.Fatal(err)
			}
			after, ok := stripped.(*corev1.Pod)
			if !ok {
				t.Fatalf("%T", stripped)
			}
			total, beforeReady := workloads.Restarts(before)
			if n, b := workloads.Restarts(after); n != total || b != beforeReady || total != 3 {
				t.Errorf("%d restarts, %d before it was ready; it had %d and %d", n, b, total, beforeReady)
			}
			if since := workloads.ReadyChanged(after); since.IsZero() || !since.Equal(workloads.ReadyChanged(before)) {
				t.Errorf("it is ready or not since %s", since)
			}
			if c := workloads.Unschedulable(before.Status.Conditions); (c == nil) != (workloads.Unschedulable(after.Status.Conditions) == nil) {
				t.Errorf("it was unschedulable: %t", c != nil)
			}
			if !samePod(before, after) {
				t.Error("another pod")
			}
		})
	}
}
