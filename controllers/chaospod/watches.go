// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package chaospod

import (
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/source"

	chaosv1 "github.com/fairlead-dev/fairlead/api/chaos/v1"
	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/controllers/internal/controller"
	"github.com/fairlead-dev/fairlead/controllers/internal/dependence"
)

// watch has ChaosPods reconciled when they change, and when what they look at moves.
func (r *Reconciler) watch(c cluster.Cluster, to controller.Controller) error {
	for _, from := range []source.Source{
		source.Kind(c.GetCache(), &chaosv1.ChaosPod{}, &handler.TypedEnqueueRequestForObject[*chaosv1.ChaosPod]{},
			predicate.Or(predicate.TypedGenerationChangedPredicate[*chaosv1.ChaosPod]{}, requestsChanged())),
		source.Kind(c.GetCache(), &appsv1.Deployment{}, controller.EnqueueFor(r.enqueuer, r.watchIndex, workloadMatcher[*appsv1.Deployment]("Deployment"))),
		source.Kind(c.GetCache(), &appsv1.StatefulSet{}, controller.EnqueueFor(r.enqueuer, r.watchIndex, workloadMatcher[*appsv1.StatefulSet]("StatefulSet"))),
		source.Kind(c.GetCache(), &appsv1.DaemonSet{}, controller.EnqueueFor(r.enqueuer, r.watchIndex, workloadMatcher[*appsv1.DaemonSet]("DaemonSet"))),
		source.Kind(c.GetCache(), &corev1.Pod{}, controller.EnqueueFor(r.enqueuer, r.watchIndex, func(pod *corev1.Pod) func(*watchSet) bool {
			return func(i *watchSet) bool { return i.matchesPod(pod) }
		})),
		source.Kind(c.GetCache(), &networkingv1.ExternalService{}, controller.EnqueueFor(r.enqueuer, r.watchIndex, func(*networkingv1.ExternalService) func(*watchSet) bool {
			return func(*watchSet) bool { return true } // who depends on it is found out then
		}), faultChanged()),
		r.enqueuer.Source(),
	} {
		if err := to.Watch(from); err != nil {
			return err
		}
	}
	return nil
}

func workloadMatcher[T client.Object](kind string) func(T) func(*watchSet) bool {
	return func(object T) func(*watchSet) bool {
		name, uid := workloadName{kind, object.GetName()}, object.GetUID()
		return func(i *watchSet) bool { return i.workloads[name] || i.owners[uid] }
	}
}

// requestsChanged lets changes of the annotations pass by which a user asks for something, or is entitled to it,
// and runs in the status that another wrote there; neither is part of the generation.
func requestsChanged() predicate.TypedPredicate[*chaosv1.ChaosPod] {
	return predicate.TypedFuncs[*chaosv1.ChaosPod]{
		UpdateFunc: func(e event.TypedUpdateEvent[*chaosv1.ChaosPod]) bool {
			return !slices.Equal(requestsOf(e.ObjectOld), requestsOf(e.ObjectNew)) || runID(e.ObjectOld) != runID(e.ObjectNew)
		},
	}
}

// faultChanged drops the changes of an ExternalService that are not about a fault injected into it.
func faultChanged() predicate.TypedPredicate[*networkingv1.ExternalService] {
	has := func(es *networkingv1.ExternalService) bool { return dependence.Fault(es) != "" }
	return predicate.TypedFuncs[*networkingv1.ExternalService]{
		CreateFunc: func(e event.TypedCreateEvent[*networkingv1.ExternalService]) bool { return has(e.Object) },
		UpdateFunc: func(e event.TypedUpdateEvent[*networkingv1.ExternalService]) bool {
			return has(e.ObjectOld) != has(e.ObjectNew)
		},
		DeleteFunc: func(e event.TypedDeleteEvent[*networkingv1.ExternalService]) bool { return has(e.Object) },
	}
}

func runID(object *chaosv1.ChaosPod) string {
	if run := object.Status.CurrentRun; run != nil {
		return run.ID
	}
	return ""
}
