// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	chaosv1 "github.com/fairlead-dev/fairlead/api/chaos/v1"
	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/controllers/internal/controller"
	"github.com/fairlead-dev/fairlead/controllers/internal/workloads"
)

// queue is what the handlers of events are given.
type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]

// watch has policies reconciled when they change, and when what they look at moves.
func (r *Reconciler) watch(c cluster.Cluster, to controller.Controller) error {
	for _, from := range []source.Source{
		source.Kind(c.GetCache(), &autorebootv1.RebootPolicy{},
			&handler.TypedEnqueueRequestForObject[*autorebootv1.RebootPolicy]{},
			predicate.Or[*autorebootv1.RebootPolicy](predicate.TypedGenerationChangedPredicate[*autorebootv1.RebootPolicy]{}, requestsChanged(), restartAdded())),
		source.Kind(c.GetCache(), &appsv1.Deployment{}, controller.EnqueueFor(r.enqueuer, r.watchIndex, workloadMatcher[*appsv1.Deployment](autorebootv1.TargetDeployment))),
		source.Kind(c.GetCache(), &appsv1.StatefulSet{}, controller.EnqueueFor(r.enqueuer, r.watchIndex, workloadMatcher[*appsv1.StatefulSet](autorebootv1.TargetStatefulSet))),
		source.Kind(c.GetCache(), &appsv1.DaemonSet{}, controller.EnqueueFor(r.enqueuer, r.watchIndex, workloadMatcher[*appsv1.DaemonSet](autorebootv1.TargetDaemonSet))),
		source.Kind(c.GetCache(), workloads.ReplicaSets(), controller.EnqueueFor(r.enqueuer, r.watchIndex, func(rs *metav1.PartialObjectMetadata) func(*watchSet) bool {
			owner := workloads.ControllerOf(rs)
			return func(i *watchSet) bool { return i.owners[owner] }
		}), ownerChanged()),
		source.Kind(c.GetCache(), &corev1.Pod{}, r.podVersions.recordThen(r.watchIndex, controller.EnqueueFor(r.enqueuer, r.watchIndex, func(pod *corev1.Pod) func(*watchSet) bool {
			owner, set := workloads.ControllerOf(pod), labels.Set(pod.Labels)
			return func(i *watchSet) bool { return i.matchesPod(owner, set) }
		})), podChanged()),
		source.Kind(c.GetCache(), &networkingv1.ExternalService{}, controller.EnqueueFor(r.enqueuer, r.watchIndex, func(es *networkingv1.ExternalService) func(*watchSet) bool {
			return func(i *watchSet) bool { return i.externalServices[es.Name] }
		})),
		source.Kind(c.GetCache(), &chaosv1.ChaosPod{}, controller.EnqueueFor(r.enqueuer, r.watchIndex, func(chaos *chaosv1.ChaosPod) func(*watchSet) bool {
			return func(i *watchSet) bool { return i.chaosPods[chaos.Name] || i.matchesBlocked(chaos.Status.Blocked) }
		})),
		r.enqueuer.Source(),
	} {
		if err := to.Watch(from); err != nil {
			return err
		}
	}
	return nil
}

func workloadMatcher[T client.Object](kind autorebootv1.TargetKind) func(T) func(*watchSet) bool {
	return func(object T) func(*watchSet) bool {
		name, uid, set := object.GetName(), object.GetUID(), labels.Set(object.GetLabels())
		return func(i *watchSet) bool { return i.matchesWorkload(kind, name, uid, set) }
	}
}

// requestsChanged lets changes of the annotations pass by which a user asks for something, or is entitled to it;
// they are no part of the generation.
func requestsChanged() predicate.TypedPredicate[*autorebootv1.RebootPolicy] {
	return predicate.TypedFuncs[*autorebootv1.RebootPolicy]{
		UpdateFunc: func(e event.TypedUpdateEvent[*autorebootv1.RebootPolicy]) bool {
			return !slices.Equal(requestsOf(e.ObjectOld), requestsOf(e.ObjectNew))
		},
	}
}

// restartAdded lets a status pass that has a restart in flight which it had not before. Where it was not this
// process that wrote it, and the approved spec does not select the workload, it is taken out.
func restartAdded() predicate.TypedPredicate[*autorebootv1.RebootPolicy] {
	return predicate.TypedFuncs[*autorebootv1.RebootPolicy]{
		UpdateFunc: func(e event.TypedUpdateEvent[*autorebootv1.RebootPolicy]) bool {
			return slices.ContainsFunc(e.ObjectNew.Status.InFlight, func(f autorebootv1.InFlightRestart) bool {
				return !slices.ContainsFunc(e.ObjectOld.Status.InFlight, func(was autorebootv1.InFlightRestart) bool { return was.ID == f.ID })
			})
		},
	}
}

// ownerChanged drops the changes of a ReplicaSet: what its pods do comes from the pods.
func ownerChanged() predicate.TypedPredicate[*metav1.PartialObjectMetadata] {
	return predicate.TypedFuncs[*metav1.PartialObjectMetadata]{
		UpdateFunc: func(e event.TypedUpdateEvent[*metav1.PartialObjectMetadata]) bool {
			return workloads.ControllerOf(e.ObjectOld) != workloads.ControllerOf(e.ObjectNew)
		},
	}
}

// podChanged drops the changes of a pod that no decision is made from.
func podChanged() predicate.TypedPredicate[*corev1.Pod] {
	return predicate.TypedFuncs[*corev1.Pod]{
		UpdateFunc: func(e event.TypedUpdateEvent[*corev1.Pod]) bool { return !samePod(e.ObjectOld, e.ObjectNew) },
	}
}
