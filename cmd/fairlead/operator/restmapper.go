// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"context"
	"net/http"
	"time"

	"github.com/go-logr/logr"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

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
// are as old as these: where discovery has them not, a part of its answers is missing.
func isKnownAbsent(kind schema.GroupKind, err error) bool {
	return isNotServed(err) && kind.Group != corev1.GroupName && kind.Group != appsv1.GroupName
}
