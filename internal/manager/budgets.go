// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package manager

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
	"github.com/fairlead-dev/fairlead/internal/rules/rebootpolicy"
)

// budgetsTimeout bounds the read of PodDisruptionBudgets: a warning is not worth a wait.
const budgetsTimeout = time.Second

// budgets warns of PodDisruptionBudgets that never allow what a RebootPolicy evicts. It says nothing where
// workloads are not cached, or budgets cannot be read.
type budgets struct {
	informers atomic.Pointer[cache.Cache] // nil until the caches are there
	client    kubernetes.Interface
	logger    logr.Logger
}

// open lets it read from now on.
func (b *budgets) open(informers cache.Cache) { b.informers.Store(&informers) }

func (b *budgets) ofRebootPolicy(ctx context.Context, obj *autorebootv1.RebootPolicy) []string {
	informers := b.informers.Load()
	if informers == nil || !rebootpolicy.Evicts(&obj.Spec) {
		return nil
	}
	evicted := evictedBy(ctx, *informers, obj)
	if len(evicted) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, budgetsTimeout)
	defer cancel()
	list, err := b.client.PolicyV1().PodDisruptionBudgets(obj.Namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		b.logger.V(1).Info("no warnings of PodDisruptionBudgets", "namespace", obj.Namespace, "reason", err.Error())
		return nil
	}
	return rebootpolicy.Budgets(evicted, list.Items)
}

// evictedBy are the workloads that a policy names or selects now.
func evictedBy(ctx context.Context, informers cache.Cache, obj *autorebootv1.RebootPolicy) []rebootpolicy.Evicted {
	var all []rebootpolicy.Evicted
	take := func(kind autorebootv1.TargetKind, o client.Object, pods map[string]string, replicas int32) {
		if selects(&obj.Spec, kind, o) {
			all = append(all, rebootpolicy.Evicted{Kind: kind, Name: o.GetName(), Labels: pods, Replicas: int(replicas)})
		}
	}
	var deployments appsv1.DeploymentList
	if listed(ctx, informers, obj.Namespace, &appsv1.Deployment{}, &deployments) {
		for i := range deployments.Items {
			d := &deployments.Items[i]
			take(autorebootv1.TargetDeployment, d, d.Spec.Template.Labels, ptr.Deref(d.Spec.Replicas, 1))
		}
	}
	var sets appsv1.StatefulSetList
	if listed(ctx, informers, obj.Namespace, &appsv1.StatefulSet{}, &sets) {
		for i := range sets.Items {
			s := &sets.Items[i]
			take(autorebootv1.TargetStatefulSet, s, s.Spec.Template.Labels, ptr.Deref(s.Spec.Replicas, 1))
		}
	}
	var daemons appsv1.DaemonSetList
	if listed(ctx, informers, obj.Namespace, &appsv1.DaemonSet{}, &daemons) {
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
func selects(spec *autorebootv1.RebootPolicySpec, kind autorebootv1.TargetKind, o client.Object) bool {
	for i := range spec.Targets {
		t := &spec.Targets[i]
		if t.Kind != kind {
			continue
		}
		if t.Selector == nil {
			if t.Name == o.GetName() {
				return true
			}
			continue
		}
		if selector, err := t.Selector.Selector(); err == nil && selector.Matches(labels.Set(o.GetLabels())) {
			return true
		}
	}
	return false
}
