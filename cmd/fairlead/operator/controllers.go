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
	"k8s.io/client-go/dynamic"
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

// leaderControllers builds the controllers of one term.
type leaderControllers struct {
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
func (i *leaderControllers) objectsConfig() *rest.Config {
	if i.shard == nil {
		return i.controllersConfig()
	}
	return fenceWrites(i.controllersConfig(), i.shard.CheckWrite)
}

// term creates the cache, the clients and the controllers. All of them discover their kinds at the API
// server.
func (a *assembly) term(ctx context.Context) (*term, error) {
	held := externalservice.Cache()
	maps.Copy(held, rebootpolicy.Cache(sourcesMode(a.config)))
	registry := prometheus.NewRegistry()
	i := &leaderControllers{assembly: a, metrics: registry}
	if err := i.newShard(); err != nil {
		return nil, err
	}
	open, closed, err := a.openNamespaces(ctx)
	if err != nil {
		return nil, err
	}
	made, err := a.newClusterWithEvents(ctx, i.objectsConfig(), open, held, registry, i.shard)
	if err != nil {
		return nil, err
	}
	i.cluster = made
	if err := rebootpolicy.Index(ctx, made.GetFieldIndexer()); err != nil {
		return nil, err
	}
	reconcilers, err := i.reconcilers(ctx)
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
	a.metrics.set(registry)
	t := &term{caches: []component{{"caches", made.Start}}, sync: i.syncAdmission, reconcilers: reconcilers, end: i.end}
	if i.shard != nil {
		t.caches = append(t.caches, component{"shard", i.shard.Run})
		t.reconcilers = append(t.reconcilers, reconciler{name: "claims of the shard", warm: idle, start: i.shard.Lead})
	}
	return t, nil
}

// newShard makes the shard, where the configuration has one.
func (i *leaderControllers) newShard() error {
	c := i.config.Shard
	if c.Name == "" {
		return nil
	}
	selector, err := labels.Parse(c.NamespaceSelector)
	if err != nil {
		return fmt.Errorf("shard.namespaceSelector: %w", err)
	}
	client, err := kubernetes.NewForConfig(binary(i.controllersConfig()))
	if err != nil {
		return fmt.Errorf("%s: %w", i.api.origin, err)
	}
	i.shard, err = shard.New(shard.Options{
		Name: c.Name, Selector: selector, Client: client, Namespace: i.identity.namespace,
		RecordEvent: i.recordEvent, Logger: i.Logger.WithName("shard"), Registerer: i.metrics,
	})
	if err != nil {
		return err
	}
	i.recorder.SetInfo("shard", i.shard.Status)
	return nil
}

// wrap returns what to put around the reconciler of a kind; nil for nothing.
func (i *leaderControllers) wrap(kind string) func(reconcile.Reconciler) reconcile.Reconciler {
	logged := i.leadershipLog.wrap(kind)
	if i.shard == nil {
		return logged
	}
	return func(inner reconcile.Reconciler) reconcile.Reconciler {
		if logged != nil {
			inner = logged(inner)
		}
		return i.shard.Wrap(inner)
	}
}

// end drops all references to the term.
func (i *leaderControllers) end() {
	i.assembly.metrics.set(nil)
	i.egress.policyChanged.Store(nil)
	i.egress.addressesChanged.Store(nil)
	i.warnings.DropCaches()
	i.undecodable.Clear()
	deleteQueueDepth(i.Metrics, externalservice.Name, rebootpolicy.Name, chaospod.Name)
}

// reconcilers returns the controllers.
func (i *leaderControllers) reconcilers(ctx context.Context) ([]reconciler, error) {
	c, es := i.config.Controllers, i.config.ExternalServices
	cluster, err := i.newFreeze()
	if err != nil {
		return nil, err
	}
	shared := newDisruptions(i.cluster, cluster, i.config.RebootPolicies, i.Logger.WithName("disruptions"))
	if err := i.metrics.Register(shared.ledger); err != nil {
		return nil, fmt.Errorf("metrics of disruptions: %w", err)
	}
	if i.shard != nil {
		i.shard.OnArrive = shared.restoreNamespace
	}
	built, err := externalservice.New(ctx, i.cluster, externalservice.Options{
		Concurrency:             c.Concurrency["ExternalService"],
		CacheSyncTimeout:        c.CacheSyncTimeout.Duration,
		Warmup:                  true, // when to warm is decided by the lifecycle
		Logger:                  i.Logger,
		Policy:                  i.egress.policy,
		Lookup:                  i.egress.resolver.Lookup,
		Ping:                    i.egress.resolver.Reachable,
		Dial:                    i.egress.dialer.Dial,
		Reference:               i.reference,
		OnSuspect:               shared.suspicions.OnSuspect("ExternalService", i.suspects("ExternalService")),
		DrainPeriod:             es.DrainPeriod.Duration,
		Freeze:                  cluster,
		WebhookExemptNamespaces: webhookExemptNamespaces(i.identity),
		ResolveWorkers:          es.ResolveWorkers,
		ProbeWorkers:            es.ProbeWorkers,
		Registerer:              i.metrics,
		Wrap:                    tolerantcache.IgnoreUndecodable("ExternalService", i.wrap("ExternalService")),
	})
	if err != nil {
		return nil, err
	}
	again, moved := built.EnqueueAll, built.EnqueueAddresses
	i.egress.policyChanged.Store(&again)
	i.egress.addressesChanged.Store(&moved)
	phase := phases.Caches
	if !c.Warmup {
		phase = phases.Reconcilers
	}
	kinds := append(slices.Collect(maps.Keys(externalservice.Cache())), client.Object(&networkingv1.ExternalService{}))
	warm := func(ctx context.Context) error {
		// The controller waits for the same, but its error names a kind at random and no remedy.
		if err := i.waitForInformers(ctx, phase, &networkingv1.ExternalService{}, kinds); err != nil {
			return err
		}
		return built.Warmup(ctx)
	}
	restarts := i.rebootPolicies(shared)
	runs, err := i.chaosPods(shared)
	if err != nil {
		return nil, err
	}
	all := []reconciler{
		{name: "calendar", warm: func(context.Context) error { return nil }, start: cluster.Run},
		{name: externalservice.Name, warm: warm, start: built.Start},
		{name: rebootpolicy.Name, warm: func(ctx context.Context) error { return restarts.warm(ctx, phase) }, start: restarts.start},
		{name: chaospod.Name, start: runs.Start, warm: func(ctx context.Context) error {
			if err := i.waitForInformers(ctx, phase, &chaosv1.ChaosPod{}, chaospod.Kinds()); err != nil {
				return err
			}
			return runs.Warmup(ctx)
		}},
	}
	if i.config.StorageMigration.Enabled && i.config.ClusterAccess {
		migrates, err := i.storageMigration()
		if err != nil {
			return nil, err
		}
		all = append(all, migrates)
	}
	return all, nil
}

// syncAdmission waits for what admission reads from the cache, where there is admission.
func (i *leaderControllers) syncAdmission(ctx context.Context) error {
	if !i.config.Webhook.Enabled {
		return nil
	}
	if err := i.waitForInformers(ctx, phases.Caches, nil, admissionKinds()); err != nil {
		return err
	}
	i.warnings.SetCaches(i.cluster.GetCache(), i.cluster.GetCache())
	return nil
}

// waitForInformers waits for the informers of the kinds that the controller of a kind reads; nil for admission. One of our
// kinds that it only refers to is not waited for where its CRD is not installed.
func (i *leaderControllers) waitForInformers(ctx context.Context, phase phases.Phase, of client.Object, kinds []client.Object) error {
	kinds = slices.DeleteFunc(slices.Clone(kinds), func(kind client.Object) bool {
		gvk, err := apiutil.GVKForObject(kind, i.scheme)
		return err == nil && slices.Contains(ownKinds(), gvk) && reflect.TypeOf(kind) != reflect.TypeOf(of) &&
			errors.Is(checkServed(i.cluster, kind), errNotServed)
	})
	return waitForInformers(ctx, i.cluster.GetCache(), i.scheme, kinds, i.config.Controllers.CacheSyncTimeout.Duration,
		func(kind string) { i.recorder.Progress(phase, "waiting for %s", kind) })
}

// chaosPods returns the controller of ChaosPods.
func (i *leaderControllers) chaosPods(shared *disruptions) (*chaospod.Controller, error) {
	c := i.config.Controllers
	made, err := chaospod.New(i.cluster, chaospod.Options{
		Concurrency:      c.Concurrency["ChaosPod"],
		CacheSyncTimeout: c.CacheSyncTimeout.Duration,
		Warmup:           true, // when to warm is decided by the lifecycle
		Logger:           i.Logger,
		Now:              i.offset.Now,
		Denied:           webhookExemptNamespaces(i.identity),
		WithoutNodes:     !i.config.ClusterAccess,
		Ledger:           shared.ledger,
		Restore:          shared.restore,
		Freeze:           shared.freeze,
		Suspicions:       &shared.suspicions,
		Registerer:       i.metrics,
		Wrap:             tolerantcache.IgnoreUndecodable("ChaosPod", i.wrap("ChaosPod")),
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
func (i *leaderControllers) storageMigration() (reconciler, error) {
	api := i.controllersConfig()
	crds, err := apiextensionsclient.NewForConfig(api)
	if err != nil {
		return reconciler{}, fmt.Errorf("%s: %w", i.api.origin, err)
	}
	objects, err := metadata.NewForConfig(api)
	if err != nil {
		return reconciler{}, fmt.Errorf("%s: %w", i.api.origin, err)
	}
	migrations, err := dynamic.NewForConfig(api)
	if err != nil {
		return reconciler{}, fmt.Errorf("%s: %w", i.api.origin, err)
	}
	made, err := storagemigration.New(storagemigration.Options{
		Definitions: crds.CustomResourceDefinitions(), Objects: objects, Migrations: migrations, Names: crdNames(),
		Rate: i.config.StorageMigration.Rate, Settle: i.config.StorageMigration.Settle.Duration, Healthy: i.healthy,
		Events: i.cluster.GetEventRecorder(storagemigration.Name),
		Logger: i.Logger.WithName("storage-migration"), Registerer: i.metrics,
	})
	if err != nil {
		return reconciler{}, err
	}
	i.recorder.SetInfo("storage migration", made.Status)
	return reconciler{name: storagemigration.Name, warm: func(context.Context) error { return nil }, start: made.Run}, nil
}
