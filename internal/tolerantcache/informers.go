// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package tolerantcache

import (
	"errors"
	"fmt"
	"net/http"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

// Options of Informers. All but Transform and OnPage are required.
type Options struct {
	// Config is the configuration of the cache. HTTPClient is the client of the cache and of these informers, made from a
	// configuration with Transport.
	Config     *rest.Config
	HTTPClient *http.Client
	// Scheme has the Kinds.
	Scheme *runtime.Scheme
	// Kinds are those whose informers are tolerant. Informers of other kinds are client-go's.
	Kinds []schema.GroupVersionKind
	// Undecodable collects the objects that do not decode.
	Undecodable *Undecodable
	// Transform is applied to each object of a list as soon as it is decoded; the informer applies its own to the result.
	// Defaults to none.
	Transform cache.TransformFunc
	// OnPage is called with how many objects of a kind a list has read so far, after each page but the last. It must not
	// block. Defaults to nothing.
	OnPage func(kind string, objects int)
}

// Informers creates the informers of a cache.
type Informers struct {
	scheme      *runtime.Scheme
	parameters  runtime.ParameterCodec
	clients     map[schema.GroupVersionKind]rest.Interface
	transform   cache.TransformFunc
	onPage      func(kind string, objects int)
	undecodable *Undecodable
}

// NewInformers creates a client for each kind. It sends no request.
func NewInformers(o Options) (*Informers, error) {
	if o.Config == nil || o.HTTPClient == nil || o.Scheme == nil || o.Undecodable == nil {
		return nil, errors.New("tolerantcache: Config, HTTPClient, Scheme and Undecodable are required")
	}
	if o.Transform == nil {
		o.Transform = func(object any) (any, error) { return object, nil }
	}
	if o.OnPage == nil {
		o.OnPage = func(string, int) {}
	}
	i := &Informers{
		transform: o.Transform, onPage: o.OnPage,
		scheme: o.Scheme, parameters: runtime.NewParameterCodec(o.Scheme), undecodable: o.Undecodable,
		clients: map[schema.GroupVersionKind]rest.Interface{},
	}
	for _, kind := range o.Kinds {
		version := kind.GroupVersion()
		config := rest.CopyConfig(o.Config)
		config.APIPath, config.GroupVersion, config.NegotiatedSerializer = "/apis", &version, newSerializer(o.Scheme, kind)
		config.ContentType, config.AcceptContentTypes = runtime.ContentTypeJSON, ""
		made, err := rest.RESTClientForConfigAndClient(config, o.HTTPClient)
		if err != nil {
			return nil, fmt.Errorf("tolerantcache: client of %s: %w", kind.Kind, err)
		}
		i.clients[kind] = made
	}
	return i, nil
}

// New returns an informer, as NewInformer of a controller-runtime cache.
func (i *Informers) New(
	source cache.ListerWatcher, example runtime.Object, resync time.Duration, indexers cache.Indexers,
) cache.SharedIndexInformer {
	kind, tolerant := i.isTolerant(example)
	if !tolerant {
		return cache.NewSharedIndexInformer(source, example, resync, indexers)
	}
	l := &lister{
		kind: kind, source: cache.ToListerWatcherWithContext(source), client: i.clients[kind], serializer: newSerializer(i.scheme, kind),
		parameters: i.parameters, transform: i.transform, onPage: i.onPage,
	}
	l.ListWatch = l.listWatch()
	informer := cache.NewSharedIndexInformer(l, example, resync, indexers)
	i.undecodable.track(kind, informer)
	return informer
}

// isTolerant returns the kind of an informer, and whether it is one of Kinds with typed objects.
func (i *Informers) isTolerant(example runtime.Object) (schema.GroupVersionKind, bool) {
	switch example.(type) {
	case runtime.Unstructured, *metav1.PartialObjectMetadata:
		return schema.GroupVersionKind{}, false
	}
	kind, err := apiutil.GVKForObject(example, i.scheme)
	return kind, err == nil && i.clients[kind] != nil
}
