// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package chaospod

import (
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	chaosv1 "github.com/fairlead-dev/fairlead/api/chaos/v1"
)

// TestATargetWithoutAPodToKillIsToldInWords has targets that look alike: no pod of them may ever die.
func TestATargetWithoutAPodToKillIsToldInWords(t *testing.T) {
	s := newSuite(t)
	const of = "dryRun: false, verification: {soak: 0s}, " + someday + ", target: "
	s.run("web", 0, "")
	s.Make("{apiVersion: v1, kind: Pod, metadata: {name: alone, labels: {part: shop}}, spec: {containers: [{name: main, image: none}]}}")
	s.Make("{apiVersion: batch/v1, kind: Job, metadata: {name: report}, spec: {template: {metadata: {labels: {part: shop}}, spec: {restartPolicy: Never, nodeSelector: {no: node}, containers: [{name: main, image: none}]}}}}")
	s.Make(`{apiVersion: apps/v1, kind: ReplicaSet, metadata: {name: canary-1, ownerReferences: [{apiVersion: apps.kruise.io/v1alpha1, kind: CloneSet, name: canary, uid: 5d1c9d6e-0000-4000-8000-000000000000, controller: true}]},
		spec: {replicas: 2, selector: {matchLabels: {app: canary}}, template: {metadata: {labels: {app: canary, part: shop}}, spec: {terminationGracePeriodSeconds: 1, containers: [{name: main, image: none}]}}}}`)

	s.chaos("zero", of+"{workload: {kind: Deployment, name: web}}")
	s.now("zero", "1")
	s.says("zero", chaosv1.ConditionWaiting, metav1.ConditionTrue, chaosv1.ReasonTooFewReady, "Deployment web is scaled to zero; to withdraw the request, remove annotation chaos.fairlead.dev/run-now")
	s.Merge(chaosv1.GroupVersion.String(), "ChaosPod", "zero", "{metadata: {annotations: {chaos.fairlead.dev/run-now: null}}}")
	s.shows("zero", func(st *chaosv1.ChaosPodStatus) error {
		if held := meta.FindStatusCondition(st.Conditions, chaosv1.ConditionWaiting); held.Status != metav1.ConditionFalse {
			return fmt.Errorf("still held: %s", held.Message)
		}
		return nil
	})
	s.Make(s.manifest("none", of+"{selector: {matchLabels: {part: none}}}"))
	s.says("none", chaosv1.ConditionReady, metav1.ConditionFalse, chaosv1.ReasonNoTarget, "no pod matches spec.target.selector")
	s.Make(s.manifest("others", of+"{selector: {matchLabels: {part: shop}}}"))
	s.says("others", chaosv1.ConditionReady, metav1.ConditionFalse, chaosv1.ReasonNoTarget,
		"matches no pod of a Deployment, StatefulSet, DaemonSet, ReplicaSet or Rollout, but 2 of CloneSet.apps.kruise.io canary; 1 of Job.batch report; 1 of no controller")
}
