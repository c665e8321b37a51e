// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package workloadkinds

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/api/common"
	"github.com/fairlead-dev/fairlead/internal/argorollouts"
)

// typed is the part of a row that needs the Go type of a kind.
type typed struct {
	object func() (client.Object, client.ObjectList)
	pods   func(client.Object) (template *corev1.PodTemplateSpec, replicas int32)
}

func row[T client.Object](
	of schema.GroupVersionKind, short string, object func() (client.Object, client.ObjectList), pods func(T) (*corev1.PodTemplateSpec, int32),
) Kind {
	return Kind{GroupVersionKind: of, Short: short, typed: typed{object, func(of client.Object) (*corev1.PodTemplateSpec, int32) {
		if one, isOne := of.(T); isOne {
			return pods(one)
		}
		return nil, 0
	}}}
}

// The kinds of workloads that Fairlead knows without a configuration.
var (
	Deployments = row(appsv1.SchemeGroupVersion.WithKind("Deployment"), "deploy",
		func() (client.Object, client.ObjectList) { return &appsv1.Deployment{}, &appsv1.DeploymentList{} },
		func(d *appsv1.Deployment) (*corev1.PodTemplateSpec, int32) {
			return &d.Spec.Template, ptr.Deref(d.Spec.Replicas, 1)
		})
	StatefulSets = row(appsv1.SchemeGroupVersion.WithKind("StatefulSet"), "sts",
		func() (client.Object, client.ObjectList) { return &appsv1.StatefulSet{}, &appsv1.StatefulSetList{} },
		func(s *appsv1.StatefulSet) (*corev1.PodTemplateSpec, int32) {
			return &s.Spec.Template, ptr.Deref(s.Spec.Replicas, 1)
		})
	DaemonSets = row(appsv1.SchemeGroupVersion.WithKind("DaemonSet"), "ds",
		func() (client.Object, client.ObjectList) { return &appsv1.DaemonSet{}, &appsv1.DaemonSetList{} },
		func(d *appsv1.DaemonSet) (*corev1.PodTemplateSpec, int32) {
			return &d.Spec.Template, d.Status.DesiredNumberScheduled
		})
	// Rollouts are those of Argo Rollouts, which few clusters have.
	Rollouts = row(argorollouts.GroupVersion.WithKind(argorollouts.Kind), "ro",
		func() (client.Object, client.ObjectList) { return &argorollouts.Rollout{}, &argorollouts.RolloutList{} },
		func(r *argorollouts.Rollout) (*corev1.PodTemplateSpec, int32) {
			return &r.Spec.Template, ptr.Deref(r.Spec.Replicas, 1)
		})
)

// Apps are the kinds that every cluster has, and Known these and Rollouts.
var (
	Apps  = []Kind{Deployments, StatefulSets, DaemonSets}
	Known = []Kind{Deployments, StatefulSets, DaemonSets, Rollouts}
)

// AppsObjects returns an empty object of each of Apps.
func AppsObjects() []client.Object {
	var all []client.Object
	for _, kind := range Apps {
		all = append(all, kind.Object())
	}
	return all
}

// Object returns an empty object of the kind.
func (k Kind) Object() client.Object {
	object, _ := k.New()
	return object
}

// Pods returns the pod template of an object of one of Known, and how many pods it asks for; nil for an object of another kind,
// or of another Go type.
func (k Kind) Pods(of client.Object) (template *corev1.PodTemplateSpec, replicas int32) {
	if k.pods == nil {
		return nil, 0
	}
	return k.pods(of)
}

// PodTemplate returns the pod template of an object of one of Known; nil for another object.
func PodTemplate(of client.Object) *corev1.PodTemplateSpec {
	for _, kind := range Known {
		if template, _ := kind.Pods(of); template != nil {
			return template
		}
	}
	return nil
}

// IsKnown reports whether a kind is one of Known.
func IsKnown(kind common.WorkloadKind) bool { return Find(Known, kind) != nil }
