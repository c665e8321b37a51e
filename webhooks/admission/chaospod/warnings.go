// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package chaospod

import (
	"context"

	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/labels"

	chaosv1 "github.com/fairlead-dev/fairlead/api/chaos/v1"
	commonrules "github.com/fairlead-dev/fairlead/internal/rules"
	rules "github.com/fairlead-dev/fairlead/internal/rules/chaospod"
)

// overlaps warns of other ChaosPods that act on the same workload.
func (w *webhook) overlaps(ctx context.Context, obj *chaosv1.ChaosPod) []string {
	var others chaosv1.ChaosPodList
	if !w.options.Warnings.List(ctx, &others, obj.Namespace) {
		return nil
	}
	return rules.Overlaps(obj, others.Items)
}

// budgets warns of PodDisruptionBudgets that never allow the evictions of obj. A dry run calls the eviction API too.
func (w *webhook) budgets(ctx context.Context, obj *chaosv1.ChaosPod) []string {
	if !rules.Evicts(&obj.Spec) {
		return nil
	}
	what := "spec.action.type: Evict kills no pod"
	if isDryRun(obj) {
		what = "spec.action.type: Evict finds, as a dry run, that it could kill no pod"
	}
	workload, selector := obj.Spec.Target.Workload, labels.Nothing()
	if s := obj.Spec.Target.Selector; s != nil {
		if compiled, err := s.Selector(); err == nil {
			selector = compiled
		}
	}
	rule := func(all []commonrules.Evicted, budgets []policyv1.PodDisruptionBudget) []string {
		return commonrules.Budgets(what, all, budgets)
	}
	return w.options.Warnings.Budgets(ctx, obj.Namespace, rule, func(evicted *commonrules.Evicted, _ labels.Set) bool {
		return workload != nil && evicted.Kind == string(workload.Kind) && evicted.Name == workload.Name ||
			selector.Matches(labels.Set(evicted.Labels))
	})
}
