// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"cmp"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
)

// Rollout warns of a Deployment whose rollout may never end. Its only pod must wait for its successor, which cannot
// mount the same volume on another node. It is empty if the spec does not show that. It does not read whether the claim
// is ReadWriteOnce.
func Rollout(d *appsv1.Deployment) string {
	if ptr.Deref(d.Spec.Replicas, 1) != 1 || d.Spec.Strategy.Type == appsv1.RecreateDeploymentStrategyType {
		return ""
	}
	surge, unavailable := ptr.To(intstr.FromString("25%")), ptr.To(intstr.FromString("25%"))
	if rolling := d.Spec.Strategy.RollingUpdate; rolling != nil {
		surge, unavailable = cmp.Or(rolling.MaxSurge, surge), cmp.Or(rolling.MaxUnavailable, unavailable)
	}
	more, errMore := intstr.GetScaledValueFromIntOrPercent(surge, 1, true)
	fewer, errFewer := intstr.GetScaledValueFromIntOrPercent(unavailable, 1, false)
	if errMore != nil || errFewer != nil || more == 0 || fewer > 0 { // if both are 0, one pod may be missing as well
		return ""
	}
	for i := range d.Spec.Template.Spec.Volumes {
		if claim := d.Spec.Template.Spec.Volumes[i].PersistentVolumeClaim; claim != nil && !claim.ReadOnly {
			return fmt.Sprintf("spec.targets: a rollout of Deployment %s makes a second pod before the only one ends, and does not end where PersistentVolumeClaim %s is ReadWriteOnce and the pod is on another node; use spec.strategy.type: Recreate of the Deployment",
				d.Name, claim.ClaimName)
		}
	}
	return ""
}
