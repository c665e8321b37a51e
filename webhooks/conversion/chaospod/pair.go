// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package chaospod

import (
	"bytes"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/utils/ptr"

	chaosv1 "github.com/fairlead-dev/fairlead/api/chaos/v1"
	"github.com/fairlead-dev/fairlead/api/chaos/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/rules/chaospod"
	"github.com/fairlead-dev/fairlead/webhooks/conversion/hubspoke"
)

// What v1alpha1 implies, from the example of controller-runtime that it began as: the pod stops
// 10 to 20 seconds after the last time, by deletion, and for real.
const (
	impliedInterval      = "15s"
	impliedJitterPercent = 34
)

// New makes the converter of the kind.
func New() *hubspoke.Converter {
	return hubspoke.New(hubspoke.Pair[hubForm, spokeForm]{
		Group: chaosv1.GroupVersion.Group, Kind: "ChaosPod",
		Hub: chaosv1.GroupVersion.Version, Spoke: v1alpha1.GroupVersion.Version,
		Up: up, Down: down, CompleteHub: complete, CompleteSpoke: normalizeBlank, OverlayHub: overlayHub,
		Bulk: []hubspoke.Bulk{{Hub: []string{"spec", "target", "template"}, Spoke: []string{"spec", "template"}}},
	})
}

// implied is what every v1alpha1 object means and cannot say. It is a template even where a partial
// one, as server-side apply converts them, does not say which.
var implied = func() hubSpec {
	var h hubForm
	h.Spec.DryRun = ptr.To(false)
	h.Spec.Action = &chaosv1.Action{Type: ptr.To(chaosv1.ActionDelete)}
	h.Spec.Schedule.Interval = impliedInterval
	h.Spec.Schedule.JitterPercent = ptr.To[int32](impliedJitterPercent)
	applyDefaults(&h, true)
	return h.Spec
}()

func up(s spokeForm) hubForm {
	h := hubForm{Spec: implied}
	h.Spec.ChaosPodSpec = *implied.DeepCopy()
	h.Spec.Schedule.Schedule = *implied.Schedule.DeepCopy()
	h.Spec.Schedule.At = s.Spec.NextStop
	h.Status.ObservedGeneration, h.Status.Conditions = s.Status.ObservedGeneration, s.Status.Conditions
	h.Status.LastRunTime = s.Status.LastRun
	if hasTemplate(s.Spec.Template) {
		h.Spec.Target.Template = s.Spec.Template
	}
	return h
}

func down(h hubForm) spokeForm {
	var s spokeForm
	s.Spec.NextStop = h.Spec.Schedule.At
	s.Status.ObservedGeneration, s.Status.Conditions = h.Status.ObservedGeneration, h.Status.Conditions
	s.Status.LastRun = h.Status.LastRunTime
	switch {
	case hasTemplate(h.Spec.Target.Template):
		s.Spec.Template = h.Spec.Target.Template
	case h.Spec.Target.Workload != nil || h.Spec.Target.Selector != nil:
		s.Spec.Template = []byte(noTemplate)
	}
	return s
}

// overlayHub carries what changed in the view, and nothing else. Clearing nextStop where the hub
// has no other schedule leaves none, which the rules refuse: an interval that no user asked for
// would kill.
func overlayHub(saved hubForm, before, after spokeForm) hubForm {
	if before.Spec.NextStop != after.Spec.NextStop {
		saved.Spec.Schedule.At = after.Spec.NextStop
	}
	if before.Status.LastRun != after.Status.LastRun {
		saved.Status.LastRunTime = after.Status.LastRun
	}
	if before.Status.ObservedGeneration != after.Status.ObservedGeneration {
		saved.Status.ObservedGeneration = after.Status.ObservedGeneration
	}
	if !equality.Semantic.DeepEqual(before.Status.Conditions, after.Status.Conditions) {
		saved.Status.Conditions = after.Status.Conditions
	}
	switch {
	case bytes.Equal(before.Spec.Template, after.Spec.Template) ||
		isBlankTemplate(before.Spec.Template) && isBlankTemplate(after.Spec.Template):
	case hasTemplate(saved.Spec.Target.Template):
		saved.Spec.Target.Template = nil
		if hasTemplate(after.Spec.Template) {
			saved.Spec.Target.Template = after.Spec.Template
		}
	case !isBlankTemplate(after.Spec.Template):
		saved.Spec.Target = hubTarget{Template: after.Spec.Template}
	}
	return saved
}

// complete fills in the defaults of v1.
func complete(h *hubForm) { applyDefaults(h, hasTemplate(h.Spec.Target.Template)) }

// normalizeBlank writes a template of nothing in one way, however a client wrote it: or else each write of a view by a client
// with Go types, which has its own empty members, would leave an annotation on the object.
func normalizeBlank(s *spokeForm) {
	if hasTemplate(s.Spec.Template) && isBlankTemplate(s.Spec.Template) {
		s.Spec.Template = []byte(noTemplate)
	}
}

// applyDefaults runs the kind's own defaults over a form. They ask of a template only whether
// there is one.
func applyDefaults(h *hubForm, template bool) {
	obj := chaosv1.ChaosPod{Spec: h.Spec.ChaosPodSpec}
	obj.Spec.Schedule = h.Spec.Schedule.Schedule
	obj.Spec.Target = h.Spec.Target.Target
	if template {
		obj.Spec.Target.Template = &corev1.PodTemplateSpec{}
	}
	chaospod.DefaultMaps(&obj)
	h.Spec.ChaosPodSpec = obj.Spec
	h.Spec.Schedule.Schedule = obj.Spec.Schedule
}
