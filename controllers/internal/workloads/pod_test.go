// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package workloads

import (
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
)

func TestWhatCountsAsARestart(t *testing.T) {
	start := metav1.NewTime(time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC))
	at := func(seconds int) metav1.Time { return metav1.NewTime(start.Add(time.Duration(seconds) * time.Second)) }
	resized := corev1.Container{Name: "main", ResizePolicy: []corev1.ContainerResizePolicy{{ResourceName: corev1.ResourceMemory, RestartPolicy: corev1.RestartContainer}}}
	for name, c := range map[string]struct {
		ready     corev1.ConditionStatus
		since     metav1.Time
		container corev1.Container
		state     corev1.ContainerState
		ended     metav1.Time
		sidecar   bool
		restarts  int32
		before    int32
		unprobed  bool
	}{
		"a crash before it was first ready":                          {ready: corev1.ConditionFalse, since: start, ended: at(5), restarts: 1, before: 1},
		"a crash after it was ready":                                 {ready: corev1.ConditionFalse, since: at(10), ended: at(10), restarts: 1},
		"one that is noticed a second later":                         {ready: corev1.ConditionFalse, since: at(11), ended: at(10), restarts: 1},
		"a probe that fails after a crash before it was first ready": {ready: corev1.ConditionFalse, since: at(60), ended: at(5), restarts: 1, before: 1},
		"a crash, and it is ready again":                             {ready: corev1.ConditionTrue, since: at(12), ended: at(10), restarts: 1, before: 1},
		"a crash of a container without a probe":                     {ready: corev1.ConditionFalse, since: start, ended: at(5), unprobed: true, restarts: 1},
		"a sidecar that ends once":                                   {ready: corev1.ConditionTrue, since: at(2), ended: at(10), sidecar: true},
		"a resize":                                                   {ready: corev1.ConditionTrue, since: at(2), ended: at(10), container: resized},
		"a crash loop after a resize": {ready: corev1.ConditionFalse, since: at(12), ended: at(12), container: resized,
			state: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}}, restarts: 1},
	} {
		t.Run(name, func(t *testing.T) {
			if c.container.Name = "main"; !c.unprobed {
				c.container.ReadinessProbe = &corev1.Probe{}
			}
			pod := &corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{c.container}}}
			status := []corev1.ContainerStatus{{Name: "main", RestartCount: 1, State: c.state,
				LastTerminationState: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{FinishedAt: c.ended}}}}
			pod.Status = corev1.PodStatus{StartTime: &start, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: c.ready, LastTransitionTime: c.since}}}
			if c.sidecar {
				pod.Status.InitContainerStatuses = status
			} else {
				pod.Status.ContainerStatuses = status
			}
			if total, before := Restarts(pod); total != c.restarts || before != c.before {
				t.Errorf("%d restarts, %d before it was ready; want %d and %d", total, before, c.restarts, c.before)
			}
		})
	}
}

func TestATemplateIsTheSameWithoutTheAnnotationsOfARestart(t *testing.T) {
	of := func(image string, annotations map[string]string) string {
		d := &appsv1.Deployment{Spec: appsv1.DeploymentSpec{Template: corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Annotations: annotations}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: image}}},
		}}}
		return Deployment(d, false).TemplateHash
	}
	plain := of("a", nil)
	if of("a", map[string]string{autorebootv1.RestartIDAnnotation: "x", RestartedAtAnnotation: "now"}) != plain || of("a", map[string]string{}) != plain {
		t.Error("a restart makes another template")
	}
	if of("b", nil) == plain || of("a", map[string]string{"own": "x"}) == plain {
		t.Error("another template is taken for the same")
	}
}
