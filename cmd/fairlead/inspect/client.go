// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"reflect"

	appsv1 "k8s.io/api/apps/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	chaosv1 "github.com/fairlead-dev/fairlead/api/chaos/v1"
	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/internal/argorollouts"
)

// reader is a client that lists the objects of Fairlead by a decoder of its own.
type reader struct {
	client.WithWatch
	scheme *runtime.Scheme
	lists  map[reflect.Type]rest.Interface // by the type of the list
}

// NewClient returns a client of the kinds that this package reads. It sends nothing: what the API server has is not
// discovered, so that each kind costs the requests of its list alone.
func NewClient(config *rest.Config) (client.WithWatch, error) {
	config = rest.CopyConfig(config)
	config.QPS = -1                           // each kind is listed once
	config.WarningHandler = rest.NoWarnings{} // about deprecations, which are no matter of the user's
	connection, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, err
	}
	mapper := meta.NewDefaultRESTMapper(nil)
	for _, k := range append([]kind{secrets, configMaps, pods, replicaSets, leases, services, slicesOf}, kinds...) {
		scope := meta.RESTScopeNamespace
		if k.ofCluster {
			scope = meta.RESTScopeRoot
		}
		mapper.Add(k.group.WithKind(k.Kind), scope)
	}
	mapper.Add(authorizationv1.SchemeGroupVersion.WithKind("SelfSubjectAccessReview"), meta.RESTScopeRoot)
	mapper.Add(corev1.SchemeGroupVersion.WithKind("Namespace"), meta.RESTScopeRoot)
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		networkingv1.AddToScheme, autorebootv1.AddToScheme, chaosv1.AddToScheme, appsv1.AddToScheme, corev1.AddToScheme,
		authorizationv1.AddToScheme, coordinationv1.AddToScheme, discoveryv1.AddToScheme, argorollouts.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			return nil, fmt.Errorf("register kinds: %w", err)
		}
	}
	r := &reader{scheme: scheme, lists: map[reflect.Type]rest.Interface{}}
	if r.WithWatch, err = client.NewWithWatch(config, client.Options{HTTPClient: connection, Scheme: scheme, Mapper: mapper}); err != nil {
		return nil, err
	}
	return r, r.addLists(config, connection)
}

// addLists adds clients for the lists of Fairlead's kinds.
func (r *reader) addLists(config *rest.Config, connection *http.Client) error {
	for _, k := range kinds {
		if !k.isOwned {
			continue
		}
		config := rest.CopyConfig(config)
		config.APIPath, config.GroupVersion = "/apis", &k.group
		config.NegotiatedSerializer = serializer.WithoutConversionCodecFactory{CodecFactory: serializer.NewCodecFactory(r.scheme)} // of errors
		list, err := rest.RESTClientForConfigAndClient(config, connection)
		if err != nil {
			return err
		}
		r.lists[reflect.TypeOf(k.list())] = list
	}
	return nil
}

// List reads a page. That of a kind of Fairlead arrives as JSON, of which the decoder of client-go reads each byte three times:
// here it is decoded once, while it arrives. The other kinds arrive as Protobuf.
func (r *reader) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	from, isOwned := r.lists[reflect.TypeOf(list)]
	if !isOwned {
		return r.WithWatch.List(ctx, list, options...)
	}
	chosen := client.ListOptions{}
	chosen.ApplyOptions(options)
	var resource string
	for _, k := range kinds {
		if reflect.TypeOf(k.list()) == reflect.TypeOf(list) {
			resource = k.resource
		}
	}
	body, err := from.Get().NamespaceIfScoped(chosen.Namespace, chosen.Namespace != "").Resource(resource).
		SpecificallyVersionedParams(chosen.AsListOptions(), metav1.ParameterCodec, metav1.SchemeGroupVersion).
		SetHeader("Accept", runtime.ContentTypeJSON).Stream(ctx)
	if err != nil {
		return err
	}
	return errors.Join(decode(body, list), body.Close())
}
