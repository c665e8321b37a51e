// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/test/framework"
)

const (
	deployment  = "Deployment"
	statefulSet = "StatefulSet"
	daemonSet   = "DaemonSet"
)

// edit changes a workload before it is created.
type edit func(*unstructured.Unstructured) error

// with sets a field.
func with(value any, path ...string) edit {
	return func(o *unstructured.Unstructured) error { return unstructured.SetNestedField(o.Object, value, path...) }
}

// replicas is how many pods it has.
func replicas(n int64) edit { return with(n, "spec", "replicas") }

// labeled gives the workload, not its pods, a label.
func labeled(key, value string) edit { return with(value, "metadata", "labels", key) }

// longRollout is for tests that look for a rollout in a status, which a busy operator may write once in 6 s.
const longRollout = "10s"

// slow has every pod take so long until it is ready.
func slow(span string) edit {
	return with(span, "spec", "template", "metadata", "annotations", "kwok.fairlead.dev/ready-after")
}

// faulty has a fault of all pods.
func faulty(fault string) edit {
	return with(fault, "spec", "template", "metadata", "labels", "fault")
}

// bare is the spec of pods that refer to nothing.
const bare = "{containers: [{name: main, image: none}]}"

// takes is the spec of pods that take the whole of a Secret as their environment.
func takes(secret string) string {
	return fmt.Sprintf("{containers: [{name: main, image: none, envFrom: [{secretRef: {name: %s}}]}]}", secret)
}

// workload creates one whose pods have a spec in YAML, and waits for nothing.
func (s *suite) workload(kind, name, pod string, edits ...edit) {
	s.Helper()
	o := s.Object(fmt.Sprintf(`{apiVersion: apps/v1, kind: %s, metadata: {name: %s, labels: {app: %[2]s}}, spec: {
		selector: {matchLabels: {app: %[2]s}}, template: {metadata: {labels: {app: %[2]s}}, spec: %s}}}`, kind, name, pod))
	if kind == statefulSet {
		edits = append(edits, with(name, "spec", "serviceName"))
	}
	for _, e := range edits {
		s.Must(e(o))
	}
	s.Must(s.Client.Create(s.Context(), o))
}

// run is workload, and waits until all of its pods are available.
func (s *suite) run(kind, name, pod string, edits ...edit) {
	s.Helper()
	s.workload(kind, name, pod, edits...)
	s.available(kind, name)
}

// read reads a workload.
func (s *suite) read(kind, name string) *unstructured.Unstructured {
	s.Helper()
	o := s.Object(fmt.Sprintf("{apiVersion: apps/v1, kind: %s, metadata: {name: %s}}", kind, name))
	s.Must(s.Client.Get(s.Context(), client.ObjectKeyFromObject(o), o))
	return o
}

// available waits until a rollout is complete.
func (s *suite) available(kind, name string) {
	s.Helper()
	s.Eventually(func() error { return complete(s.read(kind, name)) })
}

// complete is nil once all pods of a workload are of its latest template, and available.
func complete(o *unstructured.Unstructured) error {
	number := func(path ...string) int64 {
		n, _, _ := unstructured.NestedInt64(o.Object, path...)
		return n
	}
	wanted := number("spec", "replicas")
	counts := []string{"replicas", "updatedReplicas", "availableReplicas"}
	if o.GetKind() == daemonSet {
		wanted = number("status", "desiredNumberScheduled")
		counts = []string{"currentNumberScheduled", "updatedNumberScheduled", "numberAvailable"}
		if wanted == 0 {
			return fmt.Errorf("%s: no pod is wanted yet", o.GetName())
		}
	}
	if number("status", "observedGeneration") < o.GetGeneration() {
		return fmt.Errorf("%s: generation %d is not observed yet", o.GetName(), o.GetGeneration())
	}
	for _, count := range counts {
		if n := number("status", count); n != wanted {
			return fmt.Errorf("%s: %s is %d, want %d", o.GetName(), count, n, wanted)
		}
	}
	return nil
}

// generation ends the test unless the spec of a workload was written so often. Every rollout is one
// write, regardless of who began it.
func (s *suite) generation(kind, name string, want int64) {
	s.Helper()
	if o := s.read(kind, name); o.GetGeneration() != want {
		s.Errorf("%s %s is at generation %d, want %d: %s", kind, name, o.GetGeneration(), want, framework.Text(template(o)))
	}
}

// template are the annotations of a workload's pod template.
func template(o *unstructured.Unstructured) map[string]string {
	annotations, _, _ := unstructured.NestedStringMap(o.Object, "spec", "template", "metadata", "annotations")
	return annotations
}

// restartID is the restart that a workload's pod template carries.
func (s *suite) restartID(kind, name string) string {
	s.Helper()
	return template(s.read(kind, name))[autorebootv1.RestartIDAnnotation]
}

// pods are those of a workload that have not finished.
func (s *suite) pods(app string) []corev1.Pod {
	s.Helper()
	var list corev1.PodList
	s.Must(s.Client.List(s.Context(), &list, client.InNamespace(s.Namespace), client.MatchingLabels{"app": app}))
	return list.Items
}

// rollouts is how many templates of a workload have had pods: ReplicaSets, or ControllerRevisions.
func (s *suite) rollouts(kind, name string) int {
	s.Helper()
	list := &unstructured.UnstructuredList{}
	list.SetAPIVersion("apps/v1")
	list.SetKind("ControllerRevisionList")
	if kind == deployment {
		list.SetKind("ReplicaSetList")
	}
	s.Must(s.Client.List(s.Context(), list, client.InNamespace(s.Namespace)))
	uid, n := s.read(kind, name).GetUID(), 0
	for _, item := range list.Items {
		if owner := metav1.GetControllerOf(&item); owner != nil && owner.UID == uid {
			n++
		}
	}
	return n
}

// restarted ends the test unless a workload that was created in one piece has been restarted exactly so
// often, by the restarts that a policy recorded, and its pods are those of the last.
func (s *suite) restarted(kind, name string, times int) {
	s.Helper()
	s.generation(kind, name, int64(1+times))
	if n := s.rollouts(kind, name); n != 1+times {
		s.Errorf("%s %s had %d templates, want %d", kind, name, n, 1+times)
	}
	if times == 0 {
		return
	}
	id := s.restartID(kind, name)
	for _, pod := range s.pods(name) {
		if pod.DeletionTimestamp == nil && pod.Annotations[autorebootv1.RestartIDAnnotation] != id {
			s.Errorf("pod %s is not of restart %s", pod.Name, id)
		}
	}
}

// reform changes the pod template of a workload as its owner does, by a merge patch in YAML.
func (s *suite) reform(kind, name, patch string) {
	s.Helper()
	s.Merge("apps/v1", kind, name, "{spec: {template: "+patch+"}}")
}

// targets writes workloads as the targets of a policy.
func targets(kind string, names ...string) string {
	var items []string
	for _, name := range names {
		items = append(items, fmt.Sprintf("{kind: %s, name: %s}", kind, name))
	}
	return "targets: [" + strings.Join(items, ", ") + "]"
}
