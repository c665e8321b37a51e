// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"errors"
	"net/http"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/internal/argorollouts"
)

// A cache of some namespaces asks discovery before it looks for an informer, and one of all namespaces does not.
func TestAKindThatIsNotServedHasNoObjectsInEitherCache(t *testing.T) {
	t.Parallel()
	scheme, err := NewScheme()
	if err != nil {
		t.Fatal(err)
	}
	for name, namespaces := range map[string]map[string]cache.Config{"all namespaces": nil, "some namespaces": {"shop": {}}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			api, none := &rest.Config{Host: "https://192.0.2.1"}, meta.NewDefaultRESTMapper(nil)
			held, err := cache.New(api, cache.Options{
				HTTPClient: http.DefaultClient, Scheme: scheme, Mapper: none, DefaultNamespaces: namespaces, ReaderFailOnMissingInformer: true,
			})
			if err != nil {
				t.Fatal(err)
			}
			inner, err := client.New(api, client.Options{HTTPClient: http.DefaultClient, Scheme: scheme, Mapper: none, Cache: &client.CacheOptions{Reader: held}})
			if err != nil {
				t.Fatal(err)
			}
			c := servedKinds{inner, allKinds().gvks()}
			if err := c.List(t.Context(), &autorebootv1.RebootPolicyList{}); err != nil {
				t.Error(err)
			}
			if err := c.Get(t.Context(), client.ObjectKey{Namespace: "shop", Name: "web"}, &autorebootv1.RebootPolicy{}); !apierrors.IsNotFound(err) {
				t.Error(err)
			}
			if err := c.List(t.Context(), &argorollouts.RolloutList{}); !errors.As(err, new(*cache.ErrResourceNotCached)) {
				t.Error(err)
			}
			// Every API server serves Deployments: where discovery lacks them, whether there are any is not known.
			if err := c.List(t.Context(), &appsv1.DeploymentList{}); err == nil || namespaces != nil && errors.As(err, new(*cache.ErrResourceNotCached)) {
				t.Errorf("Deployments: %v", err)
			}
		})
	}
}
