// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package chaospod

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	chaosv1 "github.com/fairlead-dev/fairlead/api/chaos/v1"
	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/controllers/internal/controller"
	"github.com/fairlead-dev/fairlead/controllers/internal/dependence"
	"github.com/fairlead-dev/fairlead/controllers/internal/workloads"
)

// watch enqueues ChaosPods when they change, and when something that they have read changes.
func (r *Reconciler) watch(c cluster.Cluster, to controller.Controller) error {
	for _, from := range []source.Source{
		controller.Kind(c.GetCache(), &chaosv1.ChaosPod{}, &handler.TypedEnqueueRequestForObject[*chaosv1.ChaosPod]{},
			predicate.Or(predicate.TypedGenerationChangedPredicate[*chaosv1.ChaosPod]{},
				controller.AnnotationsChanged[*chaosv1.ChaosPod](requestAnnotations()),
				controller.StatusChangedByOthers(r.ownWrites, func(p *chaosv1.ChaosPod) any { return &p.Status }))),
		controller.Kind(c.GetCache(), &appsv1.Deployment{}, enqueueFor(r, workloadMatcher[*appsv1.Deployment]("Deployment"))),
		controller.Kind(c.GetCache(), &appsv1.StatefulSet{}, enqueueFor(r, workloadMatcher[*appsv1.StatefulSet]("StatefulSet"))),
		controller.Kind(c.GetCache(), &appsv1.DaemonSet{}, enqueueFor(r, workloadMatcher[*appsv1.DaemonSet]("DaemonSet"))),
		controller.Kind(c.GetCache(), &corev1.Pod{}, enqueueFor(r, func(pod *corev1.Pod) func(*watchSet) bool {
			return func(w *watchSet) bool { return w.matchesPod(pod) }
		})),
		controller.OptionalKind(c.GetCache(), &networkingv1.ExternalService{}, enqueueFor(r, func(*networkingv1.ExternalService) func(*watchSet) bool {
			return func(*watchSet) bool { return true } // observe finds out whether the target depends on it
		}), faultChanged()),
		r.enqueuer.Source(),
	} {
		if err := to.Watch(from); err != nil {
			return err
		}
	}
	return nil
}

func enqueueFor[T client.Object](r *Reconciler, matches func(T) func(*watchSet) bool) handler.TypedEventHandler[T, reconcile.Request] {
	return controller.EnqueueFor(r.enqueuer, r.watchIndex, matches)
}

func workloadMatcher[T client.Object](kind string) func(T) func(*watchSet) bool {
	return func(object T) func(*watchSet) bool {
		name, uid := workloadName{kind, object.GetName()}, object.GetUID()
		return func(w *watchSet) bool { return w.workloads[name] || w.owners[uid] }
	}
}

// faultChanged passes events that begin or end an injected fault.
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

// watchSet is what one ChaosPod watches in its namespace.
type watchSet struct {
	workloads map[workloadName]bool
	// owners are the workloads and ReplicaSets whose pods the ChaosPod reads.
	owners map[types.UID]bool
	// selector of the target; nil where it has none.
	selector labels.Selector
	// pod is the canary's name; empty for other targets.
	pod string
}

func (w *watchSet) matchesPod(p *corev1.Pod) bool {
	return w.pod != "" && p.Name == w.pod || w.owners[workloads.ControllerOf(p)] ||
		w.selector != nil && w.selector.Matches(labels.Set(p.Labels))
}
