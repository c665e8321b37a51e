// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package workloads

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
)

func TestWhatAWorkloadCanSpareIsWhatItsOwnRolloutMay(t *testing.T) {
	parse := func(most string) *intstr.IntOrString {
		if most == "" {
			return nil
		}
		return ptr.To(intstr.Parse(most))
	}
	for _, c := range []struct {
		most                               string
		deployment, statefulSet, daemonSet int32
	}{{"", 2, 1, 1}, {"0", 0, 0, 0}, {"3", 3, 3, 3}, {"20", 10, 10, 10}, {"25%", 2, 3, 3}, {"many", 0, 0, 0}} {
		d := &appsv1.Deployment{Spec: appsv1.DeploymentSpec{Replicas: ptr.To(int32(10)), Strategy: appsv1.DeploymentStrategy{
			Type: appsv1.RollingUpdateDeploymentStrategyType, RollingUpdate: &appsv1.RollingUpdateDeployment{MaxUnavailable: parse(c.most)},
		}}}
		s := &appsv1.StatefulSet{Spec: appsv1.StatefulSetSpec{Replicas: ptr.To(int32(10)), UpdateStrategy: appsv1.StatefulSetUpdateStrategy{
			Type: appsv1.RollingUpdateStatefulSetStrategyType, RollingUpdate: &appsv1.RollingUpdateStatefulSetStrategy{MaxUnavailable: parse(c.most)},
		}}}
		a := &appsv1.DaemonSet{Spec: appsv1.DaemonSetSpec{UpdateStrategy: appsv1.DaemonSetUpdateStrategy{
			Type: appsv1.RollingUpdateDaemonSetStrategyType, RollingUpdate: &appsv1.RollingUpdateDaemonSet{MaxUnavailable: parse(c.most)},
		}}, Status: appsv1.DaemonSetStatus{DesiredNumberScheduled: 10}}
		for kind, got := range map[string][2]int32{
			"Deployment":  {Deployment(d, false).MaxUnavailable, c.deployment},
			"StatefulSet": {StatefulSet(s, false).MaxUnavailable, c.statefulSet},
			"DaemonSet":   {DaemonSet(a, false).MaxUnavailable, c.daemonSet},
		} {
			if got[0] != got[1] {
				t.Errorf("%q of 10 in a %s is %d, want %d", c.most, kind, got[0], got[1])
			}
		}
	}
	if n := Deployment(&appsv1.Deployment{Spec: appsv1.DeploymentSpec{Strategy: appsv1.DeploymentStrategy{Type: appsv1.RecreateDeploymentStrategyType}}}, false).MaxUnavailable; n != 0 {
		t.Errorf("a Deployment that is recreated spares %d", n)
	}
}

// A node that joins makes a DaemonSet want a pod more: those that were restarted are all available.
func TestANodeThatJoinsIsToldFromAPodThatFails(t *testing.T) {
	set := &appsv1.DaemonSet{Status: appsv1.DaemonSetStatus{ObservedGeneration: 1, DesiredNumberScheduled: 4, CurrentNumberScheduled: 4, UpdatedNumberScheduled: 4, NumberAvailable: 3}}
	if w := DaemonSet(set, false); w.Available || w.AvailablePods != 3 || w.Desired != 4 {
		t.Errorf("%+v", w)
	}
}
