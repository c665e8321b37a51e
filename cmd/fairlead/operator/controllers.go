// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/cluster"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	chaosv1 "github.com/fairlead-dev/fairlead/api/chaos/v1"
	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/cmd/fairlead/operator/lifecycle"
	"github.com/fairlead-dev/fairlead/cmd/fairlead/operator/phases"
	"github.com/fairlead-dev/fairlead/controllers/chaospod"
	"github.com/fairlead-dev/fairlead/controllers/clusterrebootpolicy"
	"github.com/fairlead-dev/fairlead/controllers/externalservice"
	"github.com/fairlead-dev/fairlead/controllers/rebootpolicy"
	"github.com/fairlead-dev/fairlead/internal/partialcache"
	"github.com/fairlead-dev/fairlead/internal/tolerantcache"
	"github.com/fairlead-dev/fairlead/internal/workloadkinds"
)

// controllerBuilder builds the controllers.
type controllerBuilder struct {
	assembly      *assembly
	cluster       cluster.Cluster
	registry      prometheus.Registerer // of the metrics of the controllers
	disruptions   *disruptions
	workloadKinds *workloadkinds.Watches
}

// controllersConfig returns the configuration of the controllers' clients, which write only while this
// replica leads.
func (a *assembly) controllersConfig() *rest.Config {
	return fenceWrites(a.api.forControllers(a.config.ClientConnection), leaderCheck(a.check))
}

// createControllers creates the cache, the clients and the controllers. All of them discover their kinds at the API
// server, so that it may fail and be called again: their metrics have a registry of their own.
func (a *assembly) createControllers(ctx context.Context) (*lifecycle.Controllers, error) {
	a.egress.waitForRanges(ctx)
	registry := prometheus.NewRegistry()
	b := &controllerBuilder{assembly: a, registry: registry}
	open, closed, err := a.openNamespaces(ctx)
	if err != nil {
		return nil, err
	}
	made, err := b.newCluster(ctx, open)
	if err != nil {
		return nil, err
	}
	b.cluster = made
	b.reportLeftOut()
	if a.kinds.disrupt() {
		if err := rebootpolicy.Index(ctx, made.GetFieldIndexer()); err != nil {
			return nil, err
		}
	}
	all := &lifecycle.Controllers{Caches: []lifecycle.Component{{Name: "caches", Run: made.Start}}, Sync: b.syncAdmission}
	if all.Reconcilers, err = b.reconcilers(ctx); err != nil {
		return nil, err
	}
	if a.claim != nil {
		all.Reconcilers = append(all.Reconcilers, lifecycle.Reconciler{Name: "claim", Warm: idle, Start: a.claim.hold})
	}
	if len(closed) > 0 {
		all.Reconcilers = append(all.Reconcilers, lifecycle.Reconciler{
			Name: "rights", Warm: idle, Start: func(ctx context.Context) error { return a.awaitRights(ctx, closed) },
		})
	}
	if err := a.metrics.Register(registry); err != nil {
		return nil, fmt.Errorf("metrics of the controllers: %w", err)
	}
	return all, nil
}

// reportLeftOut reports which kinds are left out although their CRDs are installed: another installation reconciles them, or
// they were taken out too early.
func (b *controllerBuilder) reportLeftOut() {
	var served []string
	for _, one := range b.assembly.leftOut {
		if checkServed(b.cluster, one.object) == nil {
			served = append(served, one.Kind)
		}
	}
	if len(served) == 0 {
		return
	}
	text := strings.Join(served, ", ") + " left out, and served by the API server: nothing here reconciles these objects or takes off their finalizers"
	b.assembly.recorder.SetInfo("kinds", func() string { return b.assembly.config.KindsText() + "; " + text })
	b.assembly.logger.Info("Kinds are left out, and their CRDs are installed: nothing here reconciles these objects or takes off their finalizers",
		"kinds", served)
}

// idle is the warmup of what has no sources.
func idle(context.Context) error { return nil }

// reconcilers returns what runs while this replica leads: the calendar and a controller for each kind.
func (b *controllerBuilder) reconcilers(ctx context.Context) ([]lifecycle.Reconciler, error) {
	a := b.assembly
	calendar, err := b.newFreeze()
	if err != nil {
		return nil, err
	}
	b.disruptions = newDisruptions(b.cluster, calendar, a.kinds, a.config.RebootPolicies, a.logger.WithName("disruptions"))
	if a.kinds.disrupt() {
		if err := b.registry.Register(b.disruptions.ledger); err != nil {
			return nil, fmt.Errorf("metrics of disruptions: %w", err)
		}
	}
	b.workloadKinds = workloadkinds.New(workloadkinds.Options{
		Cache: b.cluster.GetCache(), Live: b.cluster.GetAPIReader(), Serves: workloadkinds.Serves(a.client.Discovery().RESTClient()),
		Logger: a.logger.WithName("workloadkinds"),
	}, a.config.RebootPolicies.Kinds()...)
	all := []lifecycle.Reconciler{
		{Name: "calendar", Warm: idle, Start: calendar.Run}, {Name: "workloadkinds", Warm: idle, Start: b.workloadKinds.Run},
	}
	for _, kind := range a.kinds {
		made, err := kind.controller(b, ctx)
		if err != nil {
			return nil, err
		}
		all = append(all, made)
	}
	return all, nil
}

// externalServices returns the controller of ExternalServices.
func (b *controllerBuilder) externalServices(ctx context.Context) (lifecycle.Reconciler, error) {
	a := b.assembly
	c, es := a.config.Controllers, a.config.ExternalServices
	made, err := externalservice.New(ctx, b.cluster, externalservice.Options{
		Concurrency:             c.Concurrency["ExternalService"],
		CacheSyncTimeout:        c.CacheSyncTimeout.Duration,
		Warmup:                  true, // when to warm is decided by the lifecycle
		Logger:                  a.logger,
		Policy:                  a.egress.policy,
		Lookup:                  a.egress.resolver.Lookup,
		Ping:                    a.egress.resolver.Reachable,
		Dial:                    a.egress.dialer.Dial,
		Reference:               a.reference,
		OnSuspect:               b.disruptions.suspicions.OnSuspect("ExternalService", a.suspects("ExternalService")),
		DrainPeriod:             es.DrainPeriod.Duration,
		Freeze:                  b.disruptions.freeze,
		WebhookExemptNamespaces: webhookExemptNamespaces(a.identity),
		ResolveWorkers:          es.ResolveWorkers,
		ProbeWorkers:            es.ProbeWorkers,
		Registerer:              b.registry,
		Wrap:                    tolerantcache.IgnoreUndecodable("ExternalService", a.leadershipLog.Wrap("ExternalService")),
	})
	if err != nil {
		return lifecycle.Reconciler{}, err
	}
	a.egress.notify(made.EnqueueAll, made.EnqueueAddresses)
	read := append(slices.Collect(maps.Keys(externalservice.Cache())), client.Object(&networkingv1.ExternalService{}))
	return b.warmed(externalservice.Name, made, &networkingv1.ExternalService{}, read), nil
}

// warmed returns the reconciler of a controller, which is warmed once the informers of the kinds that it reads have synced. The
// controller waits for the same, but its error names a kind at random and no remedy.
func (b *controllerBuilder) warmed(name string, controller interface {
	Warmup(ctx context.Context) error
	Start(ctx context.Context) error
}, of client.Object, read []client.Object) lifecycle.Reconciler {
	return lifecycle.Reconciler{Name: name, Start: controller.Start, Warm: func(ctx context.Context) error {
		if err := b.waitForInformers(ctx, b.warmPhase(), of, read); err != nil {
			return err
		}
		return controller.Warmup(ctx)
	}}
}

// warmPhase returns the phase in which the reconcilers are warmed.
func (b *controllerBuilder) warmPhase() phases.Phase {
	if b.assembly.config.Controllers.Warmup {
		return phases.Caches
	}
	return phases.Reconcilers
}

// syncAdmission waits for what admission reads from the cache, where there is admission.
func (b *controllerBuilder) syncAdmission(ctx context.Context) error {
	if !b.assembly.config.Webhook.Enabled {
		return nil
	}
	if err := b.waitForInformers(ctx, phases.Caches, nil, b.assembly.kinds.warn()); err != nil {
		return err
	}
	b.assembly.warnings.SetCaches(b.cluster.GetCache(), b.cluster.GetCache())
	return nil
}

// waitForInformers waits for the informers of the kinds that the controller of a kind reads; nil for admission. One of our
// kinds that it only refers to is not waited for where it is left out or its CRD is not installed.
func (b *controllerBuilder) waitForInformers(ctx context.Context, phase phases.Phase, of client.Object, kinds []client.Object) error {
	kinds = slices.DeleteFunc(slices.Clone(kinds), func(kind client.Object) bool {
		if partialcache.LeavesOut(b.cluster.GetCache(), kind) {
			return true
		}
		gvk, err := apiutil.GVKForObject(kind, b.assembly.scheme)
		isReferred := err == nil && slices.Contains(b.assembly.kinds.gvks(), gvk) && reflect.TypeOf(kind) != reflect.TypeOf(of)
		return isReferred && errors.Is(checkServed(b.cluster, kind), errNotServed)
	})
	return b.assembly.waitForInformers(ctx, b.cluster.GetCache(), phase, kinds)
}

// chaosPods returns the controller of ChaosPods.
func (b *controllerBuilder) chaosPods(context.Context) (lifecycle.Reconciler, error) {
	a := b.assembly
	made, err := chaospod.New(b.cluster, chaospod.Options{
		Concurrency:      a.config.Controllers.Concurrency["ChaosPod"],
		CacheSyncTimeout: a.config.Controllers.CacheSyncTimeout.Duration,
		Warmup:           true, // when to warm is decided by the lifecycle
		Logger:           a.logger,
		Now:              a.offset.Now,
		Denied:           webhookExemptNamespaces(a.identity),
		WithoutCanaries:  !a.config.HasCanaries(),
		WithoutNodes:     !a.config.ClusterAccess,
		Ledger:           b.disruptions.ledger,
		Restore:          b.disruptions.restore,
		Freeze:           b.disruptions.freeze,
		Suspicions:       &b.disruptions.suspicions,
		Dial:             a.egress.dialer.Dial,
		Lookup:           a.egress.resolver.Lookup,
		Reference:        a.reference,
		OnSuspect:        b.disruptions.suspicions.OnSuspect("ChaosPod", a.suspects("ChaosPod")),
		Registerer:       b.registry,
		Wrap:             tolerantcache.IgnoreUndecodable("ChaosPod", a.leadershipLog.Wrap("ChaosPod")),
	})
	if err != nil {
		return lifecycle.Reconciler{}, err
	}
	b.disruptions.addWake(made.Wake)
	return b.warmed(chaospod.Name, made, &chaosv1.ChaosPod{}, chaospod.Kinds()), nil
}

// clusterRebootPolicies returns the controller of ClusterRebootPolicies. An operator without access to the cluster has none: it
// does not see all namespaces, and its admission refuses such objects.
func (b *controllerBuilder) clusterRebootPolicies(context.Context) (lifecycle.Reconciler, error) {
	a := b.assembly
	if !a.config.ClusterAccess {
		return lifecycle.Reconciler{Name: clusterrebootpolicy.Name, Warm: idle, Start: func(ctx context.Context) error {
			<-ctx.Done()
			return nil
		}}, nil
	}
	made, err := clusterrebootpolicy.New(b.cluster, clusterrebootpolicy.Options{
		CacheSyncTimeout: a.config.Controllers.CacheSyncTimeout.Duration, Logger: a.logger, Now: a.offset.Now,
		WebhookExemptNamespaces: webhookExemptNamespaces(a.identity), Kinds: b.workloadKinds,
		Wrap: tolerantcache.IgnoreUndecodable("ClusterRebootPolicy", a.leadershipLog.Wrap("ClusterRebootPolicy")),
	})
	if err != nil {
		return lifecycle.Reconciler{}, err
	}
	return b.warmed(clusterrebootpolicy.Name, made, &autorebootv1.ClusterRebootPolicy{}, clusterrebootpolicy.Kinds()), nil
}
