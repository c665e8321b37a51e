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
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
	netv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/controllers/chaospod"
	"github.com/fairlead-dev/fairlead/controllers/clusterrebootpolicy"
	"github.com/fairlead-dev/fairlead/controllers/externalservice"
	"github.com/fairlead-dev/fairlead/internal/partialcache"
	"github.com/fairlead-dev/fairlead/internal/tolerantcache"
	"github.com/fairlead-dev/fairlead/internal/workloadkinds"
)

// controllerBuilder creates the Manager and the controllers.
type controllerBuilder struct {
	assembly      *assembly
	manager       *eventManager
	namespaces    []string // whose objects are cached; none means all
	disruptions   *disruptions
	workloadKinds *workloadkinds.Watches

	cached, elected func()        // mark these phases of the start as done
	filled          chan struct{} // closed after the first attempt at each cache
	claimed         chan struct{} // closed when this replica may reconcile
	led             atomic.Bool   // whether claimed was closed
}

// controller is the controller of a kind. The Manager fills its caches before the replica leads.
type controller interface {
	Warmup(ctx context.Context) error
	Start(ctx context.Context) error
}

// claimedController is a controller that reconciles once claimed is closed.
type claimedController struct {
	controller
	claimed <-chan struct{}
}

func (c *claimedController) Start(ctx context.Context) error {
	return after(c.claimed, c.controller.Start)(ctx)
}

// controllersConfig returns the configuration of the controllers' clients, which send writes only while this replica
// leads.
func (a *assembly) controllersConfig() *rest.Config {
	api := a.api.forControllers(a.config.ClientConnection)
	if a.lock == nil {
		return api
	}
	return fenceWrites(api, a.lock.Check)
}

// reportLeftOut logs the kinds that are left out although their CRDs are installed. Either another installation
// reconciles them, or they were left out too early.
func (b *controllerBuilder) reportLeftOut() {
	var served []string
	for _, one := range b.assembly.leftOut {
		if checkServed(b.manager, one.object) == nil {
			served = append(served, one.Kind)
		}
	}
	if len(served) == 0 {
		return
	}
	text := strings.Join(served, ", ") + " left out, and served by the API server: nothing here reconciles these objects or takes off their finalizers"
	b.assembly.startup.setInfo("kinds", func() string { return b.assembly.config.KindsText() + "; " + text })
	b.assembly.logger.Info("Kinds are left out, and their CRDs are installed: nothing here reconciles these objects or takes off their finalizers",
		"kinds", served)
}

// share creates what the controllers share.
func (b *controllerBuilder) share(registry prometheus.Registerer) error {
	a := b.assembly
	calendar, err := b.newFreeze(registry)
	if err != nil {
		return err
	}
	b.disruptions = newDisruptions(b.manager, calendar, a.kinds, a.config.RebootPolicies, a.logger.WithName("disruptions"))
	if a.kinds.disrupt() {
		if err := registry.Register(b.disruptions.ledger); err != nil {
			return fmt.Errorf("metrics of disruptions: %w", err)
		}
	}
	b.workloadKinds = workloadkinds.New(workloadkinds.Options{
		Cache: b.manager.GetCache(), Live: b.manager.GetAPIReader(), Serves: workloadkinds.Serves(a.client.Discovery().RESTClient()),
		Logger: a.logger.WithName("workloadkinds"),
	}, a.config.RebootPolicies.Kinds()...)
	return nil
}

// kinds returns the attempts to create the controllers of the kinds. Each waits for the informers that it reads, so
// that a missing CRD or right delays only its own kind. A controller would wait by itself, and end the process with an
// error that names neither the kind nor a remedy.
func (b *controllerBuilder) kinds(phase string) []attempt {
	var all []attempt
	for _, kind := range b.assembly.kinds {
		var made controller
		var reads []client.Object
		all = append(all, attempt{phase, strings.ToLower(kind.Kind), func(ctx context.Context) (err error) {
			if made == nil {
				registry := prometheus.NewRegistry() // of this attempt
				if made, reads, err = kind.controller(b, ctx, registry); err != nil || made == nil {
					return err
				}
				if err := b.assembly.metrics.Register(registry); err != nil {
					return fmt.Errorf("metrics of the controller: %w", err)
				}
			}
			if err := b.waitForInformers(ctx, phase, kind.object, reads); err != nil {
				return err
			}
			return b.manager.Add(&claimedController{made, b.claimed})
		}})
	}
	return all
}

// externalServices returns the controller of ExternalServices.
func (b *controllerBuilder) externalServices(ctx context.Context, registry prometheus.Registerer) (controller, []client.Object, error) {
	a := b.assembly
	c, es := a.config.Controllers, a.config.ExternalServices
	made, err := externalservice.New(ctx, b.manager, externalservice.Options{
		Concurrency:             c.Concurrency["ExternalService"],
		CacheSyncTimeout:        c.CacheSyncTimeout.Duration,
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
		Registerer:              registry,
		Wrap:                    tolerantcache.IgnoreUndecodable("ExternalService", a.leadershipLog.wrap("ExternalService")),
	})
	if err != nil {
		return nil, nil, err
	}
	a.egress.notify(made.EnqueueAll, made.EnqueueAddresses)
	read := append(slices.Collect(maps.Keys(externalservice.Cache())), client.Object(&networkingv1.ExternalService{}))
	if forbidden := b.mayList(ctx, &netv1.NetworkPolicyList{}); forbidden != nil {
		a.logger.Error(forbidden, "ExternalServices cannot have a networkPolicy: grant the operator its role, or leave that field out")
		read = slices.DeleteFunc(read, func(kind client.Object) bool {
			_, is := kind.(*netv1.NetworkPolicy)
			return is
		})
	}
	return made, read, nil
}

// mayList returns an error if the API server forbids the operator to list objects of a kind. It returns nil if that is not
// known.
func (b *controllerBuilder) mayList(ctx context.Context, kind client.ObjectList) error {
	ctx, cancel := context.WithTimeout(ctx, attemptTimeout)
	defer cancel()
	namespaces := b.namespaces
	if len(namespaces) == 0 {
		namespaces = []string{metav1.NamespaceAll}
	}
	for _, namespace := range namespaces {
		err := b.manager.GetAPIReader().List(ctx, kind, client.InNamespace(namespace), client.Limit(1))
		if apierrors.IsForbidden(err) {
			return err
		}
	}
	return nil
}

// syncAdmission waits until the cache has what admission reads, if this replica serves admission.
func (b *controllerBuilder) syncAdmission(ctx context.Context) error {
	if !b.assembly.config.Webhook.Enabled {
		return nil
	}
	if err := b.waitForInformers(ctx, phaseCaches, nil, b.assembly.kinds.warn()); err != nil {
		return err
	}
	b.assembly.warnings.SetCaches(b.manager.GetCache(), b.manager.GetCache())
	return nil
}

// waitForInformers waits for the informers that the controller of a kind reads; nil means those that admission reads. A
// kind of Fairlead that it only refers to is skipped if it is left out or its CRD is not installed.
func (b *controllerBuilder) waitForInformers(ctx context.Context, phase string, of client.Object, kinds []client.Object) error {
	kinds = slices.DeleteFunc(slices.Clone(kinds), func(kind client.Object) bool {
		if partialcache.LeavesOut(b.manager.GetCache(), kind) {
			return true
		}
		gvk, err := apiutil.GVKForObject(kind, b.assembly.scheme)
		isReferred := err == nil && slices.Contains(b.assembly.kinds.gvks(), gvk) && reflect.TypeOf(kind) != reflect.TypeOf(of)
		return isReferred && errors.Is(checkServed(b.manager, kind), errNotServed)
	})
	return b.assembly.waitForInformers(ctx, b.manager.GetCache(), phase, kinds)
}

// chaosPods returns the controller of ChaosPods.
func (b *controllerBuilder) chaosPods(_ context.Context, registry prometheus.Registerer) (controller, []client.Object, error) {
	a := b.assembly
	made, err := chaospod.New(b.manager, chaospod.Options{
		Concurrency:      a.config.Controllers.Concurrency["ChaosPod"],
		CacheSyncTimeout: a.config.Controllers.CacheSyncTimeout.Duration,
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
		Registerer:       registry,
		Wrap:             tolerantcache.IgnoreUndecodable("ChaosPod", a.leadershipLog.wrap("ChaosPod")),
	})
	if err != nil {
		return nil, nil, err
	}
	b.disruptions.addWake(made.Wake)
	return made, chaospod.Kinds(), nil
}

// clusterRebootPolicies returns the controller of ClusterRebootPolicies. An operator without access to all namespaces
// has none, and its admission refuses such objects.
func (b *controllerBuilder) clusterRebootPolicies(context.Context, prometheus.Registerer) (controller, []client.Object, error) {
	a := b.assembly
	if !a.config.ClusterAccess {
		return nil, nil, nil
	}
	made, err := clusterrebootpolicy.New(b.manager, clusterrebootpolicy.Options{
		CacheSyncTimeout: a.config.Controllers.CacheSyncTimeout.Duration, Logger: a.logger, Now: a.offset.Now,
		WebhookExemptNamespaces: webhookExemptNamespaces(a.identity), Kinds: b.workloadKinds,
		Wrap: tolerantcache.IgnoreUndecodable("ClusterRebootPolicy", a.leadershipLog.wrap("ClusterRebootPolicy")),
	})
	if err != nil {
		return nil, nil, err
	}
	return made, clusterrebootpolicy.Kinds(), nil
}
