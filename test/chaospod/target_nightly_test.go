// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build nightly

package chaospod

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	chaosv1 "github.com/fairlead-dev/fairlead/api/chaos/v1"
)

func TestACanaryThatNoNodeTakesIsNotReady(t *testing.T) {
	s := newSuite(t)
	s.Make(s.manifest("c", `target: {template: {spec: {nodeSelector: {no: node}, terminationGracePeriodSeconds: 1, containers: [{name: main, image: none}]}}}, `+someday))
	s.says("c", chaosv1.ConditionReady, metav1.ConditionFalse, chaosv1.ReasonUnschedulable, "didn't match Pod's node affinity/selector")
	s.edit("target: {template: {spec: {nodeSelector: null}}}")
	s.living("c")
	s.condition("c", chaosv1.ConditionReady, metav1.ConditionTrue, chaosv1.ReasonScheduled)
}
