// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
)

func TestARolloutThatMayNeverEndIsWarnedOf(t *testing.T) {
	claim := corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data"}}
	shared := corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data", ReadOnly: true}}
	rolling := func(most string) appsv1.DeploymentStrategy {
		return appsv1.DeploymentStrategy{Type: appsv1.RollingUpdateDeploymentStrategyType, RollingUpdate: &appsv1.RollingUpdateDeployment{MaxUnavailable: ptr.To(intstr.Parse(most))}}
	}
	for name, test := range map[string]struct {
		replicas *int32
		strategy appsv1.DeploymentStrategy
		volume   corev1.VolumeSource
		want     bool
	}{
		"by default":             {nil, appsv1.DeploymentStrategy{}, claim, true},
		"none may be missing":    {ptr.To[int32](1), rolling("0"), claim, true},
		"less than one may":      {ptr.To[int32](1), rolling("99%"), claim, true},
		"one may be missing":     {ptr.To[int32](1), rolling("1"), claim, false},
		"all may be missing":     {ptr.To[int32](1), rolling("100%"), claim, false},
		"recreated":              {nil, appsv1.DeploymentStrategy{Type: appsv1.RecreateDeploymentStrategyType}, claim, false},
		"no pod more":            {nil, appsv1.DeploymentStrategy{RollingUpdate: &appsv1.RollingUpdateDeployment{MaxSurge: ptr.To(intstr.FromInt32(0))}}, claim, false},
		"two pods share it":      {ptr.To[int32](2), appsv1.DeploymentStrategy{}, claim, false},
		"it is only read":        {nil, appsv1.DeploymentStrategy{}, shared, false},
		"another sort of volume": {nil, appsv1.DeploymentStrategy{}, corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}, false},
	} {
		d := &appsv1.Deployment{Spec: appsv1.DeploymentSpec{Replicas: test.replicas, Strategy: test.strategy}}
		d.Name, d.Spec.Template.Spec.Volumes = "db", []corev1.Volume{{Name: "v", VolumeSource: test.volume}}
		if got := Rollout(d); (got != "") != test.want || test.want && !strings.Contains(got, "Deployment db") {
			t.Errorf("%s: %q", name, got)
		}
	}
}
