// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/cluster"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	autorebootv1alpha1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1alpha1"
	chaosv1 "github.com/fairlead-dev/fairlead/api/chaos/v1"
	chaosv1alpha1 "github.com/fairlead-dev/fairlead/api/chaos/v1alpha1"
	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	networkingv1alpha1 "github.com/fairlead-dev/fairlead/api/networking/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/tolerantcache"
)

// NewScheme knows the types of Kubernetes and every version of ours.
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

// admissionReads are the kinds that validators read from the cache. They are cached on every
// replica, and at the version that is stored, which needs no conversion.
func admissionReads() []client.Object {
	return []client.Object{&autorebootv1.RebootPolicy{}, &chaosv1.ChaosPod{}}
}

// newCluster makes the cache and the clients of the reconcilers. It asks the API server which of
// the kinds are namespaced.
func (a *assembly) newCluster(api *rest.Config, held map[client.Object]cache.ByObject) (cluster.Cluster, error) {
	watched := map[string]cache.Config{}
	for _, namespace := range a.config.Namespaces {
		watched[namespace] = cache.Config{}
	}
	if len(watched) == 0 {
		watched = nil // all of them
	}
	api = rest.CopyConfig(api)
	api.Wrap(tolerantcache.Transport)
	options := cluster.Options{Scheme: a.scheme, Cache: cache.Options{
		Scheme:            a.scheme,
		DefaultNamespaces: watched,
		ByObject:          held,
		// Nothing reads them, and they are a quarter of an object in memory.
		DefaultTransform: cache.TransformStripManagedFields(),
		// A read of a kind without an informer would list a whole kind in the middle of a reconcile.
		ReaderFailOnMissingInformer: true,
	}}
	if err := a.containing(api, &options); err != nil {
		return nil, err
	}
	return cluster.New(api, func(o *cluster.Options) { *o = options })
}

// synced waits until the informers of kinds have listed, each within a limit.
func synced(ctx context.Context, informers cache.Informers, scheme *runtime.Scheme, kinds []client.Object, limit time.Duration, progress func(kind string)) error {
	for _, kind := range kinds {
		name := fmt.Sprintf("%T", kind)
		if gvk, err := apiutil.GVKForObject(kind, scheme); err == nil {
			name = gvk.GroupKind().String()
		}
		progress(name)
		if err := syncedOne(ctx, informers, kind, limit); err != nil {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			return fmt.Errorf("the cache of %s has not synced within %s: %w; is its CRD installed, may the service account list it, and do conversions answer? --cache-sync-timeout gives it more time", name, limit, err)
		}
	}
	return nil
}

// syncedOne retries while the kind is not known: CRDs may be installed with the operator. It waits
// for the informer itself, since to get one from a cache that is only about to run does not wait.
func syncedOne(ctx context.Context, informers cache.Informers, kind client.Object, limit time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	var informer cache.Informer
	var last error
	err := wait.PollUntilContextCancel(ctx, time.Second, true, func(ctx context.Context) (bool, error) {
		informer, last = informers.GetInformer(ctx, kind, cache.BlockUntilSynced(false))
		if last == nil || unknown(last) {
			return last == nil, nil
		}
		return false, last
	})
	if err != nil {
		if last != nil && !errors.Is(last, err) {
			return fmt.Errorf("%w (%w)", last, err)
		}
		return err
	}
	select {
	case <-informer.HasSyncedChecker().Done():
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// unknown says whether the API server does not serve the kind, which discovery may word in several
// ways, one inside the other.
func unknown(err error) bool {
	var kind *meta.NoKindMatchError
	var resource *meta.NoResourceMatchError
	return errors.As(err, &kind) || errors.As(err, &resource)
}
