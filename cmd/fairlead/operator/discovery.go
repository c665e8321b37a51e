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

// discoveryTimeout is for how long the API server is asked again what it serves, unless the caches are given less. What
// needs the caches is attempted again then, and the log says so.
const discoveryTimeout = 30 * time.Second

// retryingMapper asks the API server again what it serves where the answer was none, within a limit. A cache that gets
// none ends, and the process with it: one answer of a proxy that has no backend would be enough.
type retryingMapper struct {
	meta.RESTMapper
	ctx    context.Context // ends the retries
	limit  time.Duration
	delay  time.Duration // the first; 0 means the default of retry.Policy
	logger logr.Logger
}

// newRetryingMapper returns the constructor of a mapper that retries until ctx ends.
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

// isKnownAbsent reports whether an error says that a kind is not served. Each API server serves the kinds of Kubernetes that
// are as old as these: where discovery lacks one, a part of its response is missing.
func isKnownAbsent(kind schema.GroupKind, err error) bool {
	return isNotServed(err) && kind.Group != corev1.GroupName && kind.Group != appsv1.GroupName
}

// isNotServed reports whether the API server does not serve the kind, which discovery may word in several
// ways, one inside the other.
func isNotServed(err error) bool {
	var kind *meta.NoKindMatchError
	var resource *meta.NoResourceMatchError
	return errors.As(err, &kind) || errors.As(err, &resource)
}

// servedKinds is a client for which there is no object of a kind whose CRD is not installed: one kind's absence must not
// fail what other kinds are decided from. Whether it is installed the API server's discovery says. Where that fails, the
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

// notCached returns the error of a read in the form that the cache of all namespaces gives it. That of some namespaces asks
// discovery about the kind first: without this, a kind that is not served ends the reconcile of what only looks for it.
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
