// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
)

func TestAStatusThatOthersChangedPasses(t *testing.T) {
	pod := func(version string, phase corev1.PodPhase) *corev1.Pod {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "p", ResourceVersion: version}, Status: corev1.PodStatus{Phase: phase}}
	}
	var own OwnWrites
	own.Record(pod("2", corev1.PodRunning))
	changed := StatusChangedByOthers(&own, func(p *corev1.Pod) any { return &p.Status })
	for name, test := range map[string]struct {
		old, now *corev1.Pod
		want     bool
	}{
		"our own write":      {pod("1", corev1.PodPending), pod("2", corev1.PodRunning), false},
		"another's":          {pod("2", corev1.PodRunning), pod("3", ""), true},
		"another's metadata": {pod("2", corev1.PodRunning), pod("3", corev1.PodRunning), false},
		"a resync":           {pod("3", ""), pod("3", ""), false},
	} {
		if got := changed.Update(event.TypedUpdateEvent[*corev1.Pod]{ObjectOld: test.old, ObjectNew: test.now}); got != test.want {
			t.Errorf("%s: %t, want %t", name, got, test.want)
		}
	}
	if own.Forget(client.ObjectKeyFromObject(pod("", ""))); own.Len() != 0 {
		t.Errorf("%d versions are left", own.Len())
	}
}
