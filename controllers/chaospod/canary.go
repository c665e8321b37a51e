// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package chaospod

import (
	"context"
	"errors"
	"maps"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	chaosv1 "github.com/fairlead-dev/fairlead/api/chaos/v1"
	"github.com/fairlead-dev/fairlead/controllers/internal/chaos"
	"github.com/fairlead-dev/fairlead/controllers/internal/workloads"
	"github.com/fairlead-dev/fairlead/internal/disruption"
)

// canary finds the pod that has the canary's name, which is the ChaosPod's.
func (r *Reconciler) canary(ctx context.Context, o *observation, v *view) *chaos.Canary {
	r.watchIndex.Set(o.key, &watchSet{pod: o.key.Name})
	var pod corev1.Pod
	if err := v.from.Get(ctx, o.key, &pod); apierrors.IsNotFound(err) {
		return &chaos.Canary{}
	} else if err != nil {
		return &chaos.Canary{Unknown: "the pod " + o.key.Name + " cannot be read: " + err.Error()}
	}
	seen := v.pod(ctx, &pod)
	seen.Selected = true
	return &chaos.Canary{
		Pod: &seen, Foreign: workloads.ControllerOf(&pod) != o.stored.UID,
		Hash: pod.Labels[chaosv1.TemplateHashLabel], Finished: workloads.IsFinished(&pod),
	}
}

// create makes the canary. A pod that has its name already is left as it is, whatever owns it: the
// next look sees it.
func (r *Reconciler) create(ctx context.Context, c client.Client, o *observation, action chaos.Action) (chaos.Result, error) {
	result := chaos.Result{Action: action, Outcome: chaos.Retry}
	template := o.stored.Spec.Target.Template
	if template == nil {
		return result, errors.New("there is no target.template")
	}
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: o.key.Namespace, Name: o.key.Name,
			Labels: maps.Clone(template.Labels), Annotations: maps.Clone(template.Annotations),
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: chaosv1.GroupVersion.String(), Kind: disruption.ChaosPod, Name: o.stored.Name, UID: o.stored.UID, Controller: ptr.To(true),
			}},
		},
		Spec: *template.Spec.DeepCopy(),
	}
	if pod.Labels == nil {
		pod.Labels = map[string]string{}
	}
	pod.Labels[chaosv1.TemplateHashLabel] = action.Hash
	err := c.Create(ctx, pod)
	switch {
	case err == nil:
		result.Outcome = chaos.Done
	case apierrors.IsForbidden(err), apierrors.IsInvalid(err), apierrors.IsBadRequest(err):
		result.Outcome = chaos.Forbidden // quota, Pod Security, a template that makes no pod
	}
	return result, err
}
