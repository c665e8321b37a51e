// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/api/autoreboot/v1alpha1"
)

// normalize spells out what a view leaves to the defaults.
func normalize(s, explicit spokeForm) spokeForm {
	s.Spec = *s.Spec.DeepCopy()
	if target := &s.Spec.Target; target.APIVersion == "" {
		target.APIVersion = explicit.Spec.Target.APIVersion
	}
	for i := range s.Spec.Policies {
		if p := s.Spec.Policies[i].Trigger.Probe; p != nil {
			fill(p, explicit.Spec.Policies[i].Trigger.Probe)
		}
	}
	return s
}

func fill(p, explicit *v1alpha1.Probe) {
	for _, pair := range [][2]**int32{
		{&p.PeriodSeconds, &explicit.PeriodSeconds},
		{&p.TimeoutSeconds, &explicit.TimeoutSeconds},
		{&p.FailureThreshold, &explicit.FailureThreshold},
		{&p.SuccessThreshold, &explicit.SuccessThreshold},
	} {
		if *pair[0] == nil {
			*pair[0] = *pair[1]
		}
	}
	if h := p.HTTPGet; h != nil && h.Path == nil {
		h.Path = explicit.HTTPGet.Path
	}
	if h := p.HTTPGet; h != nil && h.Scheme == nil {
		h.Scheme = explicit.HTTPGet.Scheme
	}
}

// overlayHub carries the edit of a view onto the saved hub. Whatever both views say alike keeps
// the saved value, down to the way that a duration is written.
func overlayHub(saved hubForm, before, after spokeForm) hubForm {
	from, to := up(before), up(after)
	out := saved
	out.Status = merge(saved.Status, from.Status, to.Status)
	out.Spec.Targets = overlayTargets(saved.Spec.Targets, before.Spec.Target, after.Spec.Target)
	out.Spec.Triggers = overlayTriggers(saved.Spec.Triggers, from.Spec.Triggers, to.Spec.Triggers)
	return complete(out)
}

// overlayTargets edits the first target alone. A name that the view was given takes the place of
// a selector; the wave stays.
func overlayTargets(saved []autorebootv1.Target, before, after v1alpha1.Target) []autorebootv1.Target {
	if len(saved) == 0 {
		return up(spokeForm{Spec: v1alpha1.RebootPolicySpec{Target: after}}).Spec.Targets
	}
	out := append([]autorebootv1.Target(nil), saved...)
	if after.Kind != before.Kind {
		out[0].Kind = autorebootv1.TargetKind(after.Kind)
	}
	if after.Name != before.Name {
		out[0].Name, out[0].Selector = after.Name, nil
	}
	return out
}

// overlayTriggers keeps the triggers that the view does not show. As long as none was added or
// removed, each of the view's triggers takes a place that one of them had before; otherwise those
// that are left stay between the same neighbors, and a new one follows its predecessor.
func overlayTriggers(saved, before, after []autorebootv1.Trigger) []autorebootv1.Trigger {
	edited := mergeNamed(probes(saved), before, after, func(t *autorebootv1.Trigger) string { return t.Name })
	sameCount := len(before) == len(after)
	var out []autorebootv1.Trigger
	next := 0
	for i := range saved {
		if saved[i].Type != autorebootv1.TriggerProbe {
			out = append(out, saved[i])
			continue
		}
		upTo := next + 1
		if !sameCount {
			upTo = 1 + position(after, saved[i].Name)
		}
		for ; next < min(upTo, len(edited)); next++ {
			out = append(out, edited[next])
		}
	}
	return append(out, edited[next:]...)
}

func probes(triggers []autorebootv1.Trigger) []autorebootv1.Trigger {
	var out []autorebootv1.Trigger
	for i := range triggers {
		if triggers[i].Type == autorebootv1.TriggerProbe {
			out = append(out, triggers[i])
		}
	}
	return out
}

// position answers the index of the trigger of that name, or -1.
func position(triggers []autorebootv1.Trigger, name string) int {
	for i := range triggers {
		if triggers[i].Name == name {
			return i
		}
	}
	return -1
}

// overlaySpoke carries the edit of a hub onto the saved view, which holds what v1 cannot say.
func overlaySpoke(saved spokeForm, before, after hubForm) spokeForm {
	from, to := down(before), down(after)
	out := saved
	out.Status = merge(saved.Status, from.Status, to.Status)
	out.Spec.Target = merge(saved.Spec.Target, from.Spec.Target, to.Spec.Target)
	out.Spec.Policies = mergeNamed(saved.Spec.Policies, from.Spec.Policies, to.Spec.Policies,
		func(p *v1alpha1.Policy) string { return p.Name })
	return out
}
