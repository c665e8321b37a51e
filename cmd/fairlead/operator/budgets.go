// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	chaosv1 "github.com/fairlead-dev/fairlead/api/chaos/v1"
	rulesofall "github.com/fairlead-dev/fairlead/internal/rules"
	"github.com/fairlead-dev/fairlead/internal/rules/chaospod"
	"github.com/fairlead-dev/fairlead/internal/rules/rebootpolicy"
)

// budgetsTimeout bounds the read of PodDisruptionBudgets: a warning is not worth a wait.
const budgetsTimeout = time.Second

// budgets warns of PodDisruptionBudgets that never allow what a RebootPolicy or a ChaosPod evicts. It says
// nothing where workloads are not cached, or budgets cannot be read.
type budgets struct {
	informers atomic.Pointer[cache.Cache] // nil until the caches are there
	client    kubernetes.Interface
	logger    logr.Logger
}

// open lets it read from now on.
func (b *budgets) open(informers cache.Cache) { b.informers.Store(&informers) }

func (b *budgets) ofRebootPolicy(ctx context.Context, obj *autorebootv1.RebootPolicy) []string {
	if !rebootpolicy.Evicts(&obj.Spec) {
		return nil
	}
	return b.warnings(ctx, obj.Namespace, "spec.strategy.type: Evict restarts no pod", func(w *rulesofall.Evicted, set labels.Set) bool {
		return selects(&obj.Spec, autorebootv1.TargetKind(w.Kind), w.Name, set)
	})
}

// ofChaosPod warns of a dry run too: it asks the eviction API as well.
func (b *budgets) ofChaosPod(ctx context.Context, obj *chaosv1.ChaosPod) []string {
	if !chaospod.Evicts(&obj.Spec) {
		return nil
	}
	what := "spec.action.type: Evict kills no pod"
	if ptr.Deref(obj.Spec.DryRun, true) {
		what = "spec.action.type: Evict finds, as a dry run, that it could kill no pod"
	}
	workload, selector := obj.Spec.Target.Workload, labels.Nothing()
	if of := obj.Spec.Target.Selector; of != nil {
		if compiled, err := of.Selector(); err == nil {
			selector = compiled
		}
	}
	return b.warnings(ctx, obj.Namespace, what, func(w *rulesofall.Evicted, _ labels.Set) bool {
		return workload != nil && w.Kind == string(workload.Kind) && w.Name == workload.Name || selector.Matches(labels.Set(w.Labels))
	})
}

// warnings are those about the workloads that an object takes, which have these labels of their own.
func (b *budgets) warnings(ctx context.Context, namespace, what string, takes func(*rulesofall.Evicted, labels.Set) bool) []string {
	informers := b.informers.Load()
	if informers == nil {
		return nil
	}
	evicted := evictedIn(ctx, *informers, namespace, takes)
	if len(evicted) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, budgetsTimeout)
	defer cancel()
	list, err := b.client.PolicyV1().PodDisruptionBudgets(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		b.logger.V(1).Info("no warnings of PodDisruptionBudgets", "namespace", namespace, "reason", err.Error())
		return nil
	}
	return rulesofall.Budgets(what, evicted, list.Items)
}

// evictedIn are the workloads of a namespace that an object takes now. ReplicaSets are not among them: of
// these only the metadata is cached.
func evictedIn(ctx context.Context, informers cache.Cache, namespace string, takes func(*rulesofall.Evicted, labels.Set) bool) []rulesofall.Evicted {
	var all []rulesofall.Evicted
	take := func(kind autorebootv1.TargetKind, o client.Object, pods map[string]string, replicas int32) {
		if w := (rulesofall.Evicted{Kind: string(kind), Name: o.GetName(), Labels: pods, Replicas: int(replicas)}); takes(&w, o.GetLabels()) {
			all = append(all, w)
		}
	}
	var deployments appsv1.DeploymentList
	if listed(ctx, informers, namespace, &appsv1.Deployment{}, &deployments) {
		for i := range deployments.Items {
			d := &deployments.Items[i]
			take(autorebootv1.TargetDeployment, d, d.Spec.Template.Labels, ptr.Deref(d.Spec.Replicas, 1))
		}
	}
	var sets appsv1.StatefulSetList
	if listed(ctx, informers, namespace, &appsv1.StatefulSet{}, &sets) {
		for i := range sets.Items {
			s := &sets.Items[i]
			take(autorebootv1.TargetStatefulSet, s, s.Spec.Template.Labels, ptr.Deref(s.Spec.Replicas, 1))
		}
	}
	var daemons appsv1.DaemonSetList
	if listed(ctx, informers, namespace, &appsv1.DaemonSet{}, &daemons) {
		for i := range daemons.Items {
			d := &daemons.Items[i]
			take(autorebootv1.TargetDaemonSet, d, d.Spec.Template.Labels, d.Status.DesiredNumberScheduled)
		}
	}
	return all
}

// listed reads a kind from the cache where that has synced, and waits for nothing. The items are the
// cache's own.
func listed(ctx context.Context, informers cache.Cache, namespace string, kind client.Object, into client.ObjectList) bool {
	informer, err := informers.GetInformer(ctx, kind, cache.BlockUntilSynced(false))
	if err != nil || !informer.HasSynced() {
		return false
	}
	return informers.List(ctx, into, client.InNamespace(namespace), client.UnsafeDisableDeepCopy) == nil
}

// selects says whether a target of a spec is this workload.
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
