// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/fairlead-dev/fairlead/controllers/internal/parts"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/internal/disruption"
	"github.com/fairlead-dev/fairlead/internal/dns"
	"github.com/fairlead-dev/fairlead/internal/egress"
	"github.com/fairlead-dev/fairlead/internal/fingerprint"
	"github.com/fairlead-dev/fairlead/internal/podhealth"
	"github.com/fairlead-dev/fairlead/internal/sources"
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

	// Unasked are namespaces that the webhooks are not called for. What is written there was approved by
	// nobody, and restarts nothing. The default is none.
	Unasked []string
	// Ledger of all disruptions in this process. Required. Its Wake must reach Controller.Wake.
	Ledger *disruption.Ledger
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
	// Suspect says whether others find that the network of this process is probably at fault: failed
	// checks then decide nothing. The default is that nobody does.
	Suspect func() bool
	// ProbeWorkers is how many checks run at once. The default is 256.
	ProbeWorkers int
	// Now is the clock. The default is time.Now.
	Now func() time.Time
	// Registerer takes the metrics. The default takes none.
	Registerer prometheus.Registerer
	// Wrap answers what is called in place of the reconciler, and calls it. The default is the
	// reconciler itself.
	Wrap func(reconcile.Reconciler) reconcile.Reconciler
}

// Controller reconciles RebootPolicies, and observes what they name.
type Controller struct {
	cluster     cluster.Cluster
	reconciling controller.Controller
	reconciler  *Reconciler
	sources     *sources.Sources
	health      *podhealth.Checks
}

// New makes the controller. The caller starts it, once this replica leads, and sees that the cluster's
// cache runs.
func New(ctx context.Context, c cluster.Cluster, o Options) (*Controller, error) {
	if o.Ledger == nil || o.Key == nil || o.Kubernetes == nil || o.Metadata == nil || o.Dial == nil {
		return nil, errors.New("controller " + Name + ": Ledger, Key, Kubernetes, Metadata and Dial are required")
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Suspect == nil {
		o.Suspect = func() bool { return false }
	}
	rings := newRinger(o.Now)
	observed, err := sources.New(sources.Options{
		Client: o.Kubernetes, Metadata: o.Metadata, Cache: c.GetCache(), Key: o.Key, Mode: o.SourcesMode,
		Interval: o.SourcesInterval, Notify: rings.stir, Registerer: o.Registerer,
	})
	if err != nil {
		return nil, fmt.Errorf("sources of RebootPolicies: %w", err)
	}
	health := podhealth.New(podhealth.Options{
		Dial: o.Dial, Lookup: o.Lookup, Workers: o.ProbeWorkers, Notify: rings.Ring, Registerer: o.Registerer,
	})
	reconciler := newReconciler(Reconciler{
		Client: c.GetClient(), Live: c.GetAPIReader(), Events: c.GetEventRecorder("fairlead-" + Name), Now: o.Now,
		Sources: observed, Health: doubted{health, o.Suspect}, Ledger: o.Ledger, Key: o.Key,
		Actor: &actor{as: newClients(c.GetClient(), c.GetConfig()).as}, ringer: rings, Unasked: o.Unasked,
	})
	if o.Registerer != nil {
		if err := o.Registerer.Register(reconciler.metrics); err != nil {
			return nil, fmt.Errorf("metrics of RebootPolicies: %w", err)
		}
	}
	reconciling, err := parts.New(Name, parts.Options{
		Reconciler: reconciler, Wrap: o.Wrap,
		Concurrency: o.Concurrency, CacheSyncTimeout: o.CacheSyncTimeout, Warmup: o.Warmup, Logger: o.Logger,
	})
	if err != nil {
		return nil, err
	}
	if err := reconciler.watch(ctx, c, reconciling); err != nil {
		return nil, err
	}
	return &Controller{cluster: c, reconciling: reconciling, reconciler: reconciler, sources: observed, health: health}, nil
}

// Warmup starts the watches and returns when they have synced. Nothing is reconciled or observed before
// Start.
func (c *Controller) Warmup(ctx context.Context) error {
	return parts.Warmup(ctx, Name, c.reconciling)
}

// Start reconciles and observes until ctx ends or a part fails, and returns when all have ended. No
// policy decides before the ledger knows what all of them have in flight.
func (c *Controller) Start(ctx context.Context) error {
	// This waits until the policies have been listed.
	if _, err := c.cluster.GetCache().GetInformer(ctx, &autorebootv1.RebootPolicy{}); err != nil {
		return fmt.Errorf("controller %s: %w", Name, err)
	}
	if err := c.reconciler.restore(ctx, c.cluster.GetCache()); err != nil {
		return fmt.Errorf("controller %s: %w", Name, err)
	}
	return parts.Together(ctx, c.sources.Run, c.health.Run, c.reconciling.Start)
}

// Wake has a policy reconciled that waits for others: the ledger calls it. It does not block.
func (c *Controller) Wake(holder disruption.Holder) {
	if holder.Kind == disruption.RebootPolicy {
		c.reconciler.ringer.Ring(holder.NamespacedName)
	}
}
