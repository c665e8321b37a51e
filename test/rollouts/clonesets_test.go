// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rollouts

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/test/framework"
)

const kruise = "apps.kruise.io/v1alpha1"

// A kind of rebootPolicies.workloads is restarted by its pod template. OpenKruise itself does not run without its webhooks:
// cloneSets replaces its controller.
func TestAKindOfTheConfiguration(t *testing.T) {
	s := newSuite(t)
	s.Must(s.Client.Create(t.Context(), s.Object(`{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: fairlead-workloads}, rules: [
		{apiGroups: [apps.kruise.io], resources: [clonesets], verbs: [get, list, watch, patch]}]}`)))
	s.Must(s.Client.Create(t.Context(), s.Object(`{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding, metadata: {name: fairlead-workloads},
		roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: fairlead-workloads}, subjects: [
		{kind: ServiceAccount, name: fairlead-manager, namespace: fairlead-system}]}`)))
	s.secret("first")
	s.policy("early", clones("web"))
	s.says("early", autorebootv1.ConditionReady, metav1.ConditionFalse, autorebootv1.ReasonTargetNotFound,
		"the API server does not serve CloneSets (apps.kruise.io/v1alpha1): install its CRD, or remove the targets with group apps.kruise.io")

	s.KubectlWith("", "apply", "--server-side", "-f", "testdata/clonesets.yaml")
	s.KubectlWith("", "wait", "--for=condition=Established", "--timeout=60s", "crd/clonesets.apps.kruise.io")
	runs, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan struct{})
	go func() { defer close(ended); cloneSets(runs, s.Client, s.Logf) }()
	t.Cleanup(func() { stop(); <-ended })
	s.makeClones("web", "")
	s.watching("early", 1)
	s.secret("second")
	if history := s.ended("early", 1); history[0].Result != autorebootv1.ResultSucceeded || history[0].Target.Group != "apps.kruise.io" || history[0].Target.Kind != "CloneSet" {
		t.Errorf("a CRD that came after the policy: %s", framework.Text(history))
	}

	t.Run("served", func(t *testing.T) {
		for name, test := range map[string]func(*suite){
			"a change restarts once":        aChangeRestartsClonesOnce,
			"a paused one holds":            aPausedOneHolds,
			"a status without a field":      aStatusWithoutAField,
			"pods that are changed":         podsThatAreChangedInPlace,
			"a policy of the cluster":       aClusterPolicyOfClones,
			"the views of both versions":    bothVersionsOfClones,
			"rights of a writer":            rightsToClones,
			"a kind that is not configured": aKindThatIsNotConfigured,
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				test(newSuite(t))
			})
		}
	})
	s.Delete("apiextensions.k8s.io/v1", "CustomResourceDefinition", "clonesets.apps.kruise.io")
	s.says("early", autorebootv1.ConditionReady, metav1.ConditionFalse, autorebootv1.ReasonTargetNotFound, "the API server does not serve CloneSets")
}

func aChangeRestartsClonesOnce(s *suite) {
	s.secret("first")
	s.makeClones("web", "replicas: 2")
	before := names(s, "web")
	generation := s.clone("web").GetGeneration()
	s.policy("p", clones("web"))
	s.watching("p", 1)
	s.secret("second")
	if history := s.ended("p", 1); history[0].Result != autorebootv1.ResultSucceeded {
		s.Errorf("%s", framework.Text(history))
	}
	o := s.clone("web")
	if o.GetGeneration() != generation+1 {
		s.Errorf("generation %d, want one write", o.GetGeneration())
	}
	annotations, _, err := unstructured.NestedStringMap(o.Object, "spec", "template", "metadata", "annotations")
	if err != nil || len(annotations) != 2 || annotations[autorebootv1.RestartIDAnnotation] == "" || annotations["kubectl.kubernetes.io/restartedAt"] == "" {
		s.Errorf("annotations %v, %v", annotations, err)
	}
	if image, _, _ := unstructured.NestedSlice(o.Object, "spec", "template", "spec", "containers"); len(image) != 1 {
		s.Errorf("the rest of the template is gone: %s", framework.Text(o.Object["spec"]))
	}
	after := names(s, "web")
	if len(after) != 2 || after[0] == before[0] || after[1] == before[1] {
		s.Errorf("pods %v, before %v", after, before)
	}
	s.Tells("CloneSet", "web", "RestartStarted", 1)
	var p autorebootv1.RebootPolicy
	if s.Must(s.Get("p", &p)); p.Status.Targets[0].Kind != "CloneSet.apps.kruise.io" {
		s.Errorf("status: %s", framework.Text(p.Status.Targets))
	}
}

func aPausedOneHolds(s *suite) {
	s.secret("first")
	s.makeClones("web", "")
	s.Merge(kruise, "CloneSet", "web", "{spec: {paused: true}}")
	s.policy("p", clones("web"))
	s.watching("p", 1)
	settle()
	s.secret("second")
	s.says("p", autorebootv1.ConditionWaiting, metav1.ConditionTrue, autorebootv1.ReasonPaused, "the workload is Paused")
	s.Merge(kruise, "CloneSet", "web", "{spec: {paused: false}}")
	if history := s.ended("p", 1); history[0].Result != autorebootv1.ResultSucceeded {
		s.Errorf("%s", framework.Text(history))
	}
}

// aStatusWithoutAField proves nothing, and the field is named.
func aStatusWithoutAField(s *suite) {
	s.secret("first")
	s.makeClones("web", "")
	s.Merge(kruise, "CloneSet", "web", `{metadata: {annotations: {lacks: updatedReplicas}}}`)
	s.Eventually(func() error {
		if _, has, _ := unstructured.NestedFieldNoCopy(s.clone("web").Object, "status", "updatedReplicas"); has {
			return errors.New("the status still has the field")
		}
		return nil
	})
	s.policy("p", clones("web"))
	s.watching("p", 1)
	settle()
	s.secret("second")
	s.says("p", autorebootv1.ConditionWaiting, metav1.ConditionTrue, autorebootv1.ReasonDegraded,
		"the workload is Degraded, since its status has no updatedReplicas, without which no restart is verified")
	s.Merge(kruise, "CloneSet", "web", `{metadata: {annotations: {lacks: null}}}`)
	if history := s.ended("p", 1); history[0].Result != autorebootv1.ResultSucceeded {
		s.Errorf("%s", framework.Text(history))
	}
}

// podsThatAreChangedInPlace are those of before, whatever the status says: no restart is verified by them.
func podsThatAreChangedInPlace(s *suite) {
	s.secret("first")
	s.makeClones("web", "updateStrategy: {type: InPlaceIfPossible}")
	before := names(s, "web")
	s.policy("p", clones("web")[:len(clones("web"))-1]+", verification: {soak: 1s, timeout: 10s}}")
	s.watching("p", 1)
	settle()
	s.secret("second")
	history := s.ended("p", 1)
	if history[0].Result == autorebootv1.ResultSucceeded || !strings.Contains(history[0].Message, "it changes pods in place; use the strategy Evict") {
		s.Errorf("%s", framework.Text(history))
	}
	if now := names(s, "web"); now[0] != before[0] {
		s.Errorf("pods %v, before %v", now, before)
	}
}

func aClusterPolicyOfClones(s *suite) {
	s.secret("first")
	s.makeClones("web", "")
	s.clusterPolicy("{group: apps.kruise.io, kind: CloneSet, selector: {}, optIn: Annotation}")
	s.Merge(kruise, "CloneSet", "web", `{metadata: {annotations: {fairlead.dev/restart-on-change: "true"}}}`)
	s.Eventually(func() error { return s.Get(s.Namespace, &autorebootv1.RebootPolicy{}) })
	s.watching(s.Namespace, 1)
	settle()
	s.secret("second")
	if history := s.ended(s.Namespace, 1); history[0].Result != autorebootv1.ResultSucceeded {
		s.Errorf("%s", framework.Text(history))
	}
}

func bothVersionsOfClones(s *suite) {
	s.policy("p", clones("web"))
	view := s.Object("{apiVersion: autoreboot.fairlead.dev/v1alpha1, kind: RebootPolicy, metadata: {name: p}}")
	s.Must(s.Get("p", view))
	s.Make(`{apiVersion: autoreboot.fairlead.dev/v1alpha1, kind: RebootPolicy, metadata: {name: old}, spec: {targets: [{group: apps.kruise.io, kind: CloneSet, name: web}], cooldown: 10m, policies: [
		{name: answers, type: Probe, probe: {tcpSocket: {port: 80}}}]}}`)
	var policy autorebootv1.RebootPolicy
	s.Must(s.Get("old", &policy))
	if got := policy.Spec.Targets[0]; got.Group != "apps.kruise.io" || got.Kind != "CloneSet" {
		s.Errorf("%s", framework.Text(policy.Spec.Targets))
	}
}

func rightsToClones(s *suite) {
	_, writer := s.NewWriter("writer", &autorebootv1.RebootPolicy{}, "rebootpolicies.autoreboot.fairlead.dev", `{apiGroups: [apps], resources: [deployments], verbs: [patch]}`)
	policy := func() error {
		return writer.Create(s.Context(), s.Object("{apiVersion: "+policies+", kind: RebootPolicy, metadata: {name: p}, spec: "+clones("web")+"}"))
	}
	err := policy()
	if err == nil {
		s.Fatal("a user without a right to CloneSets may restart one")
	}
	s.Expect(err.Error(), "patch", "clonesets.apps.kruise.io", "spec.targets[0]")
	s.Grant("clones", `{kind: User, name: "writer@`+s.Namespace+`"}`, `{apiGroups: [apps.kruise.io], resources: [clonesets], verbs: [patch]}`)
	s.Eventually(policy)
	s.says("p", autorebootv1.ConditionReady, metav1.ConditionFalse, autorebootv1.ReasonTargetNotFound, "CloneSet.apps.kruise.io web does not exist")
}

func aKindThatIsNotConfigured(s *suite) {
	for _, spec := range []string{
		"kind: RebootPolicy, metadata: {name: p}, spec: {targets: [{group: apps.kruise.io, kind: StatefulSet, name: web}]}",
		"kind: ClusterRebootPolicy, metadata: {name: " + s.Namespace + "}, spec: {namespaceSelector: {}, template: {spec: {targets: [{group: apps.kruise.io, kind: StatefulSet, selector: {}}]}}}",
	} {
		err := s.Client.Create(s.Context(), s.Object("{apiVersion: "+policies+", "+spec+"}"))
		if err == nil {
			s.Fatalf("accepted: %s", spec)
		}
		s.Expect(err.Error(), "spec.targets[0].kind", "kind StatefulSet of group apps.kruise.io in rebootPolicies.workloads: ask an administrator to add it")
	}
}

// clones writes CloneSets as the targets of a policy.
func clones(name string) string {
	return "{targets: [{group: apps.kruise.io, kind: CloneSet, name: " + name + "}]}"
}

// makeClones makes a CloneSet, whose pods take the Secret creds as their environment, and waits until its pods are ready.
func (s *suite) makeClones(name, spec string) {
	s.Helper()
	s.Make(fmt.Sprintf(`{apiVersion: %s, kind: CloneSet, metadata: {name: %s}, spec: {selector: {matchLabels: {app: %[2]s}}, template: {metadata: {labels: {app: %[2]s}},
		spec: {containers: [{name: main, image: none, envFrom: [{secretRef: {name: creds}}]}]}}, %s}}`, kruise, name, spec))
	s.Eventually(func() error {
		o := s.clone(name)
		ready, _, _ := unstructured.NestedInt64(o.Object, "status", "availableReplicas")
		if want := replicas(o); ready != int64(want) {
			return fmt.Errorf("%d of %d pods are available", ready, want)
		}
		return nil
	})
	settle()
}

func (s *suite) clone(name string) *unstructured.Unstructured {
	s.Helper()
	o := s.Object("{apiVersion: " + kruise + ", kind: CloneSet, metadata: {name: " + name + "}}")
	s.Must(s.Client.Get(s.Context(), client.ObjectKeyFromObject(o), o))
	return o
}

func replicas(o *unstructured.Unstructured) int {
	if n, found, err := unstructured.NestedInt64(o.Object, "spec", "replicas"); found && err == nil {
		return int(n)
	}
	return 1
}

// cloneSets makes and replaces the pods of CloneSets until ctx ends. What fails is logged, and done again.
func cloneSets(ctx context.Context, c client.Client, logf func(format string, args ...any)) {
	for ctx.Err() == nil {
		list := &unstructured.UnstructuredList{}
		list.SetAPIVersion(kruise)
		list.SetKind("CloneSetList")
		if c.List(ctx, list) == nil { // it is not served at the end
			for i := range list.Items {
				if err := reconcileClones(ctx, c, &list.Items[i]); err != nil {
					logf("CloneSet %s: %v", list.Items[i].GetName(), err)
				}
			}
		}
		select {
		case <-ctx.Done():
		case <-time.After(200 * time.Millisecond):
		}
	}
}

const revisionLabel = "revision"

func reconcileClones(ctx context.Context, c client.Client, o *unstructured.Unstructured) error {
	of, _, err := unstructured.NestedMap(o.Object, "spec", "template")
	if err != nil {
		return err
	}
	var template corev1.PodTemplateSpec
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(of, &template); err != nil {
		return err
	}
	raw, err := json.Marshal(of)
	hash := fnv.New32a()
	_, _ = hash.Write(raw)
	revision := fmt.Sprintf("%x", hash.Sum32())
	var all corev1.PodList
	if err := errors.Join(err, c.List(ctx, &all, client.InNamespace(o.GetNamespace()), client.MatchingLabels(template.Labels))); err != nil {
		return err
	}
	paused, _, _ := unstructured.NestedBool(o.Object, "spec", "paused")
	strategy, _, _ := unstructured.NestedString(o.Object, "spec", "updateStrategy", "type")
	present, ready, updated := 0, 0, 0
	for i := range all.Items {
		pod := &all.Items[i]
		if !metav1.IsControlledBy(pod, o) || pod.DeletionTimestamp != nil {
			continue
		}
		switch outdated := pod.Labels[revisionLabel] != revision; {
		case outdated && !paused && strategy == "InPlaceIfPossible":
			pod.Labels[revisionLabel] = revision
			return c.Update(ctx, pod)
		case outdated && !paused:
			return c.Delete(ctx, pod)
		case !outdated:
			updated++
		}
		present++
		if available([]corev1.Pod{*pod}) == nil {
			ready++
		}
	}
	if present < replicas(o) {
		pod := &corev1.Pod{ObjectMeta: *template.ObjectMeta.DeepCopy(), Spec: template.Spec}
		pod.Namespace, pod.GenerateName, pod.Labels[revisionLabel] = o.GetNamespace(), o.GetName()+"-", revision
		pod.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(o, o.GroupVersionKind())}
		if err := c.Create(ctx, pod); err != nil {
			return err
		}
		present++
		updated++
	}
	status := map[string]any{
		"observedGeneration": o.GetGeneration(), "replicas": int64(present), "updatedReplicas": int64(updated), "readyReplicas": int64(ready), "availableReplicas": int64(ready),
	}
	delete(status, o.GetAnnotations()["lacks"])
	before, _ := o.Object["status"].(map[string]any)
	if framework.Text(before) == framework.Text(status) {
		return nil
	}
	o.Object["status"] = status
	return c.Status().Update(ctx, o)
}
