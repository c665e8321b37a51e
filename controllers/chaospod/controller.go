// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package chaospod

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
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
	"github.com/fairlead-dev/fairlead/controllers/internal/clientprobe"
	"github.com/fairlead-dev/fairlead/controllers/internal/controller"
	"github.com/fairlead-dev/fairlead/controllers/internal/dependence"
	"github.com/fairlead-dev/fairlead/controllers/internal/impersonation"
	"github.com/fairlead-dev/fairlead/controllers/internal/workloads"
	"github.com/fairlead-dev/fairlead/internal/disruption"
	"github.com/fairlead-dev/fairlead/internal/dns"
	"github.com/fairlead-dev/fairlead/internal/egress"
	"github.com/fairlead-dev/fairlead/internal/freeze"
	"github.com/fairlead-dev/fairlead/internal/probe"
	"github.com/fairlead-dev/fairlead/internal/workloadkinds"
)

// Name of the controller in logs, metrics and events.
const Name = "chaospod"

// probeWorkers is how many requests of verification.probes are sent at once; one namespace has half of what others leave.
const probeWorkers = 256

// Options of the controller.
type Options struct {
	// Concurrency is how many ChaosPods are reconciled at once. Defaults to 2.
	Concurrency int
	// CacheSyncTimeout bounds the wait for the caches. Defaults to 2m.
	CacheSyncTimeout time.Duration
	// Logger defaults to logr.Discard().
	Logger logr.Logger
	// Now returns the time by the clock of the API server, which times of pods and writes are compared with. Defaults to
	// time.Now.
	Now func() time.Time

	// Denied are namespaces in which no pod is ever killed: the operator's own, and those that no admission webhook
	// is called for. Defaults to none.
	Denied []string
	// WithoutNodes reads no nodes, so that pods of a cordoned node may die as well. For an operator without the right
	// to get nodes. Defaults to false.
	WithoutNodes bool
	// WithoutCanaries makes no pods: a ChaosPod with a template is not Ready. Defaults to false.
	WithoutCanaries bool
	// Ledger of all disruptions in this process. Required. Its Wake must call Controller.Wake.
	Ledger *disruption.Ledger
	// Restore adds to the ledger what all kinds have in flight. It is called before the first decision. Required.
	Restore func(ctx context.Context) error
	// Suspicions report whether the network of this process is probably at fault: no run starts then. Defaults to
	// nil: never.
	Suspicions *probe.Suspicions
	// Dial opens the connections of verification.probes. Required.
	Dial func(ctx context.Context, to egress.Query) (net.Conn, error)
	// Lookup resolves the hosts of verification.probes. Defaults to nil: hosts must be IPs.
	Lookup func(ctx context.Context, name string, records networkingv1.RecordType) dns.Answer
	// Reference reports whether this process reaches a target that no tenant controls; it ends with ctx. Defaults to nil: failures
	// of verification.probes count at once.
	Reference func(ctx context.Context) bool
	// OnSuspect is called when failures of verification.probes begin and cease to count as a fault of this process, with the
	// cause. It must not block. Defaults to nil: it is not called.
	OnSuspect func(suspect bool, cause string)
	// Freeze has the blackouts of the whole cluster, which hold runs. Defaults to nil: none.
	Freeze *freeze.Freeze
	// Registerer of metrics. Defaults to nil: metrics are not registered.
	Registerer prometheus.Registerer
	// Wrap returns what is called instead of the reconciler, and calls it. Defaults to nil: the reconciler itself.
	Wrap func(reconcile.Reconciler) reconcile.Reconciler
}

// Kinds returns all that the controller reads from the cache.
func Kinds() []client.Object {
	return append([]client.Object{
		&chaosv1.ChaosPod{}, &networkingv1.ExternalService{}, &autorebootv1.RebootPolicy{},
		workloads.ReplicaSets(), &corev1.Pod{},
	}, workloadkinds.AppsObjects()...)
}

// Controller reconciles ChaosPods.
type Controller struct {
	controller controller.Controller
	reconciler *Reconciler
	prober     *probe.Prober
	restore    func(ctx context.Context) error
}

// New returns a controller. The caller starts it once this replica leads, and runs the cluster's cache with the
// index of package workloads.
func New(c cluster.Cluster, o Options) (*Controller, error) {
	if o.Ledger == nil || o.Restore == nil || o.Dial == nil {
		return nil, errors.New("controller " + Name + ": Ledger, Restore and Dial are required")
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	enqueuer := controller.NewCoalescingEnqueuer(o.Now)
	network := clientprobe.Network{Dial: o.Dial, Lookup: o.Lookup}
	var sender *clientprobe.Sender
	prober := probe.New(probe.Options{
		Dial: network.DialUnapproved, Lookup: network.LookupAll, RequireThreshold: true, Group: clientprobe.Group, Kind: "ChaosPod",
		Reference: o.Reference, OnSuspect: o.OnSuspect, Workers: probeWorkers, Registerer: o.Registerer,
		Notify: func(key types.NamespacedName) { sender.OnChange(key) },
	})
	sender = clientprobe.New(prober, enqueuer.Enqueue)
	reconciler := newReconciler(Reconciler{
		Client: c.GetClient(), Live: c.GetAPIReader(), As: impersonation.New(c.GetClient(), c.GetAPIReader(), c.GetConfig()).As,
		Events: c.GetEventRecorder("fairlead-" + Name), Now: o.Now, Ledger: o.Ledger, Suspicions: o.Suspicions,
		Denied: o.Denied, WithoutNodes: o.WithoutNodes, WithoutCanaries: o.WithoutCanaries,
		Freeze: o.Freeze, Requests: sender, enqueuer: enqueuer,
	})
	if o.Registerer != nil {
		if err := o.Registerer.Register(reconciler.metrics); err != nil {
			return nil, fmt.Errorf("metrics of ChaosPods: %w", err)
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
	return &Controller{controller: inner, reconciler: reconciler, prober: prober, restore: o.Restore}, nil
}

// Warmup starts the watches and returns when they have synced. Nothing is reconciled before Start.
func (c *Controller) Warmup(ctx context.Context) error {
	return controller.Warmup(ctx, Name, c.controller)
}

// Start reconciles until ctx ends. Nothing is decided before the ledger has what is in flight, and before the
// blackouts of the cluster were read.
func (c *Controller) Start(ctx context.Context) error {
	if err := c.restore(ctx); err != nil {
		return fmt.Errorf("controller %s: %w", Name, err)
	}
	c.reconciler.Freeze.Wait(ctx)
	return controller.RunAll(ctx, c.prober.Run, c.controller.Start)
}

// Wake enqueues a ChaosPod that waits for others: the ledger calls it. It does not block.
func (c *Controller) Wake(holder disruption.Holder) {
	if holder.Kind == disruption.ChaosPod {
		c.reconciler.enqueuer.Enqueue(holder.NamespacedName)
	}
}

// watch enqueues ChaosPods when they change, and when something that they have read changes.
func (r *Reconciler) watch(c cluster.Cluster, to controller.Controller) error {
	all := []source.Source{
		controller.Kind(c.GetCache(), &chaosv1.ChaosPod{}, &handler.TypedEnqueueRequestForObject[*chaosv1.ChaosPod]{},
			predicate.Or(predicate.TypedGenerationChangedPredicate[*chaosv1.ChaosPod]{},
				controller.AnnotationsChanged[*chaosv1.ChaosPod](requestAnnotations()),
				controller.StatusChangedByOthers(r.ownWrites, func(p *chaosv1.ChaosPod) any { return &p.Status }))),
		controller.Kind(c.GetCache(), &corev1.Pod{}, enqueueFor(r, func(pod *corev1.Pod) func(*watchSet) bool {
			return func(w *watchSet) bool { return w.matchesPod(pod) }
		})),
		controller.OptionalKind(c.GetCache(), &networkingv1.ExternalService{},
			enqueueFor(r, func(*networkingv1.ExternalService) func(*watchSet) bool {
				return func(*watchSet) bool { return true } // observe finds out whether the target depends on it
			}), faultChanged()),
		r.enqueuer.Source(),
	}
	for _, kind := range workloadkinds.Apps {
		all = append(all, controller.Kind(c.GetCache(), kind.Object(), enqueueFor(r, workloadMatcher(kind.Kind))))
	}
	for _, from := range all {
		if err := to.Watch(from); err != nil {
			return err
		}
	}
	return nil
}

func enqueueFor[T client.Object](r *Reconciler, matches func(T) func(*watchSet) bool) handler.TypedEventHandler[T, reconcile.Request] {
	return controller.EnqueueFor(r.enqueuer, r.watchIndex, matches)
}

func workloadMatcher(kind string) func(client.Object) func(*watchSet) bool {
	return func(object client.Object) func(*watchSet) bool {
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
