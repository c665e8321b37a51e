// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	"context"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/labels"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/api/common"
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

// budgets warns of PodDisruptionBudgets that never allow the evictions of obj, or that protect workloads that it
// restarts because they hang. It also warns of Deployments that have no pod during a restart.
func (w *webhook) budgets(ctx context.Context, obj *autorebootv1.RebootPolicy) []string {
	if !rules.Evicts(&obj.Spec) {
		return nil
	}
	rule := func(all []commonrules.Evicted, budgets []policyv1.PodDisruptionBudget) []string {
		texts := commonrules.Budgets("spec.strategy.type: Evict restarts no pod", all, budgets)
		if rules.HasProbe(&obj.Spec) {
			texts = append(texts, commonrules.ProtectsUnready("spec.strategy.type: Evict restarts no pod", all, budgets)...)
		}
		return texts
	}
	evicts := func(evicted *commonrules.Evicted, set labels.Set) bool {
		return selects(&obj.Spec, common.WorkloadKind(evicted.Kind), evicted.Name, set)
	}
	return append(w.options.Warnings.Budgets(ctx, obj.Namespace, rule, evicts),
		w.options.Warnings.LonePods(ctx, obj.Namespace, "spec.strategy.type: Evict", evicts)...)
}

// rollouts warns of targets whose rollout may never end.
func (w *webhook) rollouts(ctx context.Context, obj *autorebootv1.RebootPolicy) []string {
	var deployments appsv1.DeploymentList
	if rules.Evicts(&obj.Spec) || !w.options.Warnings.ListCluster(ctx, obj.Namespace, &appsv1.Deployment{}, &deployments) {
		return nil
	}
	var texts []string
	for i := range deployments.Items {
		d := &deployments.Items[i]
		if !selects(&obj.Spec, common.WorkloadDeployment, d.Name, d.Labels) {
			continue
		}
		if text := commonrules.Rollout(d); text != "" {
			texts = append(texts, text)
		}
	}
	return texts
}

// selects reports whether a workload is a target of a spec.
func selects(spec *autorebootv1.RebootPolicySpec, kind common.WorkloadKind, name string, set labels.Set) bool {
	for i := range spec.Targets {
		t := &spec.Targets[i]
		if !slices.Contains(rules.KindsOf(t), kind) {
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
