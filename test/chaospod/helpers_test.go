// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package chaospod

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	chaosv1 "github.com/fairlead-dev/fairlead/api/chaos/v1"
	"github.com/fairlead-dev/fairlead/test/framework"
)

// run makes a Deployment with these many pods and labels of its pods, and waits until all are ready.
func (s *suite) run(name string, replicas int, labels string) {
	s.Helper()
	s.Make(fmt.Sprintf(`{apiVersion: apps/v1, kind: Deployment, metadata: {name: %s}, spec: {replicas: %d, selector: {matchLabels: {app: %[1]s}},
		template: {metadata: {labels: {app: %[1]s%[3]s}}, spec: {terminationGracePeriodSeconds: 1, containers: [{name: main, image: none}]}}}}`, name, replicas, labels))
	s.available(name, replicas)
}

// available waits until a Deployment has these many pods ready.
func (s *suite) available(name string, replicas int) {
	s.Helper()
	s.Eventually(func() error {
		var d appsv1.Deployment
		err := s.Get(name, &d)
		if err == nil && (d.Status.ObservedGeneration < d.Generation || d.Status.AvailableReplicas != int32(replicas) || d.Status.Replicas != int32(replicas)) {
			err = fmt.Errorf("%s: %+v", name, d.Status)
		}
		return err
	})
}

// budget creates a PodDisruptionBudget, and waits until it allows so many disruptions.
func (s *suite) budget(name, app string, minAvailable, allowed int) {
	s.Helper()
	s.Make(fmt.Sprintf("{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: %s}, spec: {minAvailable: %d, selector: {matchLabels: {app: %s}}}}", name, minAvailable, app))
	s.allows(name, allowed)
}

func (s *suite) allows(budget string, allowed int) {
	s.Helper()
	s.Eventually(func() error {
		var b policyv1.PodDisruptionBudget
		err := s.Get(budget, &b)
		if err == nil && (b.Status.ObservedGeneration < b.Generation || b.Status.ObservedGeneration == 0 || b.Status.DisruptionsAllowed != int32(allowed)) {
			err = fmt.Errorf("budget %s: %+v", budget, b.Status)
		}
		return err
	})
}

// pods are those of an app that are not terminating, by UID.
func (s *suite) pods(app string) map[types.UID]string {
	s.Helper()
	var list corev1.PodList
	s.Must(s.Client.List(s.Context(), &list, client.InNamespace(s.Namespace), client.MatchingLabels{"app": app}))
	pods := map[types.UID]string{}
	for i := range list.Items {
		if list.Items[i].DeletionTimestamp == nil {
			pods[list.Items[i].UID] = list.Items[i].Name
		}
	}
	return pods
}

// gone are the pods that there were and are not any more.
func gone(before, after map[types.UID]string) []string {
	var names []string
	for uid, name := range before {
		if _, has := after[uid]; !has {
			names = append(names, name)
		}
	}
	return names
}

// someday is a schedule by which no run is due while a test lasts.
const someday = `schedule: {cron: "0 0 29 2 *"}, filter: {minAge: 0s}`

// chaos creates a ChaosPod, and waits until it is scheduled.
func (s *suite) chaos(name, spec string) {
	s.Helper()
	s.Make(s.manifest(name, spec))
	s.condition(name, chaosv1.ConditionReady, metav1.ConditionTrue, "")
}

func (s *suite) manifest(name, spec string) string {
	return fmt.Sprintf("{apiVersion: %s, kind: ChaosPod, metadata: {name: %s}, spec: {%s}}", chaosv1.GroupVersion, name, spec)
}

// now asks for a run.
func (s *suite) now(name, token string) { s.annotate(name, chaosv1.RunNowAnnotation, token) }

func (s *suite) annotate(name, annotation, value string) {
	s.Helper()
	s.Merge(chaosv1.GroupVersion.String(), "ChaosPod", name, fmt.Sprintf("{metadata: {annotations: {%q: %q}}}", annotation, value))
}

func (s *suite) get(name string) (*chaosv1.ChaosPod, error) {
	var object chaosv1.ChaosPod
	err := s.Get(name, &object)
	return &object, err
}

// shows waits for a status.
func (s *suite) shows(name string, ask func(*chaosv1.ChaosPodStatus) error) *chaosv1.ChaosPodStatus {
	s.Helper()
	var last chaosv1.ChaosPodStatus
	s.Eventually(func() error {
		object, err := s.get(name)
		if err != nil {
			return err
		}
		if last = object.Status; last.ObservedGeneration != object.Generation {
			return fmt.Errorf("%s: generation %d is not observed yet", name, object.Generation)
		}
		if err := ask(&last); err != nil {
			return fmt.Errorf("%s: %w:\n%s", name, err, framework.Text(last))
		}
		return nil
	})
	return &last
}

// condition waits for one; with reason "" any will do.
func (s *suite) condition(name, kind string, status metav1.ConditionStatus, reason string) *metav1.Condition {
	s.Helper()
	var found *metav1.Condition
	s.shows(name, func(st *chaosv1.ChaosPodStatus) error {
		found = meta.FindStatusCondition(st.Conditions, kind)
		if found == nil || found.Status != status || reason != "" && found.Reason != reason {
			return fmt.Errorf("want %s=%s %s", kind, status, reason)
		}
		return nil
	})
	return found
}

// says waits for a condition whose message has words.
func (s *suite) says(name, kind string, status metav1.ConditionStatus, reason, words string) {
	s.Helper()
	s.shows(name, func(st *chaosv1.ChaosPodStatus) error {
		c := meta.FindStatusCondition(st.Conditions, kind)
		if c == nil || c.Status != status || c.Reason != reason || !strings.Contains(c.Message, words) {
			return fmt.Errorf("want %s=%s %s: %s", kind, status, reason, words)
		}
		return nil
	})
}

// ended waits until so many runs have, and returns the latest.
func (s *suite) ended(name string, n int, outcome string) chaosv1.Run {
	s.Helper()
	st := s.shows(name, func(st *chaosv1.ChaosPodStatus) error {
		if len(st.History) < n || st.CurrentRun != nil {
			return fmt.Errorf("%d runs have ended, want %d", len(st.History), n)
		}
		return nil
	})
	if len(st.History) != n || st.History[0].Result != outcome {
		s.Fatalf("%s: want %d runs, the last %s:\n%s", name, n, outcome, framework.Text(st))
	}
	return st.History[0]
}

// told waits for an event.
func (s *suite) told(kind, name, reason string) {
	s.Helper()
	s.Eventually(func() error {
		if events := s.Told(kind, name); len(events[reason]) == 0 {
			return fmt.Errorf("%s %s has no event %s, but %v", kind, name, reason, slices.Sorted(maps.Keys(events)))
		}
		return nil
	})
}
