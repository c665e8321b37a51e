// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package warnings

import (
	"context"
	"time"

	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/internal/rules"
	"github.com/fairlead-dev/fairlead/internal/workloadkinds"
)

// BudgetRule returns the warnings about workloads and the PodDisruptionBudgets of their namespace.
type BudgetRule func([]rules.Evicted, []policyv1.PodDisruptionBudget) []string

// budgetsTimeout bounds the read of PodDisruptionBudgets.
const budgetsTimeout = time.Second

// Budgets returns the warnings of rule about the PodDisruptionBudgets of selected workloads. selects is called with
// each workload and its own labels.
func (r *Reader) Budgets(ctx context.Context, namespace string, rule BudgetRule, selects func(*rules.Evicted, labels.Set) bool) []string {
	evicted := r.evicted(ctx, namespace, selects)
	if len(evicted) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, budgetsTimeout)
	defer cancel()
	list, err := r.options.Client.PolicyV1().PodDisruptionBudgets(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		r.options.Logger.V(1).Info("no warnings of PodDisruptionBudgets", "namespace", namespace, "reason", err.Error())
		return nil
	}
	return rule(evicted, list.Items)
}

// LonePods warns of Deployments with one replica: if its pod is evicted, none serves until the next one is ready.
// selects is called as by Budgets. Each warning begins with what.
func (r *Reader) LonePods(ctx context.Context, namespace, what string, selects func(*rules.Evicted, labels.Set) bool) []string {
	var texts []string
	for _, w := range r.evicted(ctx, namespace, selects) {
		if w.Kind == workloadkinds.Deployments.Kind && w.Replicas == 1 {
			texts = append(texts, what+" leaves Deployment "+w.Name+", of one replica, without a pod until the next one is ready; a RolloutRestart by the Deployment's default strategy starts that one first")
		}
	}
	return texts
}

// evicted returns the workloads of a namespace that are selected now. ReplicaSets are not included: only their metadata
// is cached.
func (r *Reader) evicted(ctx context.Context, namespace string, selects func(*rules.Evicted, labels.Set) bool) []rules.Evicted {
	var selected []rules.Evicted
	for _, kind := range workloadkinds.Apps {
		object, list := kind.New()
		if !r.ListCluster(ctx, namespace, object, list) {
			continue
		}
		_ = meta.EachListItem(list, func(item runtime.Object) error {
			o, isOne := item.(client.Object)
			if template, replicas := kind.Pods(o); isOne && template != nil {
				w := rules.Evicted{Kind: kind.Kind, Name: o.GetName(), Labels: template.Labels, Replicas: int(replicas)}
				if selects(&w, o.GetLabels()) {
					selected = append(selected, w)
				}
			}
			return nil
		})
	}
	return selected
}
