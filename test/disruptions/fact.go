// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package disruptions

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	chaosv1 "github.com/fairlead-dev/fairlead/api/chaos/v1"
)

// fact is the content of one version of an object. One of pod, workload and claims is set.
type fact struct {
	at      uint64
	uid     types.UID
	name    string
	deleted bool

	pod      *pod
	workload *workload
	claims   *claims
}

type pod struct {
	workload               string // its Deployment; empty where it has none
	template               string // restart-id
	ready, ending, evicted bool
}

type workload struct {
	template string // restart-id
	complete bool
}

// claims are the disruptions that a ChaosPod or RebootPolicy has under way.
type claims struct {
	holder    string
	workloads []string
	victims   []types.UID
}

// factOf reads an object of a watch or list.
func factOf(object client.Object, deleted bool) (fact, error) {
	at, err := strconv.ParseUint(object.GetResourceVersion(), 10, 64)
	if err != nil {
		return fact{}, fmt.Errorf("the resource version of %s: %w", object.GetName(), err)
	}
	f := fact{at: at, uid: object.GetUID(), name: object.GetName(), deleted: deleted}
	switch o := object.(type) {
	case *corev1.Pod:
		f.pod = podOf(o, deleted)
	case *appsv1.Deployment:
		f.workload = workloadOf(o)
	case *chaosv1.ChaosPod:
		f.claims = claimsOfRun(o, deleted)
	case *autorebootv1.RebootPolicy:
		f.claims = claimsOfRestarts(o, deleted)
	default:
		return fact{}, fmt.Errorf("%s is a %T, which is not followed", object.GetName(), object)
	}
	return f, nil
}

func podOf(o *corev1.Pod, deleted bool) *pod {
	p := &pod{template: o.Annotations[autorebootv1.RestartIDAnnotation], ending: deleted || o.DeletionTimestamp != nil}
	if owner := metav1.GetControllerOfNoCopy(o); owner != nil && owner.Kind == "ReplicaSet" {
		p.workload, _ = strings.CutSuffix(owner.Name, "-"+o.Labels[appsv1.DefaultDeploymentUniqueLabelKey])
	}
	for _, c := range o.Status.Conditions {
		switch {
		case c.Status != corev1.ConditionTrue:
		case c.Type == corev1.PodReady:
			p.ready = !p.ending
		case c.Type == corev1.DisruptionTarget:
			p.evicted = true
		}
	}
	return p
}

func workloadOf(o *appsv1.Deployment) *workload {
	wanted, st := ptr.Deref(o.Spec.Replicas, 1), o.Status
	return &workload{
		template: o.Spec.Template.Annotations[autorebootv1.RestartIDAnnotation],
		complete: st.ObservedGeneration >= o.Generation && st.UpdatedReplicas == wanted && st.Replicas == wanted && st.AvailableReplicas >= wanted,
	}
}

// claimsOfRun are the owners whose pod is to die or has died in the run under way.
func claimsOfRun(o *chaosv1.ChaosPod, deleted bool) *claims {
	c := &claims{holder: "ChaosPod " + o.Name}
	run := o.Status.CurrentRun
	if deleted || run == nil || run.DryRun {
		return c
	}
	for i := range run.Victims {
		v := &run.Victims[i]
		switch v.Outcome {
		case chaosv1.VictimPending, chaosv1.VictimEvicted, chaosv1.VictimDeleted, chaosv1.VictimGone:
			c.victims = append(c.victims, v.UID)
			if v.Owner != nil && !slices.Contains(c.workloads, v.Owner.Name) {
				c.workloads = append(c.workloads, v.Owner.Name)
			}
		case chaosv1.VictimSkippedDisruptionBudget, chaosv1.VictimFailed, chaosv1.VictimSpared, chaosv1.VictimDryRun:
		}
	}
	return c
}

func claimsOfRestarts(o *autorebootv1.RebootPolicy, deleted bool) *claims {
	c := &claims{holder: "RebootPolicy " + o.Name}
	if deleted {
		return c
	}
	for i := range o.Status.InFlight {
		if name := o.Status.InFlight[i].Name; !slices.Contains(c.workloads, name) {
			c.workloads = append(c.workloads, name)
		}
	}
	return c
}
