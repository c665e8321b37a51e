// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build nightly

package rebootpolicy

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/test/framework"
)

// owner takes back every restart of a Deployment until the test ends; the answer counts them.
func (s *suite) owner(name string) (reverted func() int) {
	s.Helper()
	list := &unstructured.UnstructuredList{}
	list.SetAPIVersion("apps/v1")
	list.SetKind("DeploymentList")
	changes, err := s.Client.Watch(s.Context(), list, client.InNamespace(s.Namespace))
	s.Must(err)
	times := make(chan int, 1)
	times <- 0
	done := make(chan struct{})
	go func() {
		defer close(done)
		for change := range changes.ResultChan() {
			o, ok := change.Object.(*unstructured.Unstructured)
			if !ok || change.Type == watch.Deleted || o.GetName() != name || template(o)[autorebootv1.RestartIDAnnotation] == "" {
				continue
			}
			annotations := template(o)
			delete(annotations, autorebootv1.RestartIDAnnotation)
			delete(annotations, "kubectl.kubernetes.io/restartedAt")
			if err := unstructured.SetNestedStringMap(o.Object, annotations, "spec", "template", "metadata", "annotations"); err != nil {
				s.Error(err)
			}
			if err := s.Client.Update(s.Context(), o); err == nil { // else it comes again
				times <- <-times + 1
			}
		}
	}()
	s.Cleanup(func() { changes.Stop(); <-done })
	return func() int {
		n := <-times
		times <- n
		return n
	}
}

// An operator of the workload's own keeps its template as it wants it.
func TestAnOwnerThatTakesARestartBackIsNotFought(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	s.secret("creds", "password", "first")
	s.run(deployment, "web", takes("creds"), slow("1s"), replicas(2))
	s.policy("p", "{"+targets(deployment, "web")+", "+onConfig+", retry: {maxAttempts: 3, backoff: 1s}}")
	s.watching("p", 1)
	reverted := s.owner("web")

	s.secret("creds", "password", "second")
	s.condition("p", autorebootv1.ConditionStalled, metav1.ConditionTrue, autorebootv1.ReasonTargetReverted)
	s.Tells("RebootPolicy", "p", "TargetReverted", 1)
	history := s.ended("p", 1)
	if history[0].Result != autorebootv1.ResultFailed || history[0].Reason != autorebootv1.ReasonTargetReverted {
		t.Errorf("want Failed, TargetReverted: %s", framework.Text(history))
	}
	s.secret("creds", "password", "third")
	s.held("p", "web", autorebootv1.ReasonHalted)
	s.Never(func() error {
		// The restart, and its end.
		if g := s.read(deployment, "web").GetGeneration(); g != 3 {
			return fmt.Errorf("generation %d, want 3", g)
		}
		return nil
	})
	if n := reverted(); n != 1 {
		t.Errorf("the owner had to revert %d times", n)
	}
}

func TestAPolicyThatGoesAwayLeavesTheRolloutAlone(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	s.secret("creds", "password", "first")
	s.run(deployment, "web", takes("creds"), slow(longRollout), replicas(2))
	s.policy("p", "{"+targets(deployment, "web")+", "+onConfig+"}")
	s.watching("p", 1)
	s.secret("creds", "password", "second")
	s.rolling("p", autorebootv1.PhaseRollingOut)
	id := s.restartID(deployment, "web")
	s.Delete(autorebootv1.GroupVersion.String(), "RebootPolicy", "p")
	s.Eventually(func() error {
		if _, err := s.get("p"); client.IgnoreNotFound(err) != nil || err == nil {
			return fmt.Errorf("the policy is still there: %v", err)
		}
		return nil
	})
	s.available(deployment, "web")
	s.secret("creds", "password", "third")
	s.Never(func() error {
		if now := s.restartID(deployment, "web"); now != id {
			return fmt.Errorf("the template carries restart %q, want %q", now, id)
		}
		return nil
	})
	s.restarted(deployment, "web", 1)
	own := fmt.Sprintf("namespace=%q", s.Namespace)
	s.Eventually(func() error {
		if rows := s.Samples().Rows("fairlead_rebootpolicy_waiting", own); len(rows) > 0 {
			return fmt.Errorf("left behind: %q", rows)
		}
		return nil
	})
}

// A controller of progressive delivery scales the workload to zero for good, and runs its pods elsewhere.
func TestAWorkloadThatAnotherControllerScaledToZeroNamesIt(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	s.secret("creds", "password", "first")
	s.run(deployment, "web", takes("creds"))
	s.policy("p", "{targets: [{kind: Deployment, name: web}], "+onConfig+"}")
	s.watching("p", 1)
	web := s.Object("{apiVersion: apps/v1, kind: Deployment, metadata: {name: web}}")
	s.Must(s.Client.Patch(s.Context(), web, client.RawPatch(types.MergePatchType, []byte(`{"spec":{"replicas":0}}`)), client.FieldOwner("flagger")))
	s.secret("creds", "password", "second")
	s.held("p", "web", autorebootv1.ReasonScaledToZero)
	s.shows("p", func(st autorebootv1.RebootPolicyStatus) error {
		c := meta.FindStatusCondition(st.Conditions, autorebootv1.ConditionWaiting)
		if c == nil || !strings.Contains(c.Message, "the workload is ScaledToZero by flagger") {
			return fmt.Errorf("Waiting is %+v", c)
		}
		return nil
	})
}

// TestARolloutThatCannotEndIsToldBeforeAndAfter has a volume that two pods may not share, a quota that lets no pod more in, and
// pods that do not share a node with as many replicas as there are nodes.
func TestARolloutThatCannotEndIsToldBeforeAndAfter(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	s.secret("creds", "password", "first")
	s.run(deployment, "crowded", takes("creds"))
	s.run(deployment, "apart", takes("creds"), replicas(3), surge(1), with([]any{map[string]any{
		"topologyKey": "kubernetes.io/hostname", "labelSelector": map[string]any{"matchLabels": map[string]any{"app": "apart"}},
	}}, "spec", "template", "spec", "affinity", "podAntiAffinity", "requiredDuringSchedulingIgnoredDuringExecution"))
	s.policy("p", "{"+targets(deployment, "apart", "crowded")+", "+onConfig+", concurrency: {maxTargets: 1}, verification: {soak: 1s, timeout: 8s, onFailure: Continue}}")
	s.watching("p", 2)
	s.secret("creds", "password", "second")
	s.Eventually(func() error { // the pod that finds no node is there
		if n := len(s.pods("apart")); n != 4 {
			return fmt.Errorf("%d pods", n)
		}
		return nil
	})
	s.Make("{apiVersion: v1, kind: ResourceQuota, metadata: {name: few}, spec: {hard: {pods: 5}}}")
	for name, words := range map[string][2]string{"apart": {"Unschedulable: pod apart-", "nodes are available"}, "crowded": {"ReplicaFailure: ", "exceeded quota"}} {
		s.shows("p", func(st autorebootv1.RebootPolicyStatus) error {
			for _, record := range of(st.History, name) {
				if record.Reason == autorebootv1.ReasonTimedOut && strings.Contains(record.Message, words[0]) && strings.Contains(record.Message, words[1]) {
					return nil
				}
			}
			return fmt.Errorf("%s: want %q", name, words)
		})
	}

	s.workload(deployment, "db", "{containers: [{name: main, image: none}], volumes: [{name: v, persistentVolumeClaim: {claimName: data}}]}")
	tries := 0
	s.Eventually(func() error { // replicas learn of the workload a moment later
		tries++
		_, told, err := s.Try(s.manifest(fmt.Sprint("w-", tries), "{suspend: true, "+targets(deployment, "db")+", "+onConfig+"}"), "apply", "-f", "-")
		s.Must(err)
		if !strings.Contains(told, "PersistentVolumeClaim data is ReadWriteOnce") {
			return fmt.Errorf("told %q", told)
		}
		return nil
	})
}

// TestARestartWaitsForRoomInTheWordsOfKubernetes has a workload whose pods a quota refuses, and one whose pods find no node. The
// annotation restarts them all the same, and a StatefulSet whose status says nothing of the quota.
func TestARestartWaitsForRoomInTheWordsOfKubernetes(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	s.secret("creds", "password", "first")
	s.Make("{apiVersion: v1, kind: ResourceQuota, metadata: {name: few}, spec: {hard: {pods: 5}}}")
	s.workload(deployment, "homeless", takes("creds"), with(map[string]any{"disk": "none"}, "spec", "template", "spec", "nodeSelector"))
	s.Eventually(func() error {
		if n := len(s.pods("homeless")); n != 1 {
			return fmt.Errorf("%d pods", n)
		}
		return nil
	})
	s.workload(deployment, "crowded", takes("creds"), replicas(6))
	s.policy("p", "{"+targets(deployment, "homeless", "crowded")+", "+onConfig+"}")
	s.watching("p", 2)
	s.workload(statefulSet, "db", takes("creds"))
	s.policy("q", "{"+targets(statefulSet, "db")+"}")
	s.watching("q", 1)
	s.secret("creds", "password", "second")
	s.held("p", "homeless", autorebootv1.ReasonUnschedulable)
	s.held("p", "crowded", autorebootv1.ReasonReplicaFailure)
	s.shows("p", func(st autorebootv1.RebootPolicyStatus) error {
		c := meta.FindStatusCondition(st.Conditions, autorebootv1.ConditionWaiting)
		if c == nil || !strings.Contains(c.Message, "exceeded quota") && !strings.Contains(c.Message, "nodes are available") {
			return fmt.Errorf("want the words of Kubernetes")
		}
		return nil
	})
	s.generation(deployment, "crowded", 1)
	s.annotate("q", autorebootv1.RestartNowAnnotation, "monday")
	s.rolling("q", autorebootv1.PhaseRollingOut)
	s.annotate("p", autorebootv1.RestartNowAnnotation, "monday")
	s.shows("p", func(st autorebootv1.RebootPolicyStatus) error {
		if len(st.InFlight) != 2 || st.HandledRestartNow != "monday" {
			return fmt.Errorf("want both in flight")
		}
		return nil
	})
	for _, name := range []string{"crowded", "homeless"} { // the status comes before the patch
		s.Eventually(func() error {
			if generation := s.read(deployment, name).GetGeneration(); generation != 2 {
				return fmt.Errorf("%s is at generation %d", name, generation)
			}
			return nil
		})
	}
}

func TestWorkloadsThatCannotRestartNowWaitWithTheReason(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	s.secret("creds", "password", "first")
	shop := labeled("shop", "yes")
	s.workload(deployment, "ready", takes("creds"), shop)
	s.workload(deployment, "paused", takes("creds"), shop)
	s.workload(deployment, "empty", takes("creds"), shop, replicas(0))
	s.workload(statefulSet, "manual", takes("creds"), shop, with("OnDelete", "spec", "updateStrategy", "type"))
	s.workload(statefulSet, "kept", takes("creds"), shop, with(int64(1), "spec", "updateStrategy", "rollingUpdate", "partition"))
	for name, kind := range map[string]string{"ready": deployment, "paused": deployment, "manual": statefulSet, "kept": statefulSet} {
		s.available(kind, name)
	}
	s.Merge("apps/v1", deployment, "paused", "{spec: {paused: true}}")
	s.policy("p", `{targets: [{kind: Deployment, selector: {matchLabels: {shop: "yes"}}}, {kind: StatefulSet, selector: {matchLabels: {shop: "yes"}}}], `+onConfig+"}")
	s.watching("p", 5)
	s.secret("creds", "password", "second")
	for name, reason := range map[string]string{
		"paused": autorebootv1.ReasonPaused, "empty": autorebootv1.ReasonScaledToZero, "manual": autorebootv1.ReasonOnDelete,
		"kept": autorebootv1.ReasonPartitioned,
	} {
		s.held("p", name, reason)
	}
	s.succeeded("p", 1)
	s.restarted(deployment, "ready", 1)
	s.normal("p")
	s.generation(deployment, "paused", 2)
	s.generation(deployment, "empty", 1)
	s.generation(statefulSet, "manual", 1)
	s.generation(statefulSet, "kept", 1)

	// What waited goes on by itself, and where new pods come by other means nothing is left to do.
	s.Merge("apps/v1", deployment, "paused", "{spec: {paused: false}}")
	s.Merge("apps/v1", deployment, "empty", "{spec: {replicas: 1}}")
	s.Merge("apps/v1", statefulSet, "manual", "{spec: {updateStrategy: {type: RollingUpdate}}}")
	s.Merge("apps/v1", statefulSet, "kept", "{spec: {updateStrategy: {rollingUpdate: {partition: 0}}}}")
	history := s.ended("p", 5)
	for name, want := range map[string]string{
		"ready": autorebootv1.ResultSucceeded, "paused": autorebootv1.ResultSucceeded, "manual": autorebootv1.ResultSucceeded,
		"kept": autorebootv1.ResultSucceeded, "empty": autorebootv1.ResultSuperseded,
	} {
		if own := of(history, name); len(own) != 1 || own[0].Result != want {
			t.Errorf("%s: want %s, once: %s", name, want, framework.Text(own))
		}
	}
	s.generation(deployment, "paused", 4)
	s.generation(deployment, "empty", 2)
	s.generation(statefulSet, "manual", 3)
	s.generation(statefulSet, "kept", 3)
}
