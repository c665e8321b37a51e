// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	chaosv1 "github.com/fairlead-dev/fairlead/api/chaos/v1"
	"github.com/fairlead-dev/fairlead/api/common"
	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/controllers/internal/controller"
	"github.com/fairlead-dev/fairlead/controllers/internal/impersonation"
	"github.com/fairlead-dev/fairlead/controllers/internal/workloads"
	"github.com/fairlead-dev/fairlead/controllers/rebootpolicy/conditiongate"
	"github.com/fairlead-dev/fairlead/controllers/rebootpolicy/fingerprint"
	"github.com/fairlead-dev/fairlead/controllers/rebootpolicy/podprobe"
	"github.com/fairlead-dev/fairlead/controllers/rebootpolicy/promquery"
	"github.com/fairlead-dev/fairlead/controllers/rebootpolicy/sources"
	"github.com/fairlead-dev/fairlead/internal/disruption"
	"github.com/fairlead-dev/fairlead/internal/dns"
	"github.com/fairlead-dev/fairlead/internal/egress"
	"github.com/fairlead-dev/fairlead/internal/freeze"
	"github.com/fairlead-dev/fairlead/internal/probe"
	rules "github.com/fairlead-dev/fairlead/internal/rules/rebootpolicy"
	"github.com/fairlead-dev/fairlead/internal/workloadkinds"
)

// Name of the controller in logs, metrics and events.
const Name = "rebootpolicy"

// Options of the controller.
type Options struct {
	// Concurrency is how many policies are reconciled at once. Defaults to 2.
	Concurrency int
	// CacheSyncTimeout bounds the wait for the caches. Defaults to 2m.
	CacheSyncTimeout time.Duration
	// Logger defaults to logr.Discard().
	Logger logr.Logger
	// Now returns the time by the clock of the API server, which times of pods and writes are compared with. Defaults to
	// time.Now.
	Now func() time.Time

	// WebhookExemptNamespaces are namespaces that no admission webhook is called for. Policies there have no
	// approval, and restart nothing. Defaults to none.
	WebhookExemptNamespaces []string
	// Ledger of all disruptions in this process. Required. Its Wake must call Controller.Wake.
	Ledger *disruption.Ledger
	// Restore adds to the ledger what all kinds have in flight. It is called before the first decision. Required.
	Restore func(ctx context.Context) error
	// Key of fingerprints. Required.
	Key *fingerprint.Key
	// Kubernetes reads ConfigMaps and Secrets, and Metadata lists their names. Required.
	Kubernetes kubernetes.Interface
	Metadata   metadata.Interface
	// Dynamic reads the objects of gates whose kinds the cache does not hold. Required.
	Dynamic dynamic.Interface
	// SourcesMode is how their changes are noticed. Cache must be called with the same. Defaults to sources.Watch.
	SourcesMode sources.Mode
	// SourcesInterval is the time between two reads of a source that is polled. Defaults to 30s.
	SourcesInterval time.Duration
	// Dial opens the connections of Probe triggers. Required.
	Dial func(ctx context.Context, to egress.Query) (net.Conn, error)
	// Lookup resolves the hosts of Probe triggers. Defaults to nil: hosts must be IPs.
	Lookup func(ctx context.Context, name string, records networkingv1.RecordType) dns.Answer
	// Suspicions report whether the network of this process is probably at fault: failed checks then decide
	// nothing. Defaults to nil: never.
	Suspicions *probe.Suspicions
	// Reference reports whether this process reaches a target that no tenant controls; it ends with ctx. Defaults
	// to nil: it does.
	Reference func(ctx context.Context) bool
	// OnSuspect is called when the process begins and ceases to suspect itself, with the cause. It must not
	// block. Defaults to nil: it is not called.
	OnSuspect func(suspect bool, cause string)
	// Prometheus is asked the queries of gates. Defaults to none: these gates are closed.
	Prometheus promquery.Server
	// ProbeWorkers is how many checks run at once. Defaults to 256.
	ProbeWorkers int
	// Freeze has the blackouts of the whole cluster, which hold restarts. Defaults to nil: none.
	Freeze *freeze.Freeze
	// Kinds has workloads in the cluster's cache of the kinds that a cluster need not have. Required.
	Kinds *workloadkinds.Watches
	// WithoutNodes reads no nodes, so that a pod on a node that is not ready fails a restart until its own end is overdue.
	// For an operator without the right to get nodes. Defaults to false.
	WithoutNodes bool
	// Registerer of metrics. Defaults to nil: metrics are not registered.
	Registerer prometheus.Registerer
	// Wrap returns what is called instead of the reconciler, and calls it. Defaults to nil: the reconciler itself.
	Wrap func(reconcile.Reconciler) reconcile.Reconciler
}

// Controller reconciles RebootPolicies, and observes the sources and pods that they name.
type Controller struct {
	restore    func(ctx context.Context) error
	controller controller.Controller
	reconciler *Reconciler
	sources    *sources.Sources
	probes     *podprobe.Checks
	queries    *promquery.Queries
	objects    *conditiongate.Objects
}

// New returns a controller. The caller starts it once this replica leads, and runs the cluster's cache with the
// index of package workloads.
func New(c cluster.Cluster, o Options) (*Controller, error) {
	if o.Ledger == nil || o.Restore == nil || o.Key == nil || o.Kubernetes == nil || o.Metadata == nil || o.Dynamic == nil ||
		o.Dial == nil || o.Kinds == nil {
		return nil, errors.New("controller " + Name + ": Ledger, Restore, Key, Kubernetes, Metadata, Dynamic, Dial and Kinds are required")
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	enqueuer := controller.NewCoalescingEnqueuer(time.Now)
	observed, err := sources.New(sources.Options{
		Client: o.Kubernetes, Metadata: o.Metadata, Cache: c.GetCache(), Key: o.Key, Mode: o.SourcesMode,
		Kinds: o.Kinds, Interval: o.SourcesInterval, Notify: enqueuer.EnqueueCoalesced, Registerer: o.Registerer, Now: o.Now,
	})
	if err != nil {
		return nil, fmt.Errorf("sources of RebootPolicies: %w", err)
	}
	probes := podprobe.New(podprobe.Options{
		Dial: o.Dial, Lookup: o.Lookup, Workers: o.ProbeWorkers, Notify: enqueuer.Enqueue, Registerer: o.Registerer,
		Reference: o.Reference, OnSuspect: o.OnSuspect,
	})
	queries := promquery.New(o.Prometheus, enqueuer.Enqueue)
	objects := conditiongate.New(o.Dynamic, o.Now, enqueuer.Enqueue)
	reconciler := newReconciler(Reconciler{
		Client: c.GetClient(), Live: c.GetAPIReader(), Events: c.GetEventRecorder("fairlead-" + Name), Now: o.Now,
		Sources: observed, Probes: withSuspicion{probes, o.Suspicions}, Requests: probes.Verification, Queries: queries, Objects: objects,
		Ledger: o.Ledger, Key: o.Key,
		Actor:    &actor{as: impersonation.New(c.GetClient(), c.GetAPIReader(), c.GetConfig()).As, kinds: o.Kinds.Configured},
		enqueuer: enqueuer, WebhookExemptNamespaces: o.WebhookExemptNamespaces, Freeze: o.Freeze, WithoutNodes: o.WithoutNodes,
		Kinds: o.Kinds,
	})
	enqueueAll := func() { reconciler.watchIndex.EnqueueAll(enqueuer) }
	o.Freeze.Subscribe(enqueueAll)
	o.Suspicions.Subscribe(enqueueAll)
	if o.Registerer != nil {
		if err := o.Registerer.Register(reconciler.metrics); err != nil {
			return nil, fmt.Errorf("metrics of RebootPolicies: %w", err)
		}
	}
	inner, err := controller.New(Name, controller.Options{
		Reconciler: reconciler, Wrap: o.Wrap,
		Concurrency: o.Concurrency, CacheSyncTimeout: o.CacheSyncTimeout, Logger: o.Logger,
	})
	if err != nil {
		return nil, err
	}
	if err := reconciler.watch(c, inner); err != nil {
		return nil, err
	}
	return &Controller{
		restore: o.Restore, controller: inner, reconciler: reconciler, sources: observed, probes: probes, queries: queries, objects: objects,
	}, nil
}

// Warmup starts the watches and returns when they have synced. Nothing is reconciled or observed before
// Start.
func (c *Controller) Warmup(ctx context.Context) error {
	return controller.Warmup(ctx, Name, c.controller)
}

// Start runs the controller until ctx ends or a part of it fails, and returns when all parts have ended. Nothing
// is decided before the ledger has what is in flight, and before the blackouts of the cluster were read.
func (c *Controller) Start(ctx context.Context) error {
	if err := c.restore(ctx); err != nil {
		return fmt.Errorf("controller %s: %w", Name, err)
	}
	c.reconciler.Freeze.Wait(ctx)
	return controller.RunAll(ctx, c.sources.Run, c.probes.Run, c.queries.Run, c.objects.Run, c.controller.Start)
}

// Wake enqueues a policy that waits for others: the ledger calls it. It does not block. Like events of workloads, it
// brings about one reconcile in an interval, which takes all that has become free: a write of the status for each slot
// costs more than a slot that is kept for as long.
func (c *Controller) Wake(holder disruption.Holder) {
	if holder.Kind == disruption.RebootPolicy {
		c.reconciler.enqueuer.EnqueueCoalesced(holder.NamespacedName)
	}
}

// withSuspicion adds what others suspect of the network of this process.
type withSuspicion struct {
	Probes
	suspicions *probe.Suspicions
}

func (w withSuspicion) IsSuspect(policy types.NamespacedName) bool {
	return w.Probes.IsSuspect(policy) || w.suspicions.Any()
}

// watch enqueues policies when they change, and when something that they have read changes.
func (r *Reconciler) watch(c cluster.Cluster, to controller.Controller) error {
	r.Kinds.Subscribe(func(kind workloadkinds.Kind) handler.TypedEventHandler[client.Object, reconcile.Request] {
		handle := enqueueFor(r, workloadMatcher(kind.Name()))
		if kind.RunsToEnd() {
			return r.podVersions.recordRuns(handle)
		}
		return handle
	}, r.enqueueOptional)
	all := []source.Source{
		controller.Kind(c.GetCache(), &autorebootv1.RebootPolicy{},
			&handler.TypedEnqueueRequestForObject[*autorebootv1.RebootPolicy]{},
			predicate.Or[*autorebootv1.RebootPolicy](predicate.TypedGenerationChangedPredicate[*autorebootv1.RebootPolicy]{},
				controller.AnnotationsChanged[*autorebootv1.RebootPolicy](requestAnnotations()))),
		controller.Kind(c.GetCache(), &autorebootv1.RebootPolicy{}, enqueueSelf(r),
			controller.StatusChangedByOthers(r.ownWrites, func(p *autorebootv1.RebootPolicy) any { return &p.Status })),
		controller.Kind(c.GetCache(), &autorebootv1.RebootPolicy{}, enqueueThoseThatYield(r),
			predicate.TypedGenerationChangedPredicate[*autorebootv1.RebootPolicy]{}),
		controller.Kind(c.GetCache(), &appsv1.Deployment{}, enqueuePausing()),
		controller.Kind(c.GetCache(), workloads.ReplicaSets(), enqueueFor(r, func(rs *metav1.PartialObjectMetadata) func(*watchSet) bool {
			owner := workloads.ControllerOf(rs)
			return func(w *watchSet) bool { return w.owners[owner] }
		}), ownerChanged()),
		controller.Kind(c.GetCache(), &corev1.Pod{},
			r.podVersions.recordThen(r.watchIndex, enqueueFor(r, func(pod *corev1.Pod) func(*watchSet) bool {
				owner, set := workloads.ControllerOf(pod), labels.Set(pod.Labels)
				return func(w *watchSet) bool { return w.matchesPod(owner, set) }
			})), podChanged()),
		controller.OptionalKind(c.GetCache(), &networkingv1.ExternalService{},
			enqueueFor(r, func(es *networkingv1.ExternalService) func(*watchSet) bool {
				return func(w *watchSet) bool { return w.externalServices[es.Name] || w.dependencies[es.Name] }
			})),
		controller.OptionalKind(c.GetCache(), &chaosv1.ChaosPod{}, enqueueFor(r, func(chaos *chaosv1.ChaosPod) func(*watchSet) bool {
			return func(w *watchSet) bool { return w.chaosPods[chaos.Name] || w.matchesBlocked(chaos.Status.Blocked) }
		})),
		r.enqueuer.Source(),
	}
	for _, kind := range workloadkinds.Apps {
		all = append(all, controller.Kind(c.GetCache(), kind.Object(), enqueueFor(r, workloadMatcher(kind.Name()))))
	}
	for _, from := range all {
		if err := to.Watch(from); err != nil {
			return err
		}
	}
	return nil
}

// enqueueOptional enqueues the policies with targets of kinds that a cluster need not have.
func (r *Reconciler) enqueueOptional(context.Context) {
	for _, key := range r.watchIndex.All() {
		if w := r.watchIndex.Get(key); w != nil && w.hasOptional {
			r.enqueuer.EnqueueCoalesced(key)
		}
	}
}

func enqueueFor[T client.Object](r *Reconciler, matches func(T) func(*watchSet) bool) handler.TypedEventHandler[T, reconcile.Request] {
	return controller.EnqueueFor(r.enqueuer, r.watchIndex, matches)
}

func workloadMatcher(kind common.WorkloadKind) func(client.Object) func(*watchSet) bool {
	return func(object client.Object) func(*watchSet) bool {
		name, uid, set := object.GetName(), object.GetUID(), labels.Set(object.GetLabels())
		return func(w *watchSet) bool { return w.matchesWorkload(kind, name, uid, set) }
	}
}

// enqueueThoseThatYield enqueues the policies of a namespace that leave workloads to one which comes, goes or has another spec.
func enqueueThoseThatYield(r *Reconciler) handler.TypedEventHandler[*autorebootv1.RebootPolicy, reconcile.Request] {
	return handler.TypedEnqueueRequestsFromMapFunc(func(ctx context.Context, changed *autorebootv1.RebootPolicy) []reconcile.Request {
		var list autorebootv1.RebootPolicyList
		if err := r.Client.List(ctx, &list, client.InNamespace(changed.Namespace), shared); err != nil {
			return nil // the informer has not synced, and all policies are reconciled when it has
		}
		for i := range list.Items {
			if policy := &list.Items[i]; rules.ClusterPolicyOf(policy) != "" && policy.Name != changed.Name {
				r.enqueuer.EnqueueCoalesced(client.ObjectKeyFromObject(policy))
			}
		}
		return nil
	})
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
