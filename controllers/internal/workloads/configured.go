// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package workloads

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/internal/workloadkinds"
)

// Configured reads a workload of a kind that the configuration names, by the conventions of Deployments. A field that its status
// lacks is an obstacle, and no nought that would prove something: without it no restart could be verified. What holds its own
// updates is looked for in spec, and where OpenKruise has it, in spec.updateStrategy and its rollingUpdate.
func Configured(kind *workloadkinds.Kind, object *unstructured.Unstructured, evicts bool) *Workload {
	r := &fields{object: object.Object}
	template, selector := &corev1.PodTemplateSpec{}, &metav1.LabelSelector{}
	const isNone = ", since it has no pod template at %s: correct rebootPolicies.workloads in the operator's configuration"
	if r.read(template, isNone, kind.Template...); len(template.Spec.Containers) == 0 {
		r.blame(isNone, kind.Template) // nothing may be written to it
	}
	r.read(selector, ", since it has no %s, by which its pods are found", "spec", "selector")
	w := newWorkload(kind.Name(), object, template, selector)
	w.APIVersion = object.GetAPIVersion()
	desired := int32(r.number(1, "", "spec", "replicas"))
	w.MinReady = seconds(int32(r.number(0, "", "spec", "minReadySeconds")))
	paused, partitioned := r.holds()
	w.addFault(r.fault)
	w.addObstacle(autorebootv1.ReasonPaused, paused && !evicts)
	w.addObstacle(autorebootv1.ReasonScaledToZero, desired == 0)
	w.addObstacle(autorebootv1.ReasonPartitioned, partitioned && !evicts)

	const unverified = ", since its status has no %s, without which no restart is verified"
	available := "availableReplicas"
	if _, found, _ := unstructured.NestedFieldNoCopy(r.object, "status", available); !found {
		available = "readyReplicas"
	}
	observed := r.number(0, unverified, "status", "observedGeneration")
	c := counts{
		desired: desired, toUpdate: desired, manual: paused || partitioned,
		all: int32(r.number(0, unverified, "status", "replicas")), updated: int32(r.number(0, unverified, "status", "updatedReplicas")),
		available: int32(r.number(0, unverified, "status", available)),
	}
	w.addFault(r.fault)
	c.observed = r.fault == "" && observed >= object.GetGeneration()
	w.setCounts(c)
	w.Available = w.Available && r.fault == ""
	w.Complete = w.Complete && w.Available
	return w
}

// addFault adds what is wrong with the workload, as the end of a sentence, as its obstacle; empty for nothing.
func (w *Workload) addFault(fault string) {
	if fault != "" && w.Obstacle == "" {
		w.Obstacle, w.ObstacleText = autorebootv1.ReasonDegraded, fault
	}
}

// fields reads those of an object. fault is what is wrong with the first that is missing or of another type, as the end of a
// sentence about the workload; empty for nothing.
type fields struct {
	object map[string]any
	fault  string
}

func (r *fields) blame(format string, path []string) {
	if r.fault == "" {
		r.fault = fmt.Sprintf(format, strings.Join(path, "."))
	}
}

// number returns the number at path, or missing if there is none. If isMissing is not "", the number is required and isMissing
// is the error's text.
func (r *fields) number(missing int64, isMissing string, path ...string) int64 {
	value, _, err := unstructured.NestedFieldNoCopy(r.object, path...)
	number, is := value.(int64)
	switch {
	case err == nil && is:
		return number
	case err != nil || value != nil:
		r.blame(", since its %s is no integer", path)
	case isMissing != "":
		r.blame(isMissing, path[1:])
	}
	return missing
}

// read reads a struct that may not be missing.
func (r *fields) read(into any, isMissing string, path ...string) {
	value, _, err := unstructured.NestedFieldNoCopy(r.object, path...)
	if of, is := value.(map[string]any); err != nil || !is {
		r.blame(isMissing, path)
	} else if runtime.DefaultUnstructuredConverter.FromUnstructured(of, into) != nil {
		r.blame(", since its %s is not as expected", path)
	}
}

// holds reports whether the workload holds its own updates, or leaves some of its pods as they are.
func (r *fields) holds() (paused, partitioned bool) {
	for _, path := range [][]string{{"spec"}, {"spec", "updateStrategy"}, {"spec", "updateStrategy", "rollingUpdate"}} {
		at, _, _ := unstructured.NestedFieldNoCopy(r.object, path...)
		of, _ := at.(map[string]any)
		if is, _ := of["paused"].(bool); is {
			paused = true
		}
		switch partition := of["partition"].(type) {
		case int64:
			partitioned = partitioned || partition != 0
		case string:
			partitioned = partitioned || strings.Trim(partition, "0%") != ""
		}
	}
	return paused, partitioned
}
