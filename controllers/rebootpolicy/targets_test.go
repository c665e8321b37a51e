// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	"fmt"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/api/common"
	"github.com/fairlead-dev/fairlead/controllers/internal/workloads"
	"github.com/fairlead-dev/fairlead/controllers/rebootpolicy/restart"
)

// observe returns what a reconcile would observe, and decides nothing.
func (s *suite) observe() *observation {
	s.Helper()
	seen := s.begin(s.object())
	s.must(s.Reconciler.observe(s.Context(), seen))
	return seen
}

func names(all []*workload) string {
	var out []string
	for _, w := range all {
		out = append(out, fmt.Sprintf("%d %s", w.Wave, w.Name))
	}
	return strings.Join(out, ", ")
}

func TestTargetsAreOrderedAndCountOnceWithTheWaveOfTheirName(t *testing.T) {
	part := map[string]string{"part": "shop"}
	var objects []client.Object
	for _, name := range []string{"c", "b", "a"} {
		objects = append(objects, deployment(name, 1, part)...)
	}
	objects = append(objects, deployment("other", 1, nil)...)
	s := newSuite(t, `
targets:
- {kind: Deployment, selector: {matchLabels: {part: shop}}, wave: 2}
- {kind: Deployment, name: c, wave: 3}
- {kind: StatefulSet, name: gone}
- {kind: DaemonSet, selector: {matchLabels: {part: shop}}}
triggers: [{name: old, type: PodAge, podAge: {max: 24h}}]
`, objects...)
	seen := s.observe()
	if got := names(seen.workloads); got != "2 a, 2 b, 3 c" {
		t.Errorf("targets %s", got)
	}
	reason, messages := worstProblem(seen.problems)
	want := "StatefulSet gone does not exist; no DaemonSet matches the selector of spec.targets[3]"
	if reason != autorebootv1.ReasonTargetNotFound || strings.Join(messages, "; ") != want {
		t.Errorf("%s: %q", reason, messages)
	}
	s.edit(func(p *autorebootv1.RebootPolicy) { // not every namespace has workloads of each kind of a template
		p.OwnerReferences = []metav1.OwnerReference{{APIVersion: autorebootv1.GroupVersion.String(), Kind: "ClusterRebootPolicy", Name: "all", UID: types.UID("u"), Controller: ptr.To(true)}}
	})
	if _, messages = worstProblem(s.observe().problems); strings.Join(messages, "; ") != "StatefulSet gone does not exist" {
		t.Errorf("%q", messages)
	}
}

func TestPodsAreThoseThatAWorkloadOwns(t *testing.T) {
	objects := append(deployment("api", 2, nil), deployment("web", 1, nil)...)
	stray := pod("api-1-stray", nil)
	done := pod("api-1-done", owned("ReplicaSet", "api-1", "rs-uid-api"))
	done.Status.Phase = corev1.PodSucceeded
	s := newSuite(t, config, append(objects, stray, done)...)
	seen := s.observe()
	var got []string
	for _, p := range seen.workloads[0].Pods {
		got = append(got, p.Name)
	}
	if strings.Join(got, " ") != "api-1-0 api-1-1" {
		t.Errorf("pods %q", got)
	}
	cares := s.watchIndex.In("shop", func(w *watchSet) bool { return w.matchesPod("rs-uid-api", nil) })
	other := s.watchIndex.In("shop", func(w *watchSet) bool { return w.matchesPod("rs-uid-web", nil) })
	if len(cares) != 1 || len(other) != 0 {
		t.Errorf("pods of the target are heard of by %v, others by %v", cares, other)
	}
}

func TestPodsOfAStatefulSetAreItsOwn(t *testing.T) {
	set := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "db", UID: "uid-db"}}
	s := newSuite(t, strings.Replace(config, "{kind: Deployment, name: api}", "{kind: StatefulSet, name: db}", 1),
		set, pod("db-0", owned("StatefulSet", "db", "uid-db")), pod("other-0", owned("StatefulSet", "other", "uid-other")))
	if got := s.observe().workloads[0].Pods; len(got) != 1 || got[0].Name != "db-0" {
		t.Errorf("pods %+v", got)
	}
}

func TestBeyondTheBoundWhatIsWatchedStays(t *testing.T) {
	s := &observation{policy: &autorebootv1.RebootPolicy{}}
	var all []*workload
	for i := range maxTargets + 2 {
		w := &workload{}
		w.Kind, w.Name, w.UID = common.WorkloadDeployment, fmt.Sprintf("w%03d", i), types.UID(fmt.Sprint(i))
		all = append(all, w)
	}
	last := all[len(all)-1]
	s.policy.Status.Targets = []autorebootv1.TargetStatus{{Kind: last.Kind, Name: last.Name, UID: last.UID}}
	s.limitTargets(all, true)
	got := s.workloads
	if len(got) != maxTargets || got[maxTargets-1] != last || got[0].Name != "w000" {
		t.Errorf("%d targets, from %s to %s", len(got), got[0].Name, got[len(got)-1].Name)
	}
	if reason, messages := worstProblem(s.problems); reason != autorebootv1.ReasonTooManyTargets || !strings.HasPrefix(messages[0], "102 workloads match") || !strings.Contains(messages[0], "2 are left alone (Deployment w") {
		t.Errorf("%s: %q", reason, messages)
	}
}

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
	w := &workload{Workload: restart.Workload{Workload: *workloads.StatefulSet(s, false)}}
	w.addPods(pods, &podCreationVersions{})
	if len(w.Pods) != 1 || w.Pods[0].Name != "db-7" || !w.Pods[0].Terminating || w.Pods[0].Restarts != 2 || !w.Pods[0].Ready {
		t.Errorf("took %+v", w.Pods)
	}
	w = &workload{Workload: restart.Workload{Workload: *workloads.StatefulSet(s, true)}}
	w.addPods(pods, &podCreationVersions{})
	if len(w.Pods) != 3 || w.Pods[0].Name != "db-5" {
		t.Errorf("to evict: %+v", w.Pods)
	}
}
