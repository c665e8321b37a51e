// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	"context"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
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

// queue is the argument of event handlers.
type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]

// watch enqueues policies when they change, and when something that they have read changes.
func (r *Reconciler) watch(c cluster.Cluster, to controller.Controller) error {
	for _, from := range []source.Source{
		controller.Kind(c.GetCache(), &autorebootv1.RebootPolicy{},
			&handler.TypedEnqueueRequestForObject[*autorebootv1.RebootPolicy]{},
			predicate.Or[*autorebootv1.RebootPolicy](predicate.TypedGenerationChangedPredicate[*autorebootv1.RebootPolicy]{},
				controller.AnnotationsChanged[*autorebootv1.RebootPolicy](requestAnnotations()))),
		controller.Kind(c.GetCache(), &autorebootv1.RebootPolicy{}, enqueueSelf(r),
			controller.StatusChangedByOthers(r.ownWrites, func(p *autorebootv1.RebootPolicy) any { return &p.Status })),
		controller.Kind(c.GetCache(), &appsv1.Deployment{}, enqueueFor(r, workloadMatcher[*appsv1.Deployment](autorebootv1.TargetDeployment))),
		controller.Kind(c.GetCache(), &appsv1.StatefulSet{}, enqueueFor(r, workloadMatcher[*appsv1.StatefulSet](autorebootv1.TargetStatefulSet))),
		controller.Kind(c.GetCache(), &appsv1.DaemonSet{}, enqueueFor(r, workloadMatcher[*appsv1.DaemonSet](autorebootv1.TargetDaemonSet))),
		controller.Kind(c.GetCache(), workloads.ReplicaSets(), enqueueFor(r, func(rs *metav1.PartialObjectMetadata) func(*watchSet) bool {
			owner := workloads.ControllerOf(rs)
			return func(w *watchSet) bool { return w.owners[owner] }
		}), ownerChanged()),
		controller.Kind(c.GetCache(), &corev1.Pod{}, r.podVersions.recordThen(r.watchIndex, enqueueFor(r, func(pod *corev1.Pod) func(*watchSet) bool {
			owner, set := workloads.ControllerOf(pod), labels.Set(pod.Labels)
			return func(w *watchSet) bool { return w.matchesPod(owner, set) }
		})), podChanged()),
		controller.OptionalKind(c.GetCache(), &networkingv1.ExternalService{}, enqueueFor(r, func(es *networkingv1.ExternalService) func(*watchSet) bool {
			return func(w *watchSet) bool { return w.externalServices[es.Name] }
		})),
		controller.OptionalKind(c.GetCache(), &chaosv1.ChaosPod{}, enqueueFor(r, func(chaos *chaosv1.ChaosPod) func(*watchSet) bool {
			return func(w *watchSet) bool { return w.chaosPods[chaos.Name] || w.matchesBlocked(chaos.Status.Blocked) }
		})),
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

func workloadMatcher[T client.Object](kind autorebootv1.TargetKind) func(T) func(*watchSet) bool {
	return func(object T) func(*watchSet) bool {
		name, uid, set := object.GetName(), object.GetUID(), labels.Set(object.GetLabels())
		return func(w *watchSet) bool { return w.matchesWorkload(kind, name, uid, set) }
	}
}

// enqueueSelf enqueues a policy whose status another writer has changed: what was removed is written again, and a restart
// in flight of a workload that the approved spec does not select is removed. An own write may pass as well, and must not
// bring about another one right after it.
func enqueueSelf(r *Reconciler) handler.TypedEventHandler[*autorebootv1.RebootPolicy, reconcile.Request] {
	return handler.TypedFuncs[*autorebootv1.RebootPolicy, reconcile.Request]{
		UpdateFunc: func(_ context.Context, e event.TypedUpdateEvent[*autorebootv1.RebootPolicy], _ queue) {
			r.enqueuer.EnqueueCoalesced(client.ObjectKeyFromObject(e.ObjectNew))
		},
	}
}

// ownerChanged drops updates of a ReplicaSet: its pods have events of their own.
func ownerChanged() predicate.TypedPredicate[*metav1.PartialObjectMetadata] {
	return predicate.TypedFuncs[*metav1.PartialObjectMetadata]{
		UpdateFunc: func(e event.TypedUpdateEvent[*metav1.PartialObjectMetadata]) bool {
			return workloads.ControllerOf(e.ObjectOld) != workloads.ControllerOf(e.ObjectNew)
		},
	}
}

// podChanged drops updates of a pod that lead to the same decisions.
func podChanged() predicate.TypedPredicate[*corev1.Pod] {
	return predicate.TypedFuncs[*corev1.Pod]{
		UpdateFunc: func(e event.TypedUpdateEvent[*corev1.Pod]) bool { return !samePod(e.ObjectOld, e.ObjectNew) },
	}
}

// watchSet is what one policy watches in its namespace.
type watchSet struct {
	workloads        map[workloadName]bool
	selectors        []kindSelector
	externalServices map[string]bool
	chaosPods        map[string]bool
	// blockers select the pods of the gates NoPods.
	blockers []labels.Selector
	// owners are the workloads and ReplicaSets whose pods the policy reads.
	owners map[types.UID]bool
}

type workloadName struct {
	kind autorebootv1.TargetKind
	name string
}

type kindSelector struct {
	kind     autorebootv1.TargetKind
	selector labels.Selector
}

// watchSetOf returns what a spec names. A selector that is invalid selects nothing; validation reports it.
func watchSetOf(spec *autorebootv1.RebootPolicySpec) *watchSet {
	w := &watchSet{workloads: map[workloadName]bool{}, externalServices: map[string]bool{}, chaosPods: map[string]bool{}}
	for n := range spec.Targets {
		t := &spec.Targets[n]
		if t.Selector == nil {
			w.workloads[workloadName{t.Kind, t.Name}] = true
		} else if selector, err := t.Selector.Selector(); err == nil {
			w.selectors = append(w.selectors, kindSelector{t.Kind, selector})
		}
	}
	for n := range spec.Gates {
		switch g := &spec.Gates[n]; g.Type {
		case autorebootv1.GateExternalServiceHealthy:
			w.externalServices[g.Name] = true
		case autorebootv1.GateWorkloadAvailable:
			w.workloads[workloadName{g.Kind, g.Name}] = true
		case autorebootv1.GateChaosSurvived:
			w.chaosPods[g.Name] = true
		case autorebootv1.GateNoPods:
			if selector, err := g.Selector.Selector(); err == nil {
				w.blockers = append(w.blockers, selector)
			}
		}
	}
	for n := range spec.Triggers {
		if e := spec.Triggers[n].EndpointsChange; e != nil {
			w.externalServices[e.ExternalServiceName] = true
		}
	}
	return w
}

// updateWatchSet sets what a policy watches, except the owners of its pods.
func (r *Reconciler) updateWatchSet(policy types.NamespacedName, wanted *watchSet) {
	if known := r.watchIndex.Get(policy); known != nil {
		wanted.owners = known.owners
	}
	r.watchIndex.Set(policy, wanted)
}

// updateOwners sets whose pods a policy watches.
func (r *Reconciler) updateOwners(policy types.NamespacedName, owners map[types.UID]bool) {
	if known := r.watchIndex.Get(policy); known != nil {
		wanted := *known
		wanted.owners = owners
		r.watchIndex.Set(policy, &wanted)
	}
}

func (w *watchSet) matchesWorkload(kind autorebootv1.TargetKind, name string, uid types.UID, set labels.Set) bool {
	if w.workloads[workloadName{kind, name}] || w.owners[uid] {
		return true
	}
	for _, s := range w.selectors {
		if s.kind == kind && s.selector.Matches(set) {
			return true
		}
	}
	return false
}

func (w *watchSet) matchesPod(owner types.UID, set labels.Set) bool {
	if w.owners[owner] {
		return true
	}
	for _, selector := range w.blockers {
		if selector.Matches(set) {
			return true
		}
	}
	return false
}

func (w *watchSet) matchesBlocked(all []chaosv1.BlockedWorkload) bool {
	return slices.ContainsFunc(all, func(b chaosv1.BlockedWorkload) bool { return w.owners[b.UID] })
}
