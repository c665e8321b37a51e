// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package workloads

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"

	"github.com/fairlead-dev/fairlead/internal/workloadkinds"
)

// Batch reads a CronJob or a Job. Nothing of it has to be available: what it runs ends, and may fail as it likes. So it counts as
// complete at any time, and has no pods of its own.
func Batch(kind *workloadkinds.Kind, object *unstructured.Unstructured) *Workload {
	r, template := &fields{object: object.Object}, &corev1.PodTemplateSpec{}
	r.read(template, ", since it has no pod template at %s", kind.Template...)
	w := newWorkload(kind.Name(), object, template, nil)
	w.APIVersion, w.RunsToEnd = object.GetAPIVersion(), true
	w.addFault(r.fault)
	w.Desired, w.AvailablePods, w.Outdated = 1, 1, ptr.To[int32](0)
	w.Available, w.Updated, w.Complete = true, true, true
	return w
}
