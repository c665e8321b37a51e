// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/api/autoreboot/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/rules/rebootpolicy"
	"github.com/fairlead-dev/fairlead/webhooks/conversion/hubspoke"
)

type hubForm struct {
	Spec   autorebootv1.RebootPolicySpec   `json:"spec"`
	Status autorebootv1.RebootPolicyStatus `json:"status"`
}

type spokeForm struct {
	Spec   v1alpha1.RebootPolicySpec   `json:"spec"`
	Status v1alpha1.RebootPolicyStatus `json:"status"`
}

// New makes the converter of the kind.
func New() *hubspoke.Converter {
	return hubspoke.New(hubspoke.Pair[hubForm, spokeForm]{
		Group: autorebootv1.GroupVersion.Group, Kind: "RebootPolicy",
		Hub: autorebootv1.GroupVersion.Version, Spoke: v1alpha1.GroupVersion.Version,
		Up: up, Down: down, Normalize: normalize, OverlayHub: overlayHub, OverlaySpoke: overlaySpoke,
	})
}

// complete fills in the defaults of v1. Conversion gives a cooldown even with a Probe trigger,
// where v1 demands that its author choose one: v1alpha1 has no field to choose it with.
func complete(h hubForm) hubForm {
	if h.Spec.Cooldown == nil && rebootpolicy.HasProbe(&h.Spec) {
		cooldown := rebootpolicy.DefaultCooldown
		h.Spec.Cooldown = &cooldown
	}
	obj := autorebootv1.RebootPolicy{Spec: h.Spec}
	rebootpolicy.Default(&obj)
	h.Spec = obj.Spec
	return h
}

func up(s spokeForm) hubForm {
	var h hubForm
	if target := s.Spec.Target; target != (v1alpha1.Target{}) {
		h.Spec.Targets = []autorebootv1.Target{{Kind: autorebootv1.TargetKind(target.Kind), Name: target.Name}}
	}
	for i := range s.Spec.Policies {
		h.Spec.Triggers = append(h.Spec.Triggers, triggerOf(&s.Spec.Policies[i]))
	}
	h.Status.LastRestartTime = s.Status.LastReboot
	h.Status.Conditions = s.Status.Conditions
	return complete(h)
}

// down shows every value, that of a default as well: a default of v1 that stood unspoken in a view
// could change its meaning with the next version.
func down(h hubForm) spokeForm {
	h.Spec = *h.Spec.DeepCopy()
	for i := range h.Spec.Triggers {
		if p := h.Spec.Triggers[i].Probe; p != nil {
			p.Period, p.Timeout = legible(p.Period), legible(p.Timeout)
		}
	}
	h = complete(h)
	var s spokeForm
	if len(h.Spec.Targets) > 0 {
		first := &h.Spec.Targets[0]
		s.Spec.Target = v1alpha1.Target{APIVersion: "apps/v1", Kind: string(first.Kind), Name: first.Name}
	}
	for i := range h.Spec.Triggers {
		if h.Spec.Triggers[i].Type == autorebootv1.TriggerProbe {
			s.Spec.Policies = append(s.Spec.Policies, policyOf(&h.Spec.Triggers[i]))
		}
	}
	s.Status.LastReboot = h.Status.LastRestartTime
	s.Status.Conditions = h.Status.Conditions
	return s
}

func triggerOf(p *v1alpha1.Policy) autorebootv1.Trigger {
	return autorebootv1.Trigger{
		Name:        p.Name,
		Description: p.Comment,
		Type:        autorebootv1.TriggerProbe,
		Probe:       probeUp(p.Trigger.Probe),
	}
}

func policyOf(t *autorebootv1.Trigger) v1alpha1.Policy {
	return v1alpha1.Policy{
		Name:    t.Name,
		Comment: t.Description,
		Trigger: v1alpha1.Trigger{Probe: probeDown(t.Probe)},
	}
}
