// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/go-logr/logr"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/cluster"

	"github.com/fairlead-dev/fairlead/internal/retry"
)

// discoveryTimeout is how long discovery is retried, unless the caches have less time. After that, the parts that need
// the caches are attempted again, and logged as late.
const discoveryTimeout = 30 * time.Second

// retryingMapper retries discovery after a failure, within a limit. A cache ends if discovery fails once, and the
// process ends with it: one response of a proxy without a backend would be enough.
type retryingMapper struct {
	meta.RESTMapper
	ctx    context.Context // ends the retries
	limit  time.Duration
	delay  time.Duration // the first; 0 means the default of retry.Policy
	logger logr.Logger
}

// newRetryingMapper returns a constructor of mappers that retry until ctx ends.
func newRetryingMapper(
	ctx context.Context, limit time.Duration, logger logr.Logger,
) func(*rest.Config, *http.Client) (meta.RESTMapper, error) {
	return func(api *rest.Config, client *http.Client) (meta.RESTMapper, error) {
		bounded := *client
		bounded.Timeout = attemptTimeout
		found, err := apiutil.NewDynamicRESTMapper(api, &bounded)
		return &retryingMapper{RESTMapper: found, ctx: ctx, limit: limit, logger: logger}, err
	}
}

// RESTMapping implements meta.RESTMapper.
func (m *retryingMapper) RESTMapping(kind schema.GroupKind, versions ...string) (*meta.RESTMapping, error) {
	mapping, err := m.RESTMapper.RESTMapping(kind, versions...)
	if err == nil || isKnownAbsent(kind, err) {
		return mapping, err
	}
	ctx, cancel := context.WithTimeout(m.ctx, m.limit)
	defer cancel()
	policy := retry.Policy{Log: m.logger.WithValues("kind", kind.String()), MinDelay: m.delay, AttemptTimeout: -1}
	_ = retry.Until(ctx, policy, func(context.Context) error {
		if mapping, err = m.RESTMapper.RESTMapping(kind, versions...); isKnownAbsent(kind, err) {
			return nil
		}
		return err
	})
	return mapping, err
}

// isKnownAbsent reports whether an error proves that a kind is not served. For a kind that every API server has, it
// proves nothing: a part of the discovery response is missing.
func isKnownAbsent(kind schema.GroupKind, err error) bool {
	return isNotServed(err) && kind.Group != corev1.GroupName && kind.Group != appsv1.GroupName
}

// isNotServed reports whether an error says that the API server does not serve a kind. Discovery has several such
// errors, and wraps some in others.
func isNotServed(err error) bool {
	var kind *meta.NoKindMatchError
	var resource *meta.NoResourceMatchError
	return errors.As(err, &kind) || errors.As(err, &resource)
}

// servedKinds is a client that treats a kind whose CRD is not installed as a kind without objects. The missing CRD of
// one kind must not fail the reconciles of others. Discovery determines whether a CRD is installed; if it fails, the
// read fails.
type servedKinds struct {
	client.Client
	optional []schema.GroupVersionKind
}

func (s servedKinds) Get(ctx context.Context, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
	err := s.notCached(object, s.Client.Get(ctx, key, object, options...))
	if kind, absent := s.isAbsent(err); absent {
		return apierrors.NewNotFound(schema.GroupResource{Group: kind.Group, Resource: kind.Kind}, key.Name)
	}
	return err
}

func (s servedKinds) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	err := s.notCached(list, s.Client.List(ctx, list, options...))
	if _, absent := s.isAbsent(err); absent {
		return nil
	}
	return err
}

// notCached returns the error of a read as the cache of all namespaces would return it. The cache of some namespaces
// asks discovery about the kind first. Without this, a kind that is not served fails the reconcile of an object that
// only refers to it.
func (s servedKinds) notCached(object runtime.Object, err error) error {
	if err == nil {
		return nil
	}
	kind, unknown := apiutil.GVKForObject(object, s.Scheme())
	if unknown != nil || !isKnownAbsent(kind.GroupKind(), err) {
		return err
	}
	kind.Kind = strings.TrimSuffix(kind.Kind, "List")
	return &cache.ErrResourceNotCached{GVK: kind}
}

// isAbsent reports whether a read failed since the API server does not serve the kind, so that no informer has it.
func (s servedKinds) isAbsent(err error) (schema.GroupVersionKind, bool) {
	var uncached *cache.ErrResourceNotCached
	if !errors.As(err, &uncached) || !slices.Contains(s.optional, uncached.GVK) {
		return schema.GroupVersionKind{}, false
	}
	_, err = s.RESTMapper().RESTMapping(uncached.GVK.GroupKind(), uncached.GVK.Version)
	return uncached.GVK, err != nil && isNotServed(err)
}

var errNotServed = errors.New("the API server does not serve it")

// checkServed returns nil if a kind is served, and errNotServed if its CRD is not installed. Any other error means that
// discovery failed.
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
