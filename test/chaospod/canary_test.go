// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package chaospod

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	chaosv1 "github.com/fairlead-dev/fairlead/api/chaos/v1"
	chaosv1alpha1 "github.com/fairlead-dev/fairlead/api/chaos/v1alpha1"
)

const canary = `dryRun: false, target: {template: {metadata: {labels: {app: canary}}, spec: {terminationGracePeriodSeconds: 1, containers: [{name: main, image: none}]}}}, schedule: {cron: "0 0 29 2 *"}`

// living waits for a pod by its name that is ready, and is none of those.
func (s *suite) living(name string, but ...types.UID) *corev1.Pod {
	s.Helper()
	var pod corev1.Pod
	s.Eventually(func() error {
		pod = corev1.Pod{}
		if err := s.Get(name, &pod); err != nil {
			return err
		}
		for _, c := range pod.Status.Conditions {
			if c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue && pod.DeletionTimestamp == nil && !slices.Contains(but, pod.UID) {
				return nil
			}
		}
		return fmt.Errorf("pod %s (%s) is not the one that is to come, or not ready", name, pod.UID)
	})
	return &pod
}

func TestACanaryIsMadeKilledMadeAgainChangedAndCollected(t *testing.T) {
	s := newSuite(t)
	s.chaos("c", canary)
	first := s.living("c")
	s.now("c", "1")
	s.ended("c", 1, chaosv1.ResultSurvived)
	second := s.living("c", first.UID)
	if second.Labels["app"] != "canary" {
		t.Errorf("labels %v", second.Labels)
	}
	s.Merge(chaosv1.GroupVersion.String(), "ChaosPod", "c", "{spec: {target: {template: {spec: {containers: [{name: main, image: other}]}}}}}")
	third := s.living("c", first.UID, second.UID)
	if third.Spec.Containers[0].Image != "other" {
		t.Errorf("image %s", third.Spec.Containers[0].Image)
	}
	s.Must(s.Client.Delete(s.Context(), s.Object("{apiVersion: "+chaosv1.GroupVersion.String()+", kind: ChaosPod, metadata: {name: c}}")))
	s.Eventually(func() error {
		if left := s.pods("canary"); len(left) > 0 {
			return fmt.Errorf("the canary is left: %v", left)
		}
		return nil
	})
}

func TestARefusedCanarySaysWhyInTheApiServersWords(t *testing.T) {
	s := newSuite(t)
	s.MayBeRefusedIn(s.Namespace)
	s.Make(`{apiVersion: v1, kind: ResourceQuota, metadata: {name: full}, spec: {hard: {pods: "0"}}}`)
	s.Eventually(func() error { // until the quota is known, pods pass
		o := s.Object("{apiVersion: v1, kind: ResourceQuota, metadata: {name: full}}")
		s.Must(s.Client.Get(s.Context(), client.ObjectKeyFromObject(o), o))
		if _, known := o.Object["status"].(map[string]any)["used"]; !known {
			return fmt.Errorf("the quota is not known yet")
		}
		return nil
	})
	s.Make(s.manifest("c", canary))
	if c := s.condition("c", chaosv1.ConditionReady, metav1.ConditionFalse, chaosv1.ReasonForbidden); !strings.Contains(c.Message, "exceeded quota: full") {
		t.Errorf("says %q", c.Message)
	}
	s.Must(s.Client.Delete(s.Context(), s.Object("{apiVersion: v1, kind: ResourceQuota, metadata: {name: full}}")))
	s.living("c")
	s.condition("c", chaosv1.ConditionReady, metav1.ConditionTrue, "")
}

func TestTheExampleOfControllerRuntimeWorksAtItsVersion(t *testing.T) {
	s := newSuite(t)
	at := time.Now().UTC().Truncate(time.Second)
	s.Make(fmt.Sprintf(`{apiVersion: chaos.fairlead.dev/v1alpha1, kind: ChaosPod, metadata: {name: c}, spec: {nextStop: %q,
		template: {metadata: {labels: {app: canary}}, spec: {terminationGracePeriodSeconds: 1, containers: [{name: main, image: none}]}}}}`, at.Format(time.RFC3339)))
	first := s.living("c")
	s.living("c", first.UID)
	s.Eventually(func() error {
		var old chaosv1alpha1.ChaosPod
		if err := s.Get("c", &old); err != nil {
			return err
		}
		if last := old.Status.LastRunTime; last.IsZero() || !old.Spec.NextStop.Equal(ptr.To(metav1.NewTime(at))) || last.Before(old.Spec.NextStop) {
			return fmt.Errorf("at v1alpha1 nextStop is %s, lastRun %s", old.Spec.NextStop, last)
		}
		return nil
	})
}
