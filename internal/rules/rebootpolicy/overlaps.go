// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	"cmp"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/api/common"
	"github.com/fairlead-dev/fairlead/internal/rules"
)

// Evicts reports whether a policy evicts pods.
func Evicts(spec *autorebootv1.RebootPolicySpec) bool {
	return spec.Strategy != nil && spec.Strategy.Type == autorebootv1.StrategyEvict
}

// Overlaps warns of other policies that name a target of obj. Each policy counts its own cooldown and limit, so
// together they restart more often than either spec says. It compares names with names, and selectors with equal
// selectors: only a cluster shows what a selector matches. others may include obj and policies of other namespaces,
// which do not count.
func Overlaps(obj *autorebootv1.RebootPolicy, others []autorebootv1.RebootPolicy) []string {
	var texts []string
	for i := range others {
		other := &others[i]
		if other.Namespace != obj.Namespace || other.Name == obj.Name || YieldsTo(other, obj) || YieldsTo(obj, other) {
			continue
		}
		for j := range rules.Within(obj.Spec.Targets) {
			mine := &obj.Spec.Targets[j]
			if !lists(other.Spec.Targets, mine) {
				continue
			}
			text := fmt.Sprintf("spec.targets[%d]: RebootPolicy %s restarts %s already; each counts its own cooldown and limit",
				j, other.Name, describe(mine))
			if !slices.EqualFunc(obj.Spec.Windows, other.Spec.Windows, isSameSpan) {
				text += ", and their windows differ"
			}
			texts = append(texts, text)
		}
	}
	return texts
}

// isSameSpan reports whether two windows are equal except for their names.
func isSameSpan(a, b common.Window) bool {
	a.Name, b.Name = "", ""
	return a == b
}

func lists(targets []autorebootv1.Target, wanted *autorebootv1.Target) bool {
	for i := range targets {
		t := &targets[i]
		sameKind := t.Kind == wanted.Kind || t.Selector != nil && (t.Kind == "" || wanted.Kind == "") // no kind means all kinds of the group
		sameKind = sameKind && KindsOf(t)[0].Group() == KindsOf(wanted)[0].Group()
		if sameKind && t.Name == wanted.Name && equality.Semantic.DeepEqual(t.Selector, wanted.Selector) {
			return true
		}
	}
	return false
}

func describe(t *autorebootv1.Target) string {
	if t.Selector != nil {
		return fmt.Sprintf("every %s of this selector", cmp.Or(string(t.Kind), "workload"))
	}
	return fmt.Sprintf("%s %s", t.Kind, t.Name)
}
