// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package clusterrebootpolicy

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
	"github.com/fairlead-dev/fairlead/controllers/internal/controller"
	rules "github.com/fairlead-dev/fairlead/internal/rules/rebootpolicy"
	"github.com/fairlead-dev/fairlead/internal/workloadkinds"
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
	// Kinds has workloads in the cluster's cache of the kinds that a cluster need not have. Required.
	Kinds *workloadkinds.Watches
	// Wrap returns what is called instead of the reconciler, and calls it. Defaults to nil: the reconciler itself.
	Wrap func(reconcile.Reconciler) reconcile.Reconciler
}

// namespaces returns an empty Namespace: of these only the metadata is read.
func namespaces() *metav1.PartialObjectMetadata {
	return &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Namespace"}}
}

// Kinds returns all that the controller reads from the cache.
func Kinds() []client.Object {
	return append([]client.Object{&autorebootv1.ClusterRebootPolicy{}, &autorebootv1.RebootPolicy{}, namespaces()},
		workloadkinds.AppsObjects()...)
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
		refused: map[string]*refusals{}, Kinds: o.Kinds,
	}
	// One at a time: what one reconcile writes is bounded, and objects of the whole cluster are few.
	inner, err := controller.New(Name, controller.Options{
		Reconciler: r, Wrap: o.Wrap, Concurrency: 1, CacheSyncTimeout: o.CacheSyncTimeout, Logger: o.Logger,
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
// workload comes, goes, or has other labels or asks for something else, and when a user's policy takes other workloads.
func (r *Reconciler) watch(c cluster.Cluster, to controller.Controller) error {
	asking := rules.OnChangeAnnotations()
	r.Kinds.Subscribe(func(workloadkinds.Kind) handler.TypedEventHandler[client.Object, reconcile.Request] {
		changed := metadataChanged[client.Object](r.Kinds.Configured, asking...)
		return handler.TypedFuncs[client.Object, reconcile.Request]{
			CreateFunc: func(ctx context.Context, _ event.TypedCreateEvent[client.Object], _ queue) { r.enqueueAll(ctx) },
			UpdateFunc: func(ctx context.Context, e event.TypedUpdateEvent[client.Object], _ queue) {
				if changed.Update(e) {
					r.enqueueAll(ctx)
				}
			},
			DeleteFunc: func(ctx context.Context, _ event.TypedDeleteEvent[client.Object], _ queue) { r.enqueueAll(ctx) },
		}
	}, r.enqueueAll)
	all := []source.Source{
		controller.Kind(c.GetCache(), &autorebootv1.ClusterRebootPolicy{},
			&handler.TypedEnqueueRequestForObject[*autorebootv1.ClusterRebootPolicy]{},
			predicate.Or[*autorebootv1.ClusterRebootPolicy](predicate.TypedGenerationChangedPredicate[*autorebootv1.ClusterRebootPolicy]{},
				predicate.TypedAnnotationChangedPredicate[*autorebootv1.ClusterRebootPolicy]{})),
		controller.Kind(c.GetCache(), &autorebootv1.RebootPolicy{}, enqueueOwnerOrAll(r),
			predicate.Or[*autorebootv1.RebootPolicy](predicate.TypedGenerationChangedPredicate[*autorebootv1.RebootPolicy]{},
				metadataChanged[*autorebootv1.RebootPolicy](nil, templateAnnotation))),
		controller.Kind(c.GetCache(), namespaces(), enqueueAll[*metav1.PartialObjectMetadata](r),
			metadataChanged[*metav1.PartialObjectMetadata](nil)),
		r.enqueuer.Source(),
	}
	for _, kind := range workloadkinds.Apps {
		changed := metadataChanged[client.Object](nil, asking...)
		all = append(all, controller.Kind(c.GetCache(), kind.Object(), enqueueAll[client.Object](r), changed))
	}
	for _, from := range all {
		if err := to.Watch(from); err != nil {
			return err
		}
	}
	return nil
}

// queue is the argument of event handlers.
type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]

// enqueueAll enqueues every ClusterRebootPolicy because of an event of something else.
func enqueueAll[T client.Object](r *Reconciler) handler.TypedEventHandler[T, reconcile.Request] {
	return handler.TypedEnqueueRequestsFromMapFunc(func(ctx context.Context, _ T) []reconcile.Request {
		r.enqueueAll(ctx)
		return nil
	})
}

// enqueueOwnerOrAll enqueues the ClusterRebootPolicy that has made a policy; every one for a policy that a user has made.
func enqueueOwnerOrAll(r *Reconciler) handler.TypedEventHandler[*autorebootv1.RebootPolicy, reconcile.Request] {
	return handler.TypedEnqueueRequestsFromMapFunc(func(ctx context.Context, policy *autorebootv1.RebootPolicy) []reconcile.Request {
		if name := rules.ClusterPolicyOf(policy); name != "" {
			r.enqueuer.EnqueueCoalesced(types.NamespacedName{Name: name})
		} else {
			r.enqueueAll(ctx)
		}
		return nil
	})
}

func (r *Reconciler) enqueueAll(ctx context.Context) {
	var policies autorebootv1.ClusterRebootPolicyList
	if err := r.Client.List(ctx, &policies, client.UnsafeDisableDeepCopy); err != nil {
		return // the informer has not synced, and all of them are reconciled when it has
	}
	for i := range policies.Items {
		r.enqueuer.EnqueueCoalesced(client.ObjectKeyFromObject(&policies.Items[i]))
	}
}

// metadataChanged drops updates that leave labels, some annotations of the object and of its pod template, and whether it is
// being deleted, as they are. Those of a pod template are known of the kinds of the configuration too.
func metadataChanged[T client.Object](configured []workloadkinds.Kind, annotations ...string) predicate.TypedPredicate[T] {
	differ := func(a, b map[string]string) bool {
		return slices.ContainsFunc(annotations, func(name string) bool {
			is, has := a[name]
			was, had := b[name]
			return is != was || has != had
		})
	}
	return predicate.TypedFuncs[T]{UpdateFunc: func(e event.TypedUpdateEvent[T]) bool {
		return !maps.Equal(e.ObjectOld.GetLabels(), e.ObjectNew.GetLabels()) ||
			differ(e.ObjectOld.GetAnnotations(), e.ObjectNew.GetAnnotations()) ||
			differ(templateAnnotations(e.ObjectOld, configured...), templateAnnotations(e.ObjectNew, configured...)) ||
			e.ObjectOld.GetDeletionTimestamp().IsZero() != e.ObjectNew.GetDeletionTimestamp().IsZero()
	}}
}
