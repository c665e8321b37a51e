// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package chaospod

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/controllers/internal/chaos"
)

// pod is what decisions are made from.
func (v *view) pod(ctx context.Context, p *corev1.Pod) chaos.Pod {
	seen := chaos.Pod{
		Name: p.Name, UID: p.UID, Node: p.Spec.NodeName, Labels: p.Labels, Created: p.CreationTimestamp.Time,
		Running: p.Status.Phase == corev1.PodRunning, ReadySince: readySince(p), Terminating: !p.DeletionTimestamp.IsZero(),
	}
	if !v.isLive {
		return seen // the cache does not have the rest
	}
	seen.Protected = isStatic(p)
	seen.Cordoned = v.isCordoned(ctx, p.Spec.NodeName)
	for _, budget := range v.budgets {
		seen.Covered = seen.Covered || budget.Matches(labels.Set(p.Labels))
	}
	return seen
}

// readySince is when a pod last became ready; zero while it is not. One that does not say counts from
// when it was made.
func readySince(p *corev1.Pod) time.Time {
	for i := range p.Status.Conditions {
		c := &p.Status.Conditions[i]
		switch {
		case c.Type != corev1.PodReady:
		case c.Status != corev1.ConditionTrue:
			return time.Time{}
		case c.LastTransitionTime.IsZero():
			return p.CreationTimestamp.Time
		default:
			return c.LastTransitionTime.Time
		}
	}
	return time.Time{}
}

// isStatic says whether a kubelet made a pod from a file: it cannot be killed through the API server.
func isStatic(p *corev1.Pod) bool {
	if _, mirror := p.Annotations[corev1.MirrorPodAnnotationKey]; mirror {
		return true
	}
	owner := metav1.GetControllerOfNoCopy(p)
	return owner != nil && owner.Kind == "Node"
}

// isCordoned says whether a pod's node is being drained, or is not known: its pods are left alone.
func (v *view) isCordoned(ctx context.Context, name string) bool {
	if name == "" {
		return false // not scheduled, so not ready either
	}
	if known, ok := v.nodes[name]; ok {
		return known
	}
	var node corev1.Node
	err := v.from.Get(ctx, types.NamespacedName{Name: name}, &node)
	v.nodes[name] = err != nil || node.Spec.Unschedulable || !node.DeletionTimestamp.IsZero()
	return v.nodes[name]
}

// readBudgets reads which pods disruption budgets cover.
func (v *view) readBudgets(ctx context.Context) error {
	var budgets policyv1.PodDisruptionBudgetList
	if err := v.from.List(ctx, &budgets, client.InNamespace(v.namespace)); err != nil {
		return fmt.Errorf("list PodDisruptionBudgets: %w", err)
	}
	for i := range budgets.Items {
		selector, err := metav1.LabelSelectorAsSelector(budgets.Items[i].Spec.Selector)
		if err != nil {
			return fmt.Errorf("selector of PodDisruptionBudget %s: %w", budgets.Items[i].Name, err)
		}
		v.budgets = append(v.budgets, selector)
	}
	return nil
}
