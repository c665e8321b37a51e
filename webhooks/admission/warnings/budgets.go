// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package warnings

import (
	"context"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/internal/rules"
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
		if w.Kind == "Deployment" && w.Replicas == 1 {
			texts = append(texts, what+" leaves Deployment "+w.Name+", of one replica, without a pod until the next one is ready; a RolloutRestart by the Deployment's default strategy starts that one first")
		}
	}
	return texts
}

// evicted returns the workloads of a namespace that are selected now. ReplicaSets are not included: only their metadata
// is cached.
func (r *Reader) evicted(ctx context.Context, namespace string, selects func(*rules.Evicted, labels.Set) bool) []rules.Evicted {
	var selected []rules.Evicted
	add := func(kind string, o client.Object, pods map[string]string, replicas int32) {
		if w := (rules.Evicted{Kind: kind, Name: o.GetName(), Labels: pods, Replicas: int(replicas)}); selects(&w, o.GetLabels()) {
			selected = append(selected, w)
		}
	}
	var deployments appsv1.DeploymentList
	if r.ListCluster(ctx, namespace, &appsv1.Deployment{}, &deployments) {
		for i := range deployments.Items {
			d := &deployments.Items[i]
			add("Deployment", d, d.Spec.Template.Labels, ptr.Deref(d.Spec.Replicas, 1))
		}
	}
	var sets appsv1.StatefulSetList
	if r.ListCluster(ctx, namespace, &appsv1.StatefulSet{}, &sets) {
		for i := range sets.Items {
			s := &sets.Items[i]
			add("StatefulSet", s, s.Spec.Template.Labels, ptr.Deref(s.Spec.Replicas, 1))
		}
	}
	var daemons appsv1.DaemonSetList
	if r.ListCluster(ctx, namespace, &appsv1.DaemonSet{}, &daemons) {
		for i := range daemons.Items {
			d := &daemons.Items[i]
			add("DaemonSet", d, d.Spec.Template.Labels, d.Status.DesiredNumberScheduled)
		}
	}
	return selected
}
