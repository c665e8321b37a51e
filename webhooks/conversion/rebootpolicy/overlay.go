// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	"cmp"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/api/autoreboot/v1alpha1"
	"github.com/fairlead-dev/fairlead/api/common"
	"github.com/fairlead-dev/fairlead/webhooks/conversion/check"
	"github.com/fairlead-dev/fairlead/webhooks/conversion/hubspoke"
)

// overlayHub applies the edit of a view to the saved hub. Whatever is equal in both views keeps the saved value,
// including the spelling of a duration.
func overlayHub(saved hubForm, before, after spokeForm) hubForm {
	from, to := up(before), up(after)
	out := saved
	out.Status = hubspoke.Merge(saved.Status, from.Status, to.Status)
	out.Spec.Targets = overlayTargets(saved.Spec.Targets, before.Spec.Target, after.Spec.Target)
	out.Spec.Triggers = overlayTriggers(saved.Spec.Triggers, from.Spec.Triggers, to.Spec.Triggers)
	if out.Spec.Cooldown == nil && len(after.Spec.Policies) > len(before.Spec.Policies) {
		out.Spec.Cooldown = up(after).Spec.Cooldown
	}
	return out
}

// overlayTargets edits only the first target. A name that was added to the view replaces a selector; the wave is
// unchanged.
func overlayTargets(saved []autorebootv1.Target, before, after v1alpha1.Target) []autorebootv1.Target {
	if len(saved) == 0 {
		return up(spokeForm{Spec: v1alpha1.RebootPolicySpec{Target: after}}).Spec.Targets
	}
	out := append([]autorebootv1.Target(nil), saved...)
	if after.Kind != before.Kind {
		kind := common.WorkloadKind(after.Kind)
		out[0].Kind = kind.Name()
		if group := kind.Group(); group != cmp.Or(out[0].Group, common.AppsGroup) {
			out[0].Group = groupOf(after.Kind)
		}
	}
	if after.Name != before.Name {
		out[0].Name, out[0].Selector = after.Name, nil
	}
	return out
}

// overlayTriggers keeps the triggers that the view does not have. As long as none was added or removed, the
// view's triggers take the positions that they had together; otherwise the remaining ones keep their neighbors,
// and a new one follows its predecessor.
func overlayTriggers(saved, before, after []autorebootv1.Trigger) []autorebootv1.Trigger {
	name := func(t *autorebootv1.Trigger) string { return t.Name }
	edited, indexes := mergeNamed(probes(saved), before, after, name), indexByName(after, name)
	for i := range edited {
		if p := edited[i].Probe; p != nil {
			check.DropTLS(&p.Check)
		}
	}
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
			upTo = 1 + indexOf(indexes, saved[i].Name)
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

// mergeNamed returns the items of after, each merged with the saved item that it corresponds to: the one of its
// name, or, where no item was added or removed, the one of its index if that name was removed. The saved items are
// in the order of before.
func mergeNamed[T any](saved, before, after []T, name func(*T) string) []T {
	var out []T
	were, are := indexByName(before, name), indexByName(after, name)
	for i := range after {
		j := indexOf(were, name(&after[i]))
		if j < 0 && len(before) == len(after) && indexOf(are, name(&before[i])) < 0 {
			j = i
		}
		if j < 0 || j >= len(saved) {
			out = append(out, after[i])
			continue
		}
		out = append(out, hubspoke.Merge(saved[j], before[j], after[i]))
	}
	return out
}

// indexByName returns the index of the first item of each name: a list may be as long as a request.
func indexByName[T any](items []T, name func(*T) string) map[string]int {
	indexes := make(map[string]int, len(items))
	for i := range items {
		if _, has := indexes[name(&items[i])]; !has {
			indexes[name(&items[i])] = i
		}
	}
	return indexes
}

// indexOf returns the index of the first item of a name, or -1.
func indexOf(indexes map[string]int, name string) int {
	if i, has := indexes[name]; has {
		return i
	}
	return -1
}
