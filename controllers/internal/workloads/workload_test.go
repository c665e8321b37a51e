// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package workloads

import (
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
)

// summary holds the expected fields of a workload.
type summary struct {
	obstacle                     string
	updated, complete, available bool
	desired                      int32
}

func summaryOf(w *Workload) summary {
	return summary{w.Obstacle, w.Updated, w.Complete, w.Available, w.Desired}
}

func TestADeploymentIsReadOffItsStatus(t *testing.T) {
	well := func(d *appsv1.Deployment) {
		d.Generation, d.Spec.Replicas = 3, ptr.To(int32(3))
		d.Status = appsv1.DeploymentStatus{ObservedGeneration: 3, Replicas: 3, UpdatedReplicas: 3, AvailableReplicas: 3}
	}
	all := summary{updated: true, complete: true, available: true, desired: 3}
	for name, test := range map[string]struct {
		change func(*appsv1.Deployment)
		evicts bool
		want   summary
	}{
		"all is well":         {func(*appsv1.Deployment) {}, false, all},
		"no replicas given":   {func(d *appsv1.Deployment) { d.Spec.Replicas = nil }, false, summary{updated: true, complete: true, available: true, desired: 1}},
		"not seen yet":        {func(d *appsv1.Deployment) { d.Generation = 4 }, false, summary{available: true, desired: 3}},
		"an old pod is left":  {func(d *appsv1.Deployment) { d.Status.Replicas = 4 }, false, summary{available: true, desired: 3}},
		"not all updated":     {func(d *appsv1.Deployment) { d.Status.UpdatedReplicas = 2 }, false, summary{available: true, desired: 3}},
		"broken":              {func(d *appsv1.Deployment) { d.Status.AvailableReplicas = 2 }, false, summary{updated: true, desired: 3}},
		"being deleted":       {func(d *appsv1.Deployment) { d.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)} }, true, summary{obstacle: autorebootv1.ReasonTerminating, updated: true, complete: true, available: true, desired: 3}},
		"paused":              {func(d *appsv1.Deployment) { d.Spec.Paused, d.Status.UpdatedReplicas = true, 0 }, false, summary{obstacle: autorebootv1.ReasonPaused, updated: true, complete: true, available: true, desired: 3}},
		"paused, by eviction": {func(d *appsv1.Deployment) { d.Spec.Paused, d.Status.UpdatedReplicas = true, 0 }, true, all},
		"scaled to zero": {func(d *appsv1.Deployment) {
			d.Spec.Replicas, d.Status = ptr.To(int32(0)), appsv1.DeploymentStatus{ObservedGeneration: 3}
		}, true, summary{obstacle: autorebootv1.ReasonScaledToZero, updated: true, complete: true, available: true}},
	} {
		t.Run(name, func(t *testing.T) {
			d := &appsv1.Deployment{}
			well(d)
			test.change(d)
			if got := summaryOf(Deployment(d, test.evicts)); got != test.want {
				t.Errorf("got %+v, want %+v", got, test.want)
			}
		})
	}
}

func TestAStatefulSetIsReadOffItsStatus(t *testing.T) {
	all := summary{updated: true, complete: true, available: true, desired: 3}
	partition := func(n int32, updated int32) func(*appsv1.StatefulSet) {
		return func(s *appsv1.StatefulSet) {
			s.Spec.UpdateStrategy.RollingUpdate = &appsv1.RollingUpdateStatefulSetStrategy{Partition: &n}
			s.Status.UpdatedReplicas = updated
		}
	}
	onDelete := func(s *appsv1.StatefulSet) {
		s.Spec.UpdateStrategy.Type, s.Status.UpdatedReplicas = appsv1.OnDeleteStatefulSetStrategyType, 0
	}
	for name, test := range map[string]struct {
		change func(*appsv1.StatefulSet)
		evicts bool
		want   summary
	}{
		"all is well":                  {func(*appsv1.StatefulSet) {}, false, all},
		"rolling out":                  {func(s *appsv1.StatefulSet) { s.Status.UpdatedReplicas = 1 }, false, summary{available: true, desired: 3}},
		"a partition that is done":     {partition(2, 1), false, all},
		"a partition that is not done": {partition(1, 1), false, summary{available: true, desired: 3}},
		"a partition that keeps all":   {partition(3, 0), false, summary{autorebootv1.ReasonPartitioned, true, true, true, 3}},
		"the same, by eviction":        {partition(3, 0), true, all},
		"by hand":                      {onDelete, false, summary{autorebootv1.ReasonOnDelete, true, true, true, 3}},
		"by hand, by eviction":         {onDelete, true, all},
	} {
		t.Run(name, func(t *testing.T) {
			s := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Generation: 1}, Spec: appsv1.StatefulSetSpec{Replicas: ptr.To(int32(3))}}
			s.Status = appsv1.StatefulSetStatus{ObservedGeneration: 1, Replicas: 3, UpdatedReplicas: 3, AvailableReplicas: 3}
			test.change(s)
			if got := summaryOf(StatefulSet(s, test.evicts)); got != test.want {
				t.Errorf("got %+v, want %+v", got, test.want)
			}
		})
	}
}

func TestADaemonSetIsReadOffItsStatus(t *testing.T) {
	for name, test := range map[string]struct {
		status   appsv1.DaemonSetStatus
		onDelete bool
		want     summary
	}{
		"all is well": {appsv1.DaemonSetStatus{ObservedGeneration: 1, DesiredNumberScheduled: 2, CurrentNumberScheduled: 2, UpdatedNumberScheduled: 2, NumberAvailable: 2}, false,
			summary{"", true, true, true, 2}},
		"rolling out": {appsv1.DaemonSetStatus{ObservedGeneration: 1, DesiredNumberScheduled: 2, CurrentNumberScheduled: 2, UpdatedNumberScheduled: 1, NumberAvailable: 2}, false,
			summary{"", false, false, true, 2}},
		"on no node": {appsv1.DaemonSetStatus{ObservedGeneration: 1}, false, summary{autorebootv1.ReasonScaledToZero, true, true, true, 0}},
		"just made":  {appsv1.DaemonSetStatus{}, false, summary{}},
		"by hand": {appsv1.DaemonSetStatus{ObservedGeneration: 1, DesiredNumberScheduled: 2, CurrentNumberScheduled: 2, NumberAvailable: 2}, true,
			summary{autorebootv1.ReasonOnDelete, true, true, true, 2}},
	} {
		t.Run(name, func(t *testing.T) {
			d := &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Generation: 1}, Status: test.status}
			if test.onDelete {
				d.Spec.UpdateStrategy.Type = appsv1.OnDeleteDaemonSetStrategyType
			}
			if got := summaryOf(DaemonSet(d, false)); got != test.want {
				t.Errorf("got %+v, want %+v", got, test.want)
			}
		})
	}
}

// outdated returns -1 if the number is unknown.
func outdated(w *Workload) int32 { return ptr.Deref(w.Outdated, -1) }

func TestPodsOfAnOlderRevisionCountWhateverKeepsThem(t *testing.T) {
	deployment := func(change func(*appsv1.Deployment)) *Workload {
		d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Generation: 2}, Spec: appsv1.DeploymentSpec{Replicas: ptr.To(int32(4))}}
		d.Status = appsv1.DeploymentStatus{ObservedGeneration: 2, Replicas: 5, UpdatedReplicas: 1, AvailableReplicas: 4}
		change(d)
		return Deployment(d, false)
	}
	statefulSet := func(change func(*appsv1.StatefulSet)) *Workload {
		s := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Generation: 2}, Spec: appsv1.StatefulSetSpec{Replicas: ptr.To(int32(4))}}
		s.Status = appsv1.StatefulSetStatus{ObservedGeneration: 2, Replicas: 4, UpdatedReplicas: 1, AvailableReplicas: 4}
		change(s)
		return StatefulSet(s, false)
	}
	for name, test := range map[string]struct {
		workload        *Workload
		want, partition int32
	}{
		"rolls out":       {deployment(func(*appsv1.Deployment) {}), 4, 0},
		"paused":          {deployment(func(d *appsv1.Deployment) { d.Spec.Paused = true }), 4, 0},
		"not seen yet":    {deployment(func(d *appsv1.Deployment) { d.Generation = 3 }), -1, 0},
		"ended":           {deployment(func(d *appsv1.Deployment) { d.Status.Replicas, d.Status.UpdatedReplicas = 4, 4 }), 0, 0},
		"one pod too few": {deployment(func(d *appsv1.Deployment) { d.Status.Replicas, d.Status.UpdatedReplicas = 3, 3 }), 1, 0},
		"one pod more":    {deployment(func(d *appsv1.Deployment) { d.Status.Replicas, d.Status.UpdatedReplicas = 5, 4 }), 1, 0},
		"by hand": {statefulSet(func(s *appsv1.StatefulSet) {
			s.Spec.UpdateStrategy.Type = appsv1.OnDeleteStatefulSetStrategyType
		}), 3, 0},
		"partitioned": {statefulSet(func(s *appsv1.StatefulSet) {
			s.Spec.UpdateStrategy.RollingUpdate = &appsv1.RollingUpdateStatefulSetStrategy{Partition: ptr.To(int32(3))}
		}), 3, 3},
		"partitioned for good": {statefulSet(func(s *appsv1.StatefulSet) {
			s.Spec.UpdateStrategy.RollingUpdate = &appsv1.RollingUpdateStatefulSetStrategy{Partition: ptr.To(int32(9))}
		}), 3, 4},
		"a DaemonSet by hand": {DaemonSet(&appsv1.DaemonSet{
			Spec:   appsv1.DaemonSetSpec{UpdateStrategy: appsv1.DaemonSetUpdateStrategy{Type: appsv1.OnDeleteDaemonSetStrategyType}},
			Status: appsv1.DaemonSetStatus{ObservedGeneration: 1, DesiredNumberScheduled: 2, CurrentNumberScheduled: 2, UpdatedNumberScheduled: 1, NumberAvailable: 2},
		}, false), 1, 0},
	} {
		if got := outdated(test.workload); got != test.want || test.workload.Partition != test.partition {
			t.Errorf("%s: %d outdated and %d kept by a partition, want %d and %d", name, got, test.workload.Partition, test.want, test.partition)
		}
	}
}
