// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	eventsv1client "k8s.io/client-go/kubernetes/typed/events/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/controller-runtime/pkg/recorder"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	autorebootv1alpha1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1alpha1"
	chaosv1 "github.com/fairlead-dev/fairlead/api/chaos/v1"
	chaosv1alpha1 "github.com/fairlead-dev/fairlead/api/chaos/v1alpha1"
	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	networkingv1alpha1 "github.com/fairlead-dev/fairlead/api/networking/v1alpha1"
	"github.com/fairlead-dev/fairlead/cmd/fairlead/operator/intern"
	"github.com/fairlead-dev/fairlead/cmd/fairlead/operator/phases"
	"github.com/fairlead-dev/fairlead/cmd/fairlead/operator/shard"
	"github.com/fairlead-dev/fairlead/internal/events"
	"github.com/fairlead-dev/fairlead/internal/panics"
	"github.com/fairlead-dev/fairlead/internal/tolerantcache"
)

// NewScheme returns a scheme of the types of Kubernetes and of every version of ours.
func NewScheme() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		clientscheme.AddToScheme,
		networkingv1.AddToScheme, networkingv1alpha1.AddToScheme,
		autorebootv1.AddToScheme, autorebootv1alpha1.AddToScheme,
		chaosv1.AddToScheme, chaosv1alpha1.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			return nil, fmt.Errorf("scheme: %w", err)
		}
	}
	return scheme, nil
}

// admissionKinds returns the kinds that validators read from the cache. They are cached on every
// replica, and at the version that is stored, which needs no conversion.
func admissionKinds() []client.Object {
	return []client.Object{&autorebootv1.RebootPolicy{}, &chaosv1.ChaosPod{}}
}

// newCluster makes the cache and the clients of the reconcilers, for some namespaces or, where there are none, for all.
// It asks the API server which of the kinds are namespaced, until ctx ends. A shard's caches hold its namespaces alone.
func (a *assembly) newCluster(
	ctx context.Context, api *rest.Config, namespaces []string, held map[client.Object]cache.ByObject, part *shard.Shard,
) (cluster.Cluster, error) {
	watched := map[string]cache.Config{}
	for _, namespace := range namespaces {
		watched[namespace] = cache.Config{}
	}
	if len(watched) == 0 {
		watched = nil // all of them
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
	discovery := newRetryingMapper(ctx, min(discoveryTimeout, a.config.Controllers.CacheSyncTimeout.Duration), a.Logger.WithName("discovery"))
	options := cluster.Options{Scheme: a.scheme, MapperProvider: discovery, Cache: cache.Options{
		Scheme:            a.scheme,
		DefaultNamespaces: watched,
		ByObject:          held,
		DefaultTransform:  interner.After(stripUnread),
		// A read of a kind without an informer would list a whole kind in the middle of a reconcile.
		ReaderFailOnMissingInformer: true,
	}}
	if err := a.tolerateUndecodable(api, &options, part); err != nil {
		return nil, err
	}
	return cluster.New(api, func(o *cluster.Options) { *o = options })
}

// stripUnread removes what nothing reads from the cache, which can be half of an object in memory: the fields' managers
// and the manifest that kubectl applied last. Writes are patches and updates of a status, which leave both alone.
func stripUnread(object any) (any, error) {
	accessor, err := meta.Accessor(object)
	if err != nil {
		return object, nil //nolint:nilerr // the last known state of a deleted object, which was stripped before
	}
	accessor.SetManagedFields(nil)
	annotations := accessor.GetAnnotations()
	if annotations[corev1.LastAppliedConfigAnnotation] != "" { // else it may be shared
		delete(annotations, corev1.LastAppliedConfigAnnotation)
	}
	if len(annotations) == 0 {
		accessor.SetAnnotations(nil)
	}
	return object, nil
}

// waitForInformers waits until the informers of kinds have listed, each within a limit.
func waitForInformers(
	ctx context.Context, informers cache.Informers, scheme *runtime.Scheme, kinds []client.Object, limit time.Duration,
	progress func(kind string),
) error {
	for _, kind := range kinds {
		name := fmt.Sprintf("%T", kind)
		if gvk, err := apiutil.GVKForObject(kind, scheme); err == nil {
			name = gvk.GroupKind().String()
		}
		progress(name)
		if err := waitForInformer(ctx, informers, kind, limit); err != nil {
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

// maxUnserved is how long a kind that the API server does not serve is waited for in one attempt: CRDs may be installed
// with the operator.
const maxUnserved = 5 * time.Second

// waitForInformer waits for the informer itself, since to get one from a cache that is only about to run does not wait.
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

// isNotServed reports whether the API server does not serve the kind, which discovery may word in several
// ways, one inside the other.
func isNotServed(err error) bool {
	var kind *meta.NoKindMatchError
	var resource *meta.NoResourceMatchError
	return errors.As(err, &kind) || errors.As(err, &resource)
}

// ownKinds returns the kinds of which one undecodable object may hide no other.
func ownKinds() []schema.GroupVersionKind {
	return []schema.GroupVersionKind{
		networkingv1.GroupVersion.WithKind("ExternalService"),
		autorebootv1.GroupVersion.WithKind("RebootPolicy"),
		chaosv1.GroupVersion.WithKind("ChaosPod"),
	}
}

// reportUndecodable creates what reports undecodable objects by Events, and adds what runs for it.
func (a *assembly) reportUndecodable(p *parts) error {
	eventRecorder, err := events.New(events.Options{
		Client: a.client.EventsV1(), Instance: a.identity.id, Clock: a.Clock,
		Logger: a.Logger.WithName("events"), Registerer: a.Metrics,
	})
	if err != nil {
		return fmt.Errorf("events of broken objects: %w", err)
	}
	a.recordEvent = a.withinRights(eventRecorder.Record)
	a.undecodable = tolerantcache.NewUndecodable(tolerantcache.UndecodableOptions{
		Logger:        a.Logger.WithName("undecodable"),
		OnUndecodable: func(e tolerantcache.Entry) { eventRecorder.Record(undecodableEvent(e)) },
	})
	if err := a.Metrics.Register(a.undecodable); err != nil {
		return fmt.Errorf("metrics of undecodable objects: %w", err)
	}
	p.background = append(p.background, component{"events of broken objects", eventRecorder.Run})
	return nil
}

func undecodableEvent(e tolerantcache.Entry) events.Event {
	return events.Event{
		Regarding: corev1.ObjectReference{
			APIVersion: e.Kind.GroupVersion().String(), Kind: e.Kind.Kind, Namespace: e.Key.Namespace, Name: e.Key.Name,
			UID: e.UID, ResourceVersion: e.ResourceVersion,
		},
		Reason: "Undecodable", Action: "Decode",
		Note: fmt.Sprintf("This object, and what was made from it, stays unchanged until it is fixed: %s. `%s` lists all that is wrong.",
			e.Fault, tolerantcache.Remedy),
	}
}

// tolerateUndecodable lets the informers of a cluster decode item by item where they must, and its client
// refuse what did not decode. The configuration is the cluster's own.
func (a *assembly) tolerateUndecodable(api *rest.Config, o *cluster.Options, part *shard.Shard) (err error) {
	if o.HTTPClient, err = rest.HTTPClientFor(api); err != nil {
		return err
	}
	tolerant := tolerantcache.Options{
		Config: api, HTTPClient: o.HTTPClient, Scheme: a.scheme, Kinds: ownKinds(), Undecodable: a.undecodable,
		Transform: o.Cache.DefaultTransform, OnPage: a.showPage,
	}
	if part != nil {
		tolerant.NewInformer = part.NewInformer
	}
	informers, err := tolerantcache.NewInformers(tolerant)
	if err != nil {
		return err
	}
	o.Cache.NewInformer = informers.New
	o.NewClient = func(config *rest.Config, options client.Options) (client.Client, error) {
		made, err := client.New(config, options)
		if err != nil {
			return nil, err
		}
		return servedKinds{tolerantcache.Client(made), ownKinds()}, nil
	}
	return nil
}

// showPage shows how far a list has come that takes several responses.
func (a *assembly) showPage(kind string, objects int) {
	a.recorder.Progress(phases.Caches, "waiting for %s: %d objects so far", kind, objects)
	a.Logger.Info("The cache is being filled", "kind", kind, "objects", objects)
}

// clusterWithEvents is a cluster whose Events are bounded; those of controller-runtime have no bound, and do
// not become series while the resource version of their object changes.
type clusterWithEvents struct {
	cluster.Cluster
	events *events.Broadcaster
}

// newClusterWithEvents makes the cluster of the reconcilers.
func (a *assembly) newClusterWithEvents(
	ctx context.Context, api *rest.Config, namespaces []string, held map[client.Object]cache.ByObject,
	metrics prometheus.Registerer, part *shard.Shard,
) (cluster.Cluster, error) {
	made, err := a.newCluster(ctx, api, namespaces, held, part)
	if err != nil {
		return nil, err
	}
	writer, err := eventsv1client.NewForConfig(api)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", a.api.origin, err)
	}
	events, err := events.NewBroadcaster(events.BroadcasterOptions{Client: writer, Scheme: a.scheme, Registerer: metrics})
	if err != nil {
		return nil, fmt.Errorf("events of the controllers: %w", err)
	}
	return &clusterWithEvents{Cluster: made, events: events}, nil
}

// Start runs the caches, and writes Events, until ctx ends.
func (c *clusterWithEvents) Start(ctx context.Context) error {
	events, stop := context.WithCancel(context.WithoutCancel(ctx)) // the last reconciles record Events, too
	written := make(chan error, 1)
	go func() {
		written <- panics.Try("events", func() error { return c.events.Run(events) })
	}()
	err := c.Cluster.Start(ctx)
	stop()
	return errors.Join(err, <-written)
}

// GetEventRecorder returns the recorder of a controller.
func (c *clusterWithEvents) GetEventRecorder(name string) recorder.EventRecorder {
	return c.events.Recorder(name)
}
