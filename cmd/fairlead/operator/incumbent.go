// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"context"
	"maps"
	"slices"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"

	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/cmd/fairlead/operator/phases"
	"github.com/fairlead-dev/fairlead/controllers/chaospod"
	"github.com/fairlead-dev/fairlead/controllers/externalservice"
	"github.com/fairlead-dev/fairlead/controllers/rebootpolicy"
	"github.com/fairlead-dev/fairlead/internal/tolerantcache"
)

// incumbent is what the controllers of one term are made from.
type incumbent struct {
	*assembly
	cluster cluster.Cluster
	metrics prometheus.Registerer
}

// limited is the configuration of the reconcilers' clients. They write only while this replica leads.
func (a *assembly) limited() *rest.Config {
	return fence(endWatches(a.api.limited(a.config.ClientConnection)), a.check)
}

// term makes the cache, the clients and the controllers. All of them ask the API server what their
// kinds are.
func (a *assembly) term(ctx context.Context) (*term, error) {
	held := externalservice.Cache()
	maps.Copy(held, rebootpolicy.Cache(sourcesMode(a.config)))
	registry := prometheus.NewRegistry()
	made, err := a.recording(a.limited(), held, registry)
	if err != nil {
		return nil, err
	}
	if err := rebootpolicy.Index(ctx, made.GetFieldIndexer()); err != nil {
		return nil, err
	}
	i := &incumbent{assembly: a, cluster: made, metrics: registry}
	reconcilers, err := i.reconcilers(ctx)
	if err != nil {
		return nil, err
	}
	a.metrics.show(registry)
	return &term{cache: made.Start, sync: i.sync, reconcilers: reconcilers, end: i.end}, nil
}

// end drops all references to the term.
func (i *incumbent) end() {
	i.assembly.metrics.show(nil)
	i.outside.again.Store(nil)
	i.overlaps.reader.Store(nil)
	i.overlaps.pods.informers.Store(nil)
	i.overlaps.budgets.informers.Store(nil)
	i.undecodable.Clear()
	forgetDepth(i.Metrics, externalservice.Name, rebootpolicy.Name, chaospod.Name)
}

// reconcilers makes the controllers.
func (i *incumbent) reconcilers(ctx context.Context) ([]reconciler, error) {
	c, es := i.config.Controllers, i.config.ExternalServices
	cluster, err := i.calendar()
	if err != nil {
		return nil, err
	}
	shared := newDisruptions(i.cluster.GetCache(), cluster, i.config.RebootPolicies.MaxRestarts)
	built, err := externalservice.New(ctx, i.cluster, externalservice.Options{
		Concurrency:             c.Concurrency["ExternalService"],
		CacheSyncTimeout:        c.CacheSyncTimeout.Duration,
		Warmup:                  true, // when to warm is decided by the lifecycle
		Logger:                  i.Logger,
		Policy:                  i.outside.policy,
		Lookup:                  i.outside.resolver.Lookup,
		Ping:                    i.outside.resolver.Reachable,
		Dial:                    i.outside.dialer.Dial,
		Reference:               i.reference,
		OnSuspect:               shared.suspicions.OnSuspect("ExternalService", i.suspects("ExternalService")),
		DrainPeriod:             es.DrainPeriod.Duration,
		Freeze:                  cluster,
		WebhookExemptNamespaces: unasked(i.place),
		ResolveWorkers:          es.ResolveWorkers,
		ProbeWorkers:            es.ProbeWorkers,
		Registerer:              i.metrics,
		Wrap:                    tolerantcache.Spare("ExternalService", i.witness.of("ExternalService")),
	})
	if err != nil {
		return nil, err
	}
	again := built.EnqueueAll
	i.outside.again.Store(&again)
	phase := phases.Caches
	if !c.Warmup {
		phase = phases.Reconcilers
	}
	kinds := append(slices.Collect(maps.Keys(externalservice.Cache())), client.Object(&networkingv1.ExternalService{}))
	warm := func(ctx context.Context) error {
		// The controller waits for the same, but its error names a kind at random and no remedy.
		if err := i.synced(ctx, phase, kinds); err != nil {
			return err
		}
		return built.Warmup(ctx)
	}
	restarts := i.restarts(shared)
	runs, err := i.runs(shared)
	if err != nil {
		return nil, err
	}
	all := []reconciler{
		{name: "calendar", warm: func(context.Context) error { return nil }, start: cluster.Run},
		{name: externalservice.Name, warm: warm, start: built.Start},
		{name: rebootpolicy.Name, warm: func(ctx context.Context) error { return restarts.warm(ctx, phase) }, start: restarts.start},
		{name: chaospod.Name, start: runs.Start, warm: func(ctx context.Context) error {
			if err := i.synced(ctx, phase, chaospod.Kinds()); err != nil {
				return err
			}
			return runs.Warmup(ctx)
		}},
	}
	if i.config.StorageMigration.Enabled {
		migrates, err := i.migrator()
		if err != nil {
			return nil, err
		}
		all = append(all, migrates)
	}
	return all, nil
}

// sync waits for what admission reads from the cache, where there is admission.
func (i *incumbent) sync(ctx context.Context) error {
	if !i.config.Webhook.Enabled {
		return nil
	}
	if err := i.synced(ctx, phases.Caches, admissionReads()); err != nil {
		return err
	}
	i.overlaps.open(i.cluster.GetCache())
	i.overlaps.pods.open(i.cluster.GetCache())
	i.overlaps.budgets.open(i.cluster.GetCache())
	return nil
}

func (i *incumbent) synced(ctx context.Context, phase phases.Phase, kinds []client.Object) error {
	return synced(ctx, i.cluster.GetCache(), i.scheme, kinds, i.config.Controllers.CacheSyncTimeout.Duration,
		func(kind string) { i.recorder.Progress(phase, "waiting for %s", kind) })
}

// runs makes the controller of ChaosPods.
func (i *incumbent) runs(shared *disruptions) (*chaospod.Controller, error) {
	c := i.config.Controllers
	made, err := chaospod.New(i.cluster, chaospod.Options{
		Concurrency:      c.Concurrency["ChaosPod"],
		CacheSyncTimeout: c.CacheSyncTimeout.Duration,
		Warmup:           true, // when to warm is decided by the lifecycle
		Logger:           i.Logger,
		Denied:           unasked(i.place),
		Ledger:           shared.ledger,
		Restore:          shared.restore,
		Freeze:           shared.freeze,
		Suspicions:       &shared.suspicions,
		Registerer:       i.metrics,
		Wrap:             tolerantcache.Spare("ChaosPod", i.witness.of("ChaosPod")),
	})
	if err != nil {
		return nil, err
	}
	shared.wakes(made.Wake)
	return made, nil
}
