// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package chaospod

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	chaosv1 "github.com/fairlead-dev/fairlead/api/chaos/v1"
	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/controllers/internal/controller"
	"github.com/fairlead-dev/fairlead/controllers/internal/impersonation"
	"github.com/fairlead-dev/fairlead/controllers/internal/workloads"
	"github.com/fairlead-dev/fairlead/internal/disruption"
	"github.com/fairlead-dev/fairlead/internal/freeze"
	"github.com/fairlead-dev/fairlead/internal/probe"
)

// Name of the controller in logs, metrics and events.
const Name = "chaospod"

// Options of the controller.
type Options struct {
	// Concurrency is how many ChaosPods are reconciled at once. The default is 2.
	Concurrency int
	// CacheSyncTimeout bounds the wait for the caches. The default is 2m.
	CacheSyncTimeout time.Duration
	// Warmup starts the watches on a replica that does not lead, so that taking over is quick.
	Warmup bool
	// Logger of the controller. The default drops everything.
	Logger logr.Logger

	// Denied are namespaces in which no pod is ever killed: the operator's own, and those that the
	// webhooks are not called for. The default is none.
	Denied []string
	// Ledger of all disruptions in this process. Required. Its Wake must reach Controller.Wake.
	Ledger *disruption.Ledger
	// Restore tells the ledger what all kinds had under way before this process. It is called before
	// anything is decided. Required.
	Restore func(ctx context.Context) error
	// Suspicions say whether the network of this process is probably at fault: no run begins then. The
	// default is that it never is.
	Suspicions *probe.Suspicions
	// Freeze knows the blackouts of the whole cluster, which hold runs. The default is none.
	Freeze *freeze.Freeze
	// Now is the clock. The default is time.Now.
	Now func() time.Time
	// Registerer takes the metrics. The default takes none.
	Registerer prometheus.Registerer
	// Wrap returns what is called in place of the reconciler, and calls it. The default is the
	// reconciler itself.
	Wrap func(reconcile.Reconciler) reconcile.Reconciler
}

// Kinds are all that the controller reads from the cache.
func Kinds() []client.Object {
	return []client.Object{
		&chaosv1.ChaosPod{}, &networkingv1.ExternalService{}, &autorebootv1.RebootPolicy{}, &appsv1.Deployment{}, &appsv1.StatefulSet{}, &appsv1.DaemonSet{}, workloads.ReplicaSets(), &corev1.Pod{},
	}
}

// Controller reconciles ChaosPods.
type Controller struct {
	reconciling controller.Controller
	reconciler  *Reconciler
	restore     func(ctx context.Context) error
}

// New makes the controller. The caller starts it, once this replica leads, and sees that the cluster's
// cache runs and has the index of package workloads.
func New(c cluster.Cluster, o Options) (*Controller, error) {
	if o.Ledger == nil || o.Restore == nil {
		return nil, errors.New("controller " + Name + ": Ledger and Restore are required")
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	reconciler := newReconciler(Reconciler{
		Client: c.GetClient(), Live: c.GetAPIReader(), As: impersonation.New(c.GetClient(), c.GetConfig()).As,
		Events: c.GetEventRecorder("fairlead-" + Name), Now: o.Now, Ledger: o.Ledger, Suspicions: o.Suspicions, Denied: o.Denied,
		Freeze: o.Freeze,
	})
	if o.Registerer != nil {
		if err := o.Registerer.Register(reconciler.metrics); err != nil {
			return nil, fmt.Errorf("metrics of ChaosPods: %w", err)
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
	return &Controller{reconciling: reconciling, reconciler: reconciler, restore: o.Restore}, nil
}

// Warmup starts the watches and returns when they have synced. Nothing is reconciled before Start.
func (c *Controller) Warmup(ctx context.Context) error {
	return controller.Warmup(ctx, Name, c.reconciling)
}

// Start reconciles until ctx ends. No ChaosPod decides before the ledger knows what all kinds have under
// way, and before the blackouts of the cluster were read.
func (c *Controller) Start(ctx context.Context) error {
	if err := c.restore(ctx); err != nil {
		return fmt.Errorf("controller %s: %w", Name, err)
	}
	c.reconciler.Freeze.Wait(ctx)
	return c.reconciling.Start(ctx)
}

// Wake has a ChaosPod reconciled that waits for others: the ledger calls it. It does not block.
func (c *Controller) Wake(holder disruption.Holder) {
	if holder.Kind == disruption.ChaosPod {
		c.reconciler.enqueuer.Enqueue(holder.NamespacedName)
	}
}

// enqueueAll has every ChaosPod look at what holds all of them, which has changed: the blackouts of the cluster,
// or whether this process suspects itself.
func (r *Reconciler) enqueueAll() {
	for _, key := range r.watchIndex.All() {
		r.enqueuer.EnqueueCoalesced(key)
	}
}
