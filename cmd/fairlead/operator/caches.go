// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/cluster"

	"github.com/fairlead-dev/fairlead/api/common"
	"github.com/fairlead-dev/fairlead/internal/events"
	"github.com/fairlead-dev/fairlead/internal/intern"
	"github.com/fairlead-dev/fairlead/internal/panics"
	"github.com/fairlead-dev/fairlead/internal/partialcache"
	"github.com/fairlead-dev/fairlead/internal/retry"
	"github.com/fairlead-dev/fairlead/internal/tolerantcache"
	"github.com/fairlead-dev/fairlead/internal/workloadkinds"
)

// clusterOptions returns the options of caches and clients. Without namespaces, they cover all. held defines what the
// caches keep of some kinds. Until ctx ends, the caches ask the API server which of the kinds are namespaced.
func (a *assembly) clusterOptions(
	ctx context.Context, api *rest.Config, namespaces []string, held map[client.Object]cache.ByObject,
) (*rest.Config, cluster.Options, error) {
	var watched map[string]cache.Config // nil: all namespaces
	if len(namespaces) > 0 {
		watched = map[string]cache.Config{}
	}
	for _, namespace := range namespaces {
		watched[namespace] = cache.Config{}
	}
	interner := intern.New()
	for kind, by := range held {
		if by.Transform != nil {
			by.Transform = interner.After(by.Transform)
			held[kind] = by
		}
	}
	api = rest.CopyConfig(api)
	api.Wrap(tolerantcache.Transport)
	discovery := newRetryingMapper(ctx, min(discoveryTimeout, a.config.Controllers.CacheSyncTimeout.Duration), a.logger.WithName("discovery"))
	partial := func(api *rest.Config, o cache.Options) (cache.Cache, error) {
		made, err := cache.New(api, o)
		return partialcache.New(made, a.scheme, a.uncached()), err
	}
	options := cluster.Options{Scheme: a.scheme, MapperProvider: discovery, NewCache: partial, Client: client.Options{
		// Workloads of the kinds that the configuration names have no Go type.
		Cache: &client.CacheOptions{Unstructured: true},
	}, Cache: cache.Options{
		Scheme:            a.scheme,
		DefaultNamespaces: watched,
		ByObject:          held,
		DefaultTransform:  interner.After(stripUnread),
		// A read of a kind without an informer would list a whole kind in the middle of a reconcile.
		ReaderFailOnMissingInformer: true,
	}}
	return api, options, a.tolerateUndecodable(api, &options)
}

// uncached returns the kinds that no informer is created for: those that are left out, and workloads if no kind
// disrupts them.
func (a *assembly) uncached() []schema.GroupVersionKind {
	all := a.leftOut.gvks()
	if !a.kinds.disrupt() {
		for _, kind := range workloadkinds.Apps {
			all = append(all, kind.GroupVersionKind)
		}
	}
	return all
}

// stripUnread removes the parts of an object that nothing reads: managedFields, and the manifest that kubectl applied
// last. They can be half of its memory. Writes are patches and updates of the status, which leave both alone.
func stripUnread(object any) (any, error) {
	accessor, err := meta.Accessor(object)
	if err != nil {
		return object, nil //nolint:nilerr // the last known state of a deleted object, which was stripped before
	}
	accessor.SetManagedFields(nil)
	annotations := accessor.GetAnnotations()
	if annotations[corev1.LastAppliedConfigAnnotation] != "" { // a map without it may be shared with other objects
		delete(annotations, corev1.LastAppliedConfigAnnotation)
	}
	if len(annotations) == 0 {
		accessor.SetAnnotations(nil)
	}
	return object, nil
}

// waitForInformers waits until the informers of kinds have listed their objects. Each wait has a limit.
func (a *assembly) waitForInformers(ctx context.Context, informers cache.Informers, phase string, kinds []client.Object) error {
	limit := a.config.Controllers.CacheSyncTimeout.Duration
	for _, kind := range kinds {
		name := fmt.Sprintf("%T", kind)
		if gvk, err := apiutil.GVKForObject(kind, a.scheme); err == nil {
			name = gvk.GroupKind().String()
		}
		filled := a.startup.wait(phase, name)
		err := waitForInformer(ctx, informers, kind, limit)
		filled()
		if err != nil {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			if isNotServed(err) {
				return fmt.Errorf("the API server does not serve %s: install its CRD: %w", name, err)
			}
			return fmt.Errorf("the cache of %s has not synced within %s: %w; may the service account list it, and do conversions answer? controllers.cacheSyncTimeout gives it more time", name, limit, err)
		}
	}
	return nil
}

// maxUnserved is how long one attempt waits for a kind that the API server does not serve yet. CRDs may be installed
// with the operator.
const maxUnserved = 5 * time.Second

// waitForInformer waits until an informer has synced. To get the informer from a cache that has not started does not
// wait.
func waitForInformer(ctx context.Context, informers cache.Informers, kind client.Object, limit time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	began := time.Now()
	var informer cache.Informer
	err := wait.PollUntilContextCancel(ctx, time.Second, true, func(ctx context.Context) (bool, error) {
		var err error
		informer, err = informers.GetInformer(ctx, kind, cache.BlockUntilSynced(false))
		if err != nil && (!isNotServed(err) || time.Since(began) > maxUnserved) {
			return false, err
		}
		return err == nil, nil
	})
	if err != nil {
		return err
	}
	select {
	case <-informer.HasSyncedChecker().Done():
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// reportUndecodable creates the reporter of undecodable objects, and returns the component that writes its Events.
func (a *assembly) reportUndecodable() (run component, err error) {
	eventRecorder, err := events.New(events.Options{
		Client: a.client.EventsV1(), Instance: a.identity.id, Clock: a.clock,
		Logger: a.logger.WithName("events"), Registerer: a.metrics,
	})
	if err != nil {
		return run, fmt.Errorf("events of broken objects: %w", err)
	}
	a.recordEvent = a.withinRights(eventRecorder.Record)
	a.undecodable = tolerantcache.NewUndecodable(tolerantcache.UndecodableOptions{
		Logger:        a.logger.WithName("undecodable"),
		OnUndecodable: func(e tolerantcache.Entry) { eventRecorder.Record(undecodableEvent(e)) },
	})
	if err := a.metrics.Register(a.undecodable); err != nil {
		return run, fmt.Errorf("metrics of undecodable objects: %w", err)
	}
	return component{"events of broken objects", eventRecorder.Run}, nil
}

func undecodableEvent(e tolerantcache.Entry) events.Event {
	return events.Event{
		Regarding: corev1.ObjectReference{
			APIVersion: e.Kind.GroupVersion().String(), Kind: e.Kind.Kind, Namespace: e.Key.Namespace, Name: e.Key.Name,
			UID: e.UID, ResourceVersion: e.ResourceVersion,
		},
		Reason: common.EventUndecodable, Action: "Decode",
		Note: fmt.Sprintf("This object, and what was made from it, stays unchanged until it is fixed: %s. `%s` lists all that is wrong.",
			e.Fault, tolerantcache.Remedy),
	}
}

// tolerateUndecodable makes the informers of a cluster decode a list item by item if it does not decode as a whole. Its
// client refuses to write an object that did not decode. The configuration must be the cluster's own copy.
func (a *assembly) tolerateUndecodable(api *rest.Config, o *cluster.Options) (err error) {
	if o.HTTPClient, err = rest.HTTPClientFor(api); err != nil {
		return err
	}
	informers, err := tolerantcache.NewInformers(tolerantcache.Options{
		Config: api, HTTPClient: o.HTTPClient, Scheme: a.scheme, Kinds: a.kinds.gvks(), Undecodable: a.undecodable,
		Transform: o.Cache.DefaultTransform, OnPage: a.showPage,
	})
	if err != nil {
		return err
	}
	o.Cache.NewInformer = informers.New
	o.NewClient = func(config *rest.Config, options client.Options) (client.Client, error) {
		made, err := client.New(config, options)
		if err != nil {
			return nil, err
		}
		return servedKinds{tolerantcache.Client(made), a.kinds.gvks()}, nil
	}
	return nil
}

// showPage reports how many objects a list in several pages has received.
func (a *assembly) showPage(kind string, objects int) {
	a.startup.progress(phaseCaches, fmt.Sprintf("%s: %d objects so far", kind, objects))
	a.logger.Info("The cache is being filled", "kind", kind, "objects", objects)
}

// runWarningCache runs the cache for the warnings of admission on a replica without controllers. It holds two kinds at
// their stored version, so that nothing is converted for it. It starts when the webhooks are served, and nothing waits
// for it. If it fails, only warnings are missing: it is retried until ctx ends.
func (a *assembly) runWarningCache(ctx context.Context) error {
	filled := a.startup.begin(phaseCaches)
	policy := retry.Policy{MinDelay: time.Second, MaxDelay: maxPause, AttemptTimeout: -1}
	policy.OnRetry = func(err error, delay time.Duration) {
		a.logger.Error(err, "writers are not warned of overlaps; retrying", "in", delay.String())
		a.startup.progress(phaseCaches, fmt.Sprintf("writers are not warned of overlaps: %v", err))
	}
	err := retry.Until(ctx, policy, func(ctx context.Context) error {
		defer a.warnings.DropCaches()
		if err := a.serveWarningCache(ctx, filled); err != nil || ctx.Err() != nil {
			return err
		}
		return errors.New("the cache has ended")
	})
	if err != nil && ctx.Err() == nil {
		return err
	}
	return nil
}

// serveWarningCache runs one such cache until ctx ends or it fails.
func (a *assembly) serveWarningCache(ctx context.Context, filled func()) error {
	api, options, err := a.clusterOptions(ctx, a.api.withoutLimit(), a.config.Namespaces, nil)
	if err != nil {
		return err
	}
	made, err := cluster.New(api, func(o *cluster.Options) { *o = options })
	if err != nil {
		return err
	}
	defer a.undecodable.Clear()
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- panics.Try("caches of admission", func() error { return made.Start(ctx) }) }()
	if err := a.waitForInformers(ctx, made.GetCache(), phaseCaches, a.kinds.warn()); err != nil {
		cancel()
		return errors.Join(err, <-ended)
	}
	defer cancel()
	a.warnings.SetCaches(made.GetCache(), nil)
	filled()
	return <-ended
}
