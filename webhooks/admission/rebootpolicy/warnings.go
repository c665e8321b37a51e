// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	"context"

	"k8s.io/apimachinery/pkg/labels"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	commonrules "github.com/fairlead-dev/fairlead/internal/rules"
	rules "github.com/fairlead-dev/fairlead/internal/rules/rebootpolicy"
)

// overlaps warns of other RebootPolicies that act on the same workload.
func (w *webhook) overlaps(ctx context.Context, obj *autorebootv1.RebootPolicy) []string {
	var others autorebootv1.RebootPolicyList
	if !w.options.Warnings.List(ctx, &others, obj.Namespace) {
		return nil
	}
	return rules.Overlaps(obj, others.Items)
}

// budgets warns of PodDisruptionBudgets that never allow what obj evicts, and of Deployments that have no pod meanwhile.
func (w *webhook) budgets(ctx context.Context, obj *autorebootv1.RebootPolicy) []string {
	if !rules.Evicts(&obj.Spec) {
		return nil
	}
	evicts := func(evicted *commonrules.Evicted, set labels.Set) bool {
		return selects(&obj.Spec, autorebootv1.TargetKind(evicted.Kind), evicted.Name, set)
	}
	return append(w.options.Warnings.Budgets(ctx, obj.Namespace, "spec.strategy.type: Evict restarts no pod", evicts),
		w.options.Warnings.LonePods(ctx, obj.Namespace, "spec.strategy.type: Evict", evicts)...)
}

// selects reports whether a target of a spec is this workload.
func selects(spec *autorebootv1.RebootPolicySpec, kind autorebootv1.TargetKind, name string, set labels.Set) bool {
	for i := range spec.Targets {
		t := &spec.Targets[i]
		if t.Kind != kind {
			continue
		}
		if t.Selector == nil {
			if t.Name == name {
				return true
			}
			continue
		}
		if selector, err := t.Selector.Selector(); err == nil && selector.Matches(set) {
			return true
		}
	}
	return false
}
