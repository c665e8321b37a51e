// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"context"
	"errors"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
)

// servedKinds is a client for which there is no object of a kind whose CRD is not installed: one kind's absence must not
// fail what other kinds are decided from. Whether it is installed the API server's discovery says. Where that fails, the
// read fails.
type servedKinds struct {
	client.Client
	optional []schema.GroupVersionKind
}

func (s servedKinds) Get(ctx context.Context, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
	err := s.Client.Get(ctx, key, object, options...)
	if kind, absent := s.isAbsent(err); absent {
		return apierrors.NewNotFound(schema.GroupResource{Group: kind.Group, Resource: kind.Kind}, key.Name)
	}
	return err
}

func (s servedKinds) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	err := s.Client.List(ctx, list, options...)
	if _, absent := s.isAbsent(err); absent {
		return nil
	}
	return err
}

// isAbsent reports whether a read failed because no informer has the kind, as the API server does not serve it.
func (s servedKinds) isAbsent(err error) (schema.GroupVersionKind, bool) {
	var uncached *cache.ErrResourceNotCached
	if !errors.As(err, &uncached) || !slices.Contains(s.optional, uncached.GVK) {
		return schema.GroupVersionKind{}, false
	}
	_, err = s.RESTMapper().RESTMapping(uncached.GVK.GroupKind(), uncached.GVK.Version)
	return uncached.GVK, err != nil && isNotServed(err)
}

var errNotServed = errors.New("the API server does not serve it")

// checkServed returns nil for a kind that is served, errNotServed for one whose CRD is not installed, and any other error
// where that is not known.
func checkServed(in cluster.Cluster, kind client.Object) error {
	gvk, err := apiutil.GVKForObject(kind, in.GetScheme())
	if err != nil {
		return err
	}
	switch _, err := in.GetRESTMapper().RESTMapping(gvk.GroupKind(), gvk.Version); {
	case err == nil:
		return nil
	case isNotServed(err):
		return errNotServed
	default:
		return fmt.Errorf("whether %s is served: %w", gvk.GroupKind(), err)
	}
}
