// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/fairlead-dev/fairlead/controllers/internal/controller"
)

func TestTheVersionOfAPodIsKnownWhereItWasSeenToBeMade(t *testing.T) {
	conditions := func(all ...corev1.PodCondition) func(*corev1.Pod) {
		return func(p *corev1.Pod) { p.Status.Conditions = all }
	}
	for name, c := range map[string]struct {
		initial bool
		put     func(*corev1.Pod)
		want    string
	}{
		"just made":                   {put: func(*corev1.Pod) {}, want: "7"},
		"there when the watch began":  {initial: true, put: func(*corev1.Pod) {}},
		"scheduled already":           {put: conditions(corev1.PodCondition{Type: corev1.PodScheduled, Status: corev1.ConditionTrue})},
		"ready already":               {put: conditions(corev1.PodCondition{Type: corev1.PodReady, Status: corev1.ConditionTrue})},
		"deleted already":             {put: func(p *corev1.Pod) { p.DeletionTimestamp = &metav1.Time{Time: epoch} }},
		"in a namespace of no policy": {put: func(p *corev1.Pod) { p.Namespace = "elsewhere" }},
	} {
		t.Run(name, func(t *testing.T) {
			pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: policyKey.Namespace, Name: "web-1", UID: "u", ResourceVersion: "7"}}
			c.put(pod)
			stripped, err := stripPod(pod)
			if err != nil {
				t.Fatal(err)
			}
			is := &controller.WatchIndex[*watchSet]{}
			is.Set(policyKey, &watchSet{})
			b := &podCreationVersions{}
			heard := 0
			notes := b.recordThen(is, handler.TypedFuncs[*corev1.Pod, reconcile.Request]{
				CreateFunc: func(_ context.Context, _ event.TypedCreateEvent[*corev1.Pod], _ queue) { heard++ },
				DeleteFunc: func(_ context.Context, _ event.TypedDeleteEvent[*corev1.Pod], _ queue) { heard++ },
			})
			notes.Create(t.Context(), event.TypedCreateEvent[*corev1.Pod]{Object: stripped.(*corev1.Pod), IsInInitialList: c.initial}, nil)
			if got := b.get("u").created; got != c.want {
				t.Errorf("version %q, want %q", got, c.want)
			}
			notes.Delete(t.Context(), event.TypedDeleteEvent[*corev1.Pod]{Object: pod}, nil)
			if got := b.get("u").created; got != "" || heard != 2 {
				t.Errorf("a pod that is gone still has version %q; %d events went on, want 2", got, heard)
			}
		})
	}
}
