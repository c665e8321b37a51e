// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/api/autoreboot/v1alpha1"
)

// overlayHub carries the edit of a view onto the saved hub. Whatever both views say alike keeps
// the saved value, down to the way that a duration is written.
func overlayHub(saved hubForm, before, after spokeForm) hubForm {
	from, to := up(before), up(after)
	out := saved
	out.Status = merge(saved.Status, from.Status, to.Status)
	out.Spec.Targets = overlayTargets(saved.Spec.Targets, before.Spec.Target, after.Spec.Target)
	out.Spec.Triggers = overlayTriggers(saved.Spec.Triggers, from.Spec.Triggers, to.Spec.Triggers)
	if out.Spec.Cooldown == nil && len(after.Spec.Policies) > len(before.Spec.Policies) {
		out.Spec.Cooldown = up(after).Spec.Cooldown
	}
	return out
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
	name := func(t *autorebootv1.Trigger) string { return t.Name }
	edited, places := mergeNamed(probes(saved), before, after, name), placesOf(after, name)
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
			upTo = 1 + find(places, saved[i].Name)
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
