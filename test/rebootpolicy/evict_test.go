// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/test/framework"
)

const evict = "strategy: {type: Evict, evict: {timeout: 3s}}, "

// herd follows the pods of a workload through every change.
type herd struct {
	mu     sync.Mutex
	pods   map[types.UID]bool // whether it is ready, and stays
	seen   map[types.UID]bool
	fewest int // ready at once
}

// watchPods ends with the test. All pods must be ready.
func (s *suite) watchPods(app string) *herd {
	s.Helper()
	h := &herd{pods: map[types.UID]bool{}, seen: map[types.UID]bool{}}
	var list corev1.PodList
	s.Must(s.Client.List(s.Context(), &list, client.InNamespace(s.Namespace), client.MatchingLabels{"app": app}))
	for i := range list.Items {
		h.note(watch.Modified, &list.Items[i])
	}
	h.fewest = len(list.Items)
	changes, err := s.Client.Watch(s.Context(), &corev1.PodList{}, client.InNamespace(s.Namespace), client.MatchingLabels{"app": app},
		&client.ListOptions{Raw: &metav1.ListOptions{ResourceVersion: list.ResourceVersion}})
	s.Must(err)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for change := range changes.ResultChan() {
			if pod, ok := change.Object.(*corev1.Pod); ok {
				h.note(change.Type, pod)
			}
		}
	}()
	s.Cleanup(func() { changes.Stop(); <-done })
	return h
}

func (h *herd) note(change watch.EventType, pod *corev1.Pod) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.seen[pod.UID] = true
	ready := false
	for _, c := range pod.Status.Conditions {
		ready = ready || c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	}
	h.pods[pod.UID] = ready && pod.DeletionTimestamp == nil && change != watch.Deleted
	n := 0
	for _, up := range h.pods {
		if up {
			n++
		}
	}
	h.fewest = min(h.fewest, n)
}

// figures are how many pods there ever were, and how few were ready at the worst moment.
func (h *herd) figures() (seen, fewest int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.seen), h.fewest
}

// budget creates a PodDisruptionBudget, and waits until it allows so many disruptions.
func (s *suite) budget(name, app string, minAvailable, allowed int) {
	s.Helper()
	s.Make(fmt.Sprintf("{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: %s}, spec: {minAvailable: %d, selector: {matchLabels: {app: %s}}}}", name, minAvailable, app))
	s.Eventually(func() error {
		o := s.Object("{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: " + name + "}}")
		s.Must(s.Client.Get(s.Context(), objectKey(o), o))
		status, ok := o.Object["status"].(map[string]any)
		if !ok || status["observedGeneration"] == nil || status["disruptionsAllowed"] != int64(allowed) {
			return fmt.Errorf("budget %s: %s", name, framework.Text(status))
		}
		return nil
	})
}

func objectKey(o client.Object) client.ObjectKey { return client.ObjectKeyFromObject(o) }

func TestEvictionReplacesEveryPodOnceWithinTheBudgetAndLeavesTheTemplateAlone(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	s.secret("creds", "password", "first")
	s.workload(deployment, "web", takes("creds"), replicas(4))
	// For neither of these would a changed template do anything.
	s.workload(statefulSet, "manual", takes("creds"), replicas(2), with("OnDelete", "spec", "updateStrategy", "type"))
	s.workload(deployment, "paused", takes("creds"), replicas(2))
	s.available(deployment, "web")
	s.available(statefulSet, "manual")
	s.available(deployment, "paused")
	s.Merge("apps/v1", deployment, "paused", "{spec: {paused: true}}")
	s.budget("web", "web", 3, 1)
	s.policy("p", `{targets: [{kind: Deployment, name: web}, {kind: StatefulSet, name: manual}, {kind: Deployment, name: paused}],
		strategy: {type: Evict}, `+onConfig+"}")
	s.watching("p", 3)
	web, manual, paused := s.watchPods("web"), s.watchPods("manual"), s.watchPods("paused")

	s.secret("creds", "password", "second")
	s.succeeded("p", 3)
	for name, want := range map[string]struct {
		herd      *herd
		pods, few int
	}{"web": {web, 4, 3}, "manual": {manual, 2, 1}, "paused": {paused, 2, 1}} {
		seen, fewest := want.herd.figures()
		if seen != 2*want.pods {
			t.Errorf("%s had %d pods in all, want each of %d replaced once", name, seen, want.pods)
		}
		if fewest < want.few {
			t.Errorf("%s had as few as %d pods ready, want %d at least", name, fewest, want.few)
		}
	}
	s.restarted(deployment, "web", 0)
	s.restarted(statefulSet, "manual", 0)
	s.generation(deployment, "paused", 2)
	s.normal("p")
}

func TestABudgetThatAllowsNothingIsRespected(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	s.secret("creds", "password", "first")
	s.run(deployment, "web", takes("creds"), replicas(2))
	s.budget("web", "web", 2, 0)
	s.policy("p", "{"+targets(deployment, "web")+", "+evict+onConfig+"}")
	s.watching("p", 1)
	pods := s.watchPods("web")
	s.secret("creds", "password", "second")
	if history := s.ended("p", 1); history[0].Result != autorebootv1.ResultFailed || history[0].Reason != autorebootv1.ReasonEvictionBlocked || !strings.Contains(history[0].Message, "PodDisruptionBudget web") {
		t.Errorf("want it Failed, EvictionBlocked, by the PodDisruptionBudget web: %s", framework.Text(history))
	}
	s.condition("p", autorebootv1.ConditionStalled, metav1.ConditionTrue, autorebootv1.ReasonVerificationFailed)
	if seen, fewest := pods.figures(); seen != 2 || fewest != 2 {
		t.Errorf("%d pods in all, %d ready at the worst moment, want 2 and 2", seen, fewest)
	}
	// The budget gives way while the eviction is tried.
	s.set("p", "{strategy: {evict: {timeout: 2m}}}")
	s.rolling("p", autorebootv1.PhaseEvicting)
	s.Merge("policy/v1", "PodDisruptionBudget", "web", "{spec: {minAvailable: 1}}")
	s.Eventually(func() error {
		policy, err := s.get("p")
		if err == nil && (len(policy.Status.History) != 2 || policy.Status.History[0].Result != autorebootv1.ResultSucceeded) {
			err = fmt.Errorf("want it Succeeded: %s", framework.Text(policy.Status))
		}
		return err
	})
	if seen, fewest := pods.figures(); seen != 4 || fewest < 1 {
		t.Errorf("%d pods in all, %d ready at the worst moment, want 4 and at least 1", seen, fewest)
	}
}
