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

	"github.com/prometheus/client_golang/prometheus"
	apiextensionsclient "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset/typed/apiextensions/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	chaosv1 "github.com/fairlead-dev/fairlead/api/chaos/v1"
	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/cmd/fairlead/operator/phases"
	"github.com/fairlead-dev/fairlead/cmd/fairlead/operator/shard"
	"github.com/fairlead-dev/fairlead/controllers/chaospod"
	"github.com/fairlead-dev/fairlead/controllers/externalservice"
	"github.com/fairlead-dev/fairlead/controllers/rebootpolicy"
	"github.com/fairlead-dev/fairlead/controllers/storagemigration"
	"github.com/fairlead-dev/fairlead/internal/tolerantcache"
)

// controllerBuilder builds the controllers.
type controllerBuilder struct {
	*assembly
	cluster cluster.Cluster
	metrics prometheus.Registerer
	shard   *shard.Shard // nil: all namespaces
}

// controllersConfig returns the configuration of the controllers' clients, which write only while this
// replica leads.
func (a *assembly) controllersConfig() *rest.Config {
	return fenceWrites(a.api.forControllers(a.config.ClientConnection), leaderCheck(a.check))
}

// objectsConfig is controllersConfig for what reconciles objects: of a shard, it writes to its namespaces alone.
func (b *controllerBuilder) objectsConfig() *rest.Config {
	if b.shard == nil {
		return b.controllersConfig()
	}
	return fenceWrites(b.controllersConfig(), b.shard.CheckWrite)
}

// controllers creates the cache, the clients and the controllers. All of them discover their kinds at the API
// server, so that it may fail and be called again: their metrics have a registry of their own.
func (a *assembly) controllers(ctx context.Context) (*controllers, error) {
	held := externalservice.Cache()
	maps.Copy(held, rebootpolicy.Cache(sourcesMode(a.config)))
	registry := prometheus.NewRegistry()
	b := &controllerBuilder{assembly: a, metrics: registry}
	if err := b.newShard(); err != nil {
		return nil, err
	}
	open, closed, err := a.openNamespaces(ctx)
	if err != nil {
		return nil, err
	}
	made, err := a.newClusterWithEvents(ctx, b.objectsConfig(), open, held, registry, b.shard)
	if err != nil {
		return nil, err
	}
	b.cluster = made
	if err := rebootpolicy.Index(ctx, made.GetFieldIndexer()); err != nil {
		return nil, err
	}
	reconcilers, err := b.reconcilers(ctx)
	if err != nil {
		return nil, err
	}
	idle := func(context.Context) error { return nil }
	if a.claim != nil {
		reconcilers = append(reconcilers, reconciler{name: "claim", warm: idle, start: a.claim.hold})
	}
	if len(closed) > 0 {
		reconcilers = append(reconcilers, reconciler{
			name: "rights", warm: idle, start: func(ctx context.Context) error { return a.awaitRights(ctx, closed) },
		})
	}
	all := &controllers{caches: []component{{"caches", made.Start}}, sync: b.syncAdmission, reconcilers: reconcilers}
	if b.shard != nil {
		all.caches = append(all.caches, component{"shard", b.shard.Run})
		all.reconcilers = append(all.reconcilers, reconciler{name: "claims of the shard", warm: idle, start: b.shard.Lead})
	}
	if err := a.Metrics.Register(registry); err != nil {
		return nil, fmt.Errorf("metrics of the controllers: %w", err)
	}
	return all, nil
}

// newShard makes the shard, where the configuration has one.
func (b *controllerBuilder) newShard() error {
	c := b.config.Shard
	if c.Name == "" {
		return nil
	}
	selector, err := labels.Parse(c.NamespaceSelector)
	if err != nil {
		return fmt.Errorf("shard.namespaceSelector: %w", err)
	}
	client, err := kubernetes.NewForConfig(binary(b.controllersConfig()))
	if err != nil {
		return fmt.Errorf("%s: %w", b.api.origin, err)
	}
	b.shard, err = shard.New(shard.Options{
		Name: c.Name, Selector: selector, Client: client, Namespace: b.identity.namespace,
		RecordEvent: b.recordEvent, Logger: b.Logger.WithName("shard"), Registerer: b.metrics,
	})
	if err != nil {
		return err
	}
	b.recorder.SetInfo("shard", b.shard.Status)
	return nil
}

// wrap returns what to put around the reconciler of a kind; nil for nothing.
func (b *controllerBuilder) wrap(kind string) func(reconcile.Reconciler) reconcile.Reconciler {
	logged := b.leadershipLog.wrap(kind)
	if b.shard == nil {
		return logged
	}
	return func(inner reconcile.Reconciler) reconcile.Reconciler {
		if logged != nil {
			inner = logged(inner)
		}
		return b.shard.Wrap(inner)
	}
}

// reconcilers returns the controllers.
func (b *controllerBuilder) reconcilers(ctx context.Context) ([]reconciler, error) {
	c, es := b.config.Controllers, b.config.ExternalServices
	cluster, err := b.newFreeze()
	if err != nil {
		return nil, err
	}
	shared := newDisruptions(b.cluster, cluster, b.config.RebootPolicies, b.Logger.WithName("disruptions"))
	if err := b.metrics.Register(shared.ledger); err != nil {
		return nil, fmt.Errorf("metrics of disruptions: %w", err)
	}
	if b.shard != nil {
		b.shard.OnArrive = shared.restoreNamespace
	}
	built, err := externalservice.New(ctx, b.cluster, externalservice.Options{
		Concurrency:             c.Concurrency["ExternalService"],
		CacheSyncTimeout:        c.CacheSyncTimeout.Duration,
		Warmup:                  true, // when to warm is decided by the lifecycle
		Logger:                  b.Logger,
		Policy:                  b.egress.policy,
		Lookup:                  b.egress.resolver.Lookup,
		Ping:                    b.egress.resolver.Reachable,
		Dial:                    b.egress.dialer.Dial,
		Reference:               b.reference,
		OnSuspect:               shared.suspicions.OnSuspect("ExternalService", b.suspects("ExternalService")),
		DrainPeriod:             es.DrainPeriod.Duration,
		Freeze:                  cluster,
		WebhookExemptNamespaces: webhookExemptNamespaces(b.identity),
		ResolveWorkers:          es.ResolveWorkers,
		ProbeWorkers:            es.ProbeWorkers,
		Registerer:              b.metrics,
		Wrap:                    tolerantcache.IgnoreUndecodable("ExternalService", b.wrap("ExternalService")),
	})
	if err != nil {
		return nil, err
	}
	again, moved := built.EnqueueAll, built.EnqueueAddresses
	b.egress.policyChanged.Store(&again)
	b.egress.addressesChanged.Store(&moved)
	phase := phases.Caches
	if !c.Warmup {
		phase = phases.Reconcilers
	}
	kinds := append(slices.Collect(maps.Keys(externalservice.Cache())), client.Object(&networkingv1.ExternalService{}))
	warm := func(ctx context.Context) error {
		// The controller waits for the same, but its error names a kind at random and no remedy.
		if err := b.waitForInformers(ctx, phase, &networkingv1.ExternalService{}, kinds); err != nil {
			return err
		}
		return built.Warmup(ctx)
	}
	restarts := b.rebootPolicies(shared)
	runs, err := b.chaosPods(shared)
	if err != nil {
		return nil, err
	}
	all := []reconciler{
		{name: "calendar", warm: func(context.Context) error { return nil }, start: cluster.Run},
		{name: externalservice.Name, warm: warm, start: built.Start},
		{name: rebootpolicy.Name, warm: func(ctx context.Context) error { return restarts.warm(ctx, phase) }, start: restarts.start},
		{name: chaospod.Name, start: runs.Start, warm: func(ctx context.Context) error {
			if err := b.waitForInformers(ctx, phase, &chaosv1.ChaosPod{}, chaospod.Kinds()); err != nil {
				return err
			}
			return runs.Warmup(ctx)
		}},
	}
	if b.config.StorageMigration.Enabled && b.config.ClusterAccess {
		migrates, err := b.storageMigration()
		if err != nil {
			return nil, err
		}
		all = append(all, migrates)
	}
	return all, nil
}

// syncAdmission waits for what admission reads from the cache, where there is admission.
func (b *controllerBuilder) syncAdmission(ctx context.Context) error {
	if !b.config.Webhook.Enabled {
		return nil
	}
	if err := b.waitForInformers(ctx, phases.Caches, nil, admissionKinds()); err != nil {
		return err
	}
	b.warnings.SetCaches(b.cluster.GetCache(), b.cluster.GetCache())
	return nil
}

// waitForInformers waits for the informers of the kinds that the controller of a kind reads; nil for admission. One of our
// kinds that it only refers to is not waited for where its CRD is not installed.
func (b *controllerBuilder) waitForInformers(ctx context.Context, phase phases.Phase, of client.Object, kinds []client.Object) error {
	kinds = slices.DeleteFunc(slices.Clone(kinds), func(kind client.Object) bool {
		gvk, err := apiutil.GVKForObject(kind, b.scheme)
		return err == nil && slices.Contains(ownKinds(), gvk) && reflect.TypeOf(kind) != reflect.TypeOf(of) &&
			errors.Is(checkServed(b.cluster, kind), errNotServed)
	})
	return waitForInformers(ctx, b.cluster.GetCache(), b.scheme, kinds, b.config.Controllers.CacheSyncTimeout.Duration,
		func(kind string) { b.recorder.Progress(phase, "waiting for %s", kind) })
}

// chaosPods returns the controller of ChaosPods.
func (b *controllerBuilder) chaosPods(shared *disruptions) (*chaospod.Controller, error) {
	c := b.config.Controllers
	made, err := chaospod.New(b.cluster, chaospod.Options{
		Concurrency:      c.Concurrency["ChaosPod"],
		CacheSyncTimeout: c.CacheSyncTimeout.Duration,
		Warmup:           true, // when to warm is decided by the lifecycle
		Logger:           b.Logger,
		Now:              b.offset.Now,
		Denied:           webhookExemptNamespaces(b.identity),
		WithoutNodes:     !b.config.ClusterAccess,
		Ledger:           shared.ledger,
		Restore:          shared.restore,
		Freeze:           shared.freeze,
		Suspicions:       &shared.suspicions,
		Registerer:       b.metrics,
		Wrap:             tolerantcache.IgnoreUndecodable("ChaosPod", b.wrap("ChaosPod")),
	})
	if err != nil {
		return nil, err
	}
	shared.addWake(made.Wake)
	return made, nil
}

// crdNames returns the names of the operator's own CRDs.
func crdNames() []string {
	return []string{
		"chaospods.chaos.fairlead.dev", "externalservices.networking.fairlead.dev", "rebootpolicies.autoreboot.fairlead.dev",
	}
}

// storageMigration returns what rewrites objects that are stored at an old version.
func (b *controllerBuilder) storageMigration() (reconciler, error) {
	api := b.controllersConfig()
	crds, err := apiextensionsclient.NewForConfig(api)
	if err != nil {
		return reconciler{}, fmt.Errorf("%s: %w", b.api.origin, err)
	}
	objects, err := metadata.NewForConfig(api)
	if err != nil {
		return reconciler{}, fmt.Errorf("%s: %w", b.api.origin, err)
	}
	made, err := storagemigration.New(storagemigration.Options{
		Definitions: crds.CustomResourceDefinitions(), Objects: objects, Names: crdNames(),
		Rate: b.config.StorageMigration.Rate, Settle: b.config.StorageMigration.Settle.Duration, Healthy: b.healthy,
		Events: b.cluster.GetEventRecorder(storagemigration.Name),
		Logger: b.Logger.WithName("storage-migration"), Registerer: b.metrics,
	})
	if err != nil {
		return reconciler{}, err
	}
	b.recorder.SetInfo("storage migration", made.Status)
	return reconciler{name: storagemigration.Name, warm: func(context.Context) error { return nil }, start: made.Run}, nil
}
