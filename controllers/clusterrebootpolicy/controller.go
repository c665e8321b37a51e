// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package clusterrebootpolicy

import (
	"context"
	"maps"
	"time"

	"github.com/go-logr/logr"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/controllers/internal/controller"
	rules "github.com/fairlead-dev/fairlead/internal/rules/rebootpolicy"
)

// Name of the controller in logs, metrics and events.
const Name = "clusterrebootpolicy"

// Options of the controller.
type Options struct {
	// CacheSyncTimeout bounds the wait for the caches. Defaults to 2m.
	CacheSyncTimeout time.Duration
	// Logger defaults to logr.Discard().
	Logger logr.Logger
	// Now returns the time. Defaults to time.Now.
	Now func() time.Time
	// WebhookExemptNamespaces are namespaces that no admission webhook is called for: no policy is made there, since it
	// would restart nothing. Defaults to none.
	WebhookExemptNamespaces []string
	// Wrap returns what is called instead of the reconciler, and calls it. Defaults to nil: the reconciler itself.
	Wrap func(reconcile.Reconciler) reconcile.Reconciler
}

// namespaces returns an empty Namespace: of these only the metadata is read.
func namespaces() *metav1.PartialObjectMetadata {
	return &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Namespace"}}
}

// Kinds returns all that the controller reads from the cache.
func Kinds() []client.Object {
	return []client.Object{
		&autorebootv1.ClusterRebootPolicy{}, &autorebootv1.RebootPolicy{}, namespaces(),
		&appsv1.Deployment{}, &appsv1.StatefulSet{}, &appsv1.DaemonSet{},
	}
}

// Controller reconciles ClusterRebootPolicies.
type Controller struct {
	controller controller.Controller
}

// New returns a controller. The caller starts it once this replica leads, and runs the cluster's cache.
func New(c cluster.Cluster, o Options) (*Controller, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	r := &Reconciler{
		Client: c.GetClient(), Live: c.GetAPIReader(), Events: c.GetEventRecorder("fairlead-" + Name), Now: o.Now,
		WebhookExemptNamespaces: o.WebhookExemptNamespaces, enqueuer: controller.NewCoalescingEnqueuer(time.Now),
		refused: map[string]*refusals{},
	}
	// One at a time: what one reconcile writes is bounded, and objects of the whole cluster are few.
	inner, err := controller.New(Name, controller.Options{
		Reconciler: r, Wrap: o.Wrap, Concurrency: 1, CacheSyncTimeout: o.CacheSyncTimeout, Warmup: true, Logger: o.Logger,
	})
	if err != nil {
		return nil, err
	}
	if err := r.watch(c, inner); err != nil {
		return nil, err
	}
	return &Controller{inner}, nil
}

// Warmup starts the watches and returns when they have synced. Nothing is reconciled before Start.
func (c *Controller) Warmup(ctx context.Context) error {
	return controller.Warmup(ctx, Name, c.controller)
}

// Start reconciles until ctx ends.
func (c *Controller) Start(ctx context.Context) error { return c.controller.Start(ctx) }

// watch enqueues a ClusterRebootPolicy when it changes, or one of its policies does, and all of them when a namespace or
// workload comes, goes, or has other labels or annotations, and when a user's policy takes other workloads.
func (r *Reconciler) watch(c cluster.Cluster, to controller.Controller) error {
	for _, from := range []source.Source{
		controller.Kind(c.GetCache(), &autorebootv1.ClusterRebootPolicy{},
			&handler.TypedEnqueueRequestForObject[*autorebootv1.ClusterRebootPolicy]{},
			predicate.Or[*autorebootv1.ClusterRebootPolicy](predicate.TypedGenerationChangedPredicate[*autorebootv1.ClusterRebootPolicy]{},
				predicate.TypedAnnotationChangedPredicate[*autorebootv1.ClusterRebootPolicy]{})),
		controller.Kind(c.GetCache(), &autorebootv1.RebootPolicy{}, enqueueFor(r, rules.ClusterPolicyOf),
			predicate.Or[*autorebootv1.RebootPolicy](predicate.TypedGenerationChangedPredicate[*autorebootv1.RebootPolicy]{},
				marksChanged[*autorebootv1.RebootPolicy]())),
		controller.Kind(c.GetCache(), namespaces(), enqueueFor(r, all[*metav1.PartialObjectMetadata]),
			marksChanged[*metav1.PartialObjectMetadata]()),
		controller.Kind(c.GetCache(), &appsv1.Deployment{}, enqueueFor(r, all[*appsv1.Deployment]), marksChanged[*appsv1.Deployment]()),
		controller.Kind(c.GetCache(), &appsv1.StatefulSet{}, enqueueFor(r, all[*appsv1.StatefulSet]), marksChanged[*appsv1.StatefulSet]()),
		controller.Kind(c.GetCache(), &appsv1.DaemonSet{}, enqueueFor(r, all[*appsv1.DaemonSet]), marksChanged[*appsv1.DaemonSet]()),
		r.enqueuer.Source(),
	} {
		if err := to.Watch(from); err != nil {
			return err
		}
	}
	return nil
}

// all is the name of every ClusterRebootPolicy.
func all[T client.Object](T) string { return "" }

// enqueueFor enqueues the ClusterRebootPolicy of a name because of an event of something else; all of them for "".
func enqueueFor[T client.Object](r *Reconciler, nameOf func(T) string) handler.TypedEventHandler[T, reconcile.Request] {
	return handler.TypedEnqueueRequestsFromMapFunc(func(ctx context.Context, of T) []reconcile.Request {
		if name := nameOf(of); name != "" {
			r.enqueuer.EnqueueCoalesced(types.NamespacedName{Name: name})
			return nil
		}
		var policies autorebootv1.ClusterRebootPolicyList
		if err := r.Client.List(ctx, &policies, client.UnsafeDisableDeepCopy); err != nil {
			return nil // the informer has not synced, and all of them are reconciled when it has
		}
		for i := range policies.Items {
			r.enqueuer.EnqueueCoalesced(client.ObjectKeyFromObject(&policies.Items[i]))
		}
		return nil
	})
}

// marksChanged drops updates that leave labels and annotations as they are, those of a pod template among them, and whether
// the object is being deleted.
func marksChanged[T client.Object]() predicate.TypedPredicate[T] {
	return predicate.TypedFuncs[T]{UpdateFunc: func(e event.TypedUpdateEvent[T]) bool {
		return !maps.Equal(e.ObjectOld.GetLabels(), e.ObjectNew.GetLabels()) ||
			!maps.Equal(e.ObjectOld.GetAnnotations(), e.ObjectNew.GetAnnotations()) ||
			!maps.Equal(templateAnnotations(e.ObjectOld), templateAnnotations(e.ObjectNew)) ||
			e.ObjectOld.GetDeletionTimestamp().IsZero() != e.ObjectNew.GetDeletionTimestamp().IsZero()
	}}
}
