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
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/controllers/internal/controller"
	"github.com/fairlead-dev/fairlead/controllers/internal/impersonation"
	"github.com/fairlead-dev/fairlead/controllers/rebootpolicy/fingerprint"
	"github.com/fairlead-dev/fairlead/controllers/rebootpolicy/podprobe"
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
	// Concurrency is how many policies are reconciled at once. The default is 2.
	Concurrency int
	// CacheSyncTimeout bounds the wait for the caches. The default is 2m.
	CacheSyncTimeout time.Duration
	// Warmup starts the watches on a replica that does not lead, so that taking over is quick.
	Warmup bool
	// Logger of the controller. The default drops everything.
	Logger logr.Logger

	// WebhookExemptNamespaces are namespaces that the webhooks are not called for. What is written there has no
	// approval, and restarts nothing. The default is none.
	WebhookExemptNamespaces []string
	// Ledger of all disruptions in this process. Required. Its Wake must reach Controller.Wake.
	Ledger *disruption.Ledger
	// Restore tells the ledger what all kinds had under way before this process. It is called before
	// anything is decided. Required.
	Restore func(ctx context.Context) error
	// Key of fingerprints. Required.
	Key *fingerprint.Key
	// Kubernetes reads ConfigMaps and Secrets, and Metadata lists what they are called. Required.
	Kubernetes kubernetes.Interface
	Metadata   metadata.Interface
	// SourcesMode says how their changes are noticed. The default is sources.Watch; the same must be
	// given to Cache.
	SourcesMode sources.Mode
	// SourcesInterval is the time between two reads of one that is polled. The default is 30s.
	SourcesInterval time.Duration
	// Dial opens the connections of Probe triggers. Required.
	Dial func(ctx context.Context, to egress.Query) (net.Conn, error)
	// Lookup asks what the host of a Probe trigger leads to. By default hosts must be IPs.
	Lookup func(ctx context.Context, name string, records networkingv1.RecordType) dns.Answer
	// Suspicions say whether anything finds that the network of this process is probably at fault: failed
	// checks then decide nothing. The default is that nothing does.
	Suspicions *probe.Suspicions
	// Reference says whether this process reaches what no tenant has a say in; it ends when ctx does.
	// The default is that it does.
	Reference func(ctx context.Context) bool
	// OnSuspect is told when failed checks begin and cease to be taken for a fault of this process,
	// and why. It must not block. The default tells no one.
	OnSuspect func(suspect bool, cause string)
	// ProbeWorkers is how many checks run at once. The default is 256.
	ProbeWorkers int
	// Freeze knows the blackouts of the whole cluster, which hold restarts. The default is none.
	Freeze *freeze.Freeze
	// Now is the clock. The default is time.Now.
	Now func() time.Time
	// Registerer takes the metrics. The default takes none.
	Registerer prometheus.Registerer
	// Wrap returns what is called in place of the reconciler, and calls it. The default is the
	// reconciler itself.
	Wrap func(reconcile.Reconciler) reconcile.Reconciler
}

// Controller reconciles RebootPolicies, and observes what they name.
type Controller struct {
	restore     func(ctx context.Context) error
	reconciling controller.Controller
	reconciler  *Reconciler
	sources     *sources.Sources
	health      *podprobe.Checks
}

// New makes the controller. The caller starts it, once this replica leads, and sees that the cluster's
// cache runs and has the index of package workloads.
func New(c cluster.Cluster, o Options) (*Controller, error) {
	if o.Ledger == nil || o.Restore == nil || o.Key == nil || o.Kubernetes == nil || o.Metadata == nil || o.Dial == nil {
		return nil, errors.New("controller " + Name + ": Ledger, Restore, Key, Kubernetes, Metadata and Dial are required")
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	enqueuer := controller.NewCoalescingEnqueuer(o.Now)
	observed, err := sources.New(sources.Options{
		Client: o.Kubernetes, Metadata: o.Metadata, Cache: c.GetCache(), Key: o.Key, Mode: o.SourcesMode,
		Interval: o.SourcesInterval, Notify: enqueuer.EnqueueCoalesced, Registerer: o.Registerer,
	})
	if err != nil {
		return nil, fmt.Errorf("sources of RebootPolicies: %w", err)
	}
	health := podprobe.New(podprobe.Options{
		Dial: o.Dial, Lookup: o.Lookup, Workers: o.ProbeWorkers, Notify: enqueuer.Enqueue, Registerer: o.Registerer,
		Reference: o.Reference, OnSuspect: o.OnSuspect,
	})
	reconciler := newReconciler(Reconciler{
		Client: c.GetClient(), Live: c.GetAPIReader(), Events: c.GetEventRecorder("fairlead-" + Name), Now: o.Now,
		Sources: observed, Probes: withSuspicion{health, o.Suspicions}, Ledger: o.Ledger, Key: o.Key,
		Actor: &actor{as: impersonation.New(c.GetClient(), c.GetConfig()).As}, enqueuer: enqueuer, WebhookExemptNamespaces: o.WebhookExemptNamespaces,
		Freeze: o.Freeze,
	})
	o.Freeze.Subscribe(reconciler.enqueueAll)
	o.Suspicions.Subscribe(reconciler.enqueueAll)
	if o.Registerer != nil {
		if err := o.Registerer.Register(reconciler.metrics); err != nil {
			return nil, fmt.Errorf("metrics of RebootPolicies: %w", err)
		}
	}
	reconciling, err := controller.New(Name, controller.Options{
		Reconciler: reconciler, Wrap: o.Wrap,
		Concurrency: o.Concurrency, CacheSyncTimeout: o.CacheSyncTimeout, Warmup: o.Warmup, Logger: o.Logger,
	})
	if err != nil {
		return nil, err
	}
	if err := reconciler.watch(c, reconciling); err != nil {
		return nil, err
	}
	return &Controller{restore: o.Restore, reconciling: reconciling, reconciler: reconciler, sources: observed, health: health}, nil
}

// Warmup starts the watches and returns when they have synced. Nothing is reconciled or observed before
// Start.
func (c *Controller) Warmup(ctx context.Context) error {
	return controller.Warmup(ctx, Name, c.reconciling)
}

// Start reconciles and observes until ctx ends or a part fails, and returns when all have ended. No
// policy decides before the ledger knows what all of them have in flight, and before the blackouts of the
// cluster were read.
func (c *Controller) Start(ctx context.Context) error {
	if err := c.restore(ctx); err != nil {
		return fmt.Errorf("controller %s: %w", Name, err)
	}
	c.reconciler.Freeze.Wait(ctx)
	return controller.RunAll(ctx, c.sources.Run, c.health.Run, c.reconciling.Start)
}

// Wake has a policy reconciled that waits for others: the ledger calls it. It does not block.
func (c *Controller) Wake(holder disruption.Holder) {
	if holder.Kind == disruption.RebootPolicy {
		c.reconciler.enqueuer.Enqueue(holder.NamespacedName)
	}
}
