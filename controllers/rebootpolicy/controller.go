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
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/controllers/internal/controller"
	"github.com/fairlead-dev/fairlead/controllers/internal/impersonation"
	"github.com/fairlead-dev/fairlead/controllers/rebootpolicy/fingerprint"
	"github.com/fairlead-dev/fairlead/controllers/rebootpolicy/podprobe"
	"github.com/fairlead-dev/fairlead/controllers/rebootpolicy/restart"
	"github.com/fairlead-dev/fairlead/controllers/rebootpolicy/sources"
	"github.com/fairlead-dev/fairlead/internal/disruption"
	"github.com/fairlead-dev/fairlead/internal/dns"
	"github.com/fairlead-dev/fairlead/internal/egress"
	"github.com/fairlead-dev/fairlead/internal/freeze"
	"github.com/fairlead-dev/fairlead/internal/probe"
)

// Name of the controller in logs, metrics and events.
const Name = "rebootpolicy"

// Options of the controller.
type Options struct {
	// Concurrency is how many policies are reconciled at once. Defaults to 2.
	Concurrency int
	// CacheSyncTimeout bounds the wait for the caches. Defaults to 2m.
	CacheSyncTimeout time.Duration
	// Warmup starts the watches on a replica that does not lead, so that it takes over quickly.
	Warmup bool
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
	// ProbeWorkers is how many checks run at once. Defaults to 256.
	ProbeWorkers int
	// Freeze has the blackouts of the whole cluster, which hold restarts. Defaults to nil: none.
	Freeze *freeze.Freeze
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
}

// New returns a controller. The caller starts it once this replica leads, and runs the cluster's cache with the
// index of package workloads.
func New(c cluster.Cluster, o Options) (*Controller, error) {
	if o.Ledger == nil || o.Restore == nil || o.Key == nil || o.Kubernetes == nil || o.Metadata == nil || o.Dial == nil {
		return nil, errors.New("controller " + Name + ": Ledger, Restore, Key, Kubernetes, Metadata and Dial are required")
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	enqueuer := controller.NewCoalescingEnqueuer(time.Now)
	observed, err := sources.New(sources.Options{
		Client: o.Kubernetes, Metadata: o.Metadata, Cache: c.GetCache(), Key: o.Key, Mode: o.SourcesMode,
		Interval: o.SourcesInterval, Notify: enqueuer.EnqueueCoalesced, Registerer: o.Registerer, Now: o.Now,
	})
	if err != nil {
		return nil, fmt.Errorf("sources of RebootPolicies: %w", err)
	}
	probes := podprobe.New(podprobe.Options{
		Dial: o.Dial, Lookup: o.Lookup, Workers: o.ProbeWorkers, Notify: enqueuer.Enqueue, Registerer: o.Registerer,
		Reference: o.Reference, OnSuspect: o.OnSuspect,
	})
	reconciler := newReconciler(Reconciler{
		Client: c.GetClient(), Live: c.GetAPIReader(), Events: c.GetEventRecorder("fairlead-" + Name), Now: o.Now,
		Sources: observed, Probes: withSuspicion{probes, o.Suspicions}, Ledger: o.Ledger, Key: o.Key,
		Actor: &actor{as: impersonation.New(c.GetClient(), c.GetAPIReader(), c.GetConfig()).As}, enqueuer: enqueuer, WebhookExemptNamespaces: o.WebhookExemptNamespaces,
		Freeze: o.Freeze, WithoutNodes: o.WithoutNodes,
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
		Concurrency: o.Concurrency, CacheSyncTimeout: o.CacheSyncTimeout, Warmup: o.Warmup, Logger: o.Logger,
	})
	if err != nil {
		return nil, err
	}
	if err := reconciler.watch(c, inner); err != nil {
		return nil, err
	}
	return &Controller{restore: o.Restore, controller: inner, reconciler: reconciler, sources: observed, probes: probes}, nil
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
	return controller.RunAll(ctx, c.sources.Run, c.probes.Run, c.controller.Start)
}

// Wake enqueues a policy that waits for others: the ledger calls it. It does not block. Like events of workloads, it
// brings about one reconcile in an interval, which takes all that has become free: a write of the status for each slot
// costs more than a slot that is kept for as long.
func (c *Controller) Wake(holder disruption.Holder) {
	if holder.Kind == disruption.RebootPolicy {
		c.reconciler.enqueuer.EnqueueCoalesced(holder.NamespacedName)
	}
}

// Sources observe ConfigMaps and Secrets.
type Sources interface {
	// Select returns the sources of a policy's namespace that a selector matches.
	Select(ctx context.Context, by types.NamespacedName, kind autorebootv1.SourceKind, selector labels.Selector) ([]sources.Ref, error)
	// Observe returns the states of all sources of a policy, in the order of wants.
	Observe(ctx context.Context, by types.NamespacedName, wants []sources.Want) ([]sources.State, error)
	// Forget drops the sources of a policy.
	Forget(by types.NamespacedName)
}

// Probes run the checks of Probe triggers.
type Probes interface {
	// Set sets what is checked for a policy.
	Set(policy types.NamespacedName, wants []podprobe.Want)
	// Result returns the result of a trigger for a workload.
	Result(policy types.NamespacedName, trigger string, workload types.UID) podprobe.Result
	// IsSuspect reports whether failures of some check of a policy decide nothing now.
	IsSuspect(policy types.NamespacedName) bool
	// Forget drops the checks of a policy.
	Forget(policy types.NamespacedName)
}

// withSuspicion adds what others suspect of the network of this process.
type withSuspicion struct {
	Probes
	suspicions *probe.Suspicions
}

func (w withSuspicion) IsSuspect(policy types.NamespacedName) bool {
	return w.Probes.IsSuspect(policy) || w.suspicions.Any()
}

// Fingerprinter makes fingerprints that reveal nothing without the key of the installation.
type Fingerprinter interface {
	Sum(domain string, parts ...[]byte) string
}

// Actor restarts workloads.
type Actor interface {
	// Do runs one action for a policy. The error is for the log.
	Do(ctx context.Context, policy *autorebootv1.RebootPolicy, action restart.Action, version string) (restart.Result, error)
}

// Ledger has the disruptions of all objects.
type Ledger interface {
	// Do decides what a policy disrupts, while nothing else does.
	Do(policy disruption.Holder, group string, decide func(disruption.View) []disruption.Claim)
	// Restore sets what a policy disrupted when the process started.
	Restore(policy disruption.Holder, group string, claims []disruption.Claim)
	// Forget drops a policy.
	Forget(policy disruption.Holder)
}

var (
	_ Sources       = (*sources.Sources)(nil)
	_ Probes        = (*podprobe.Checks)(nil)
	_ Fingerprinter = (*fingerprint.Key)(nil)
	_ Ledger        = (*disruption.Ledger)(nil)
)
