// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package tolerantcache

import (
	"context"
	"errors"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// Client returns an UndecodableError for an object that did not decode. Lists contain such objects as far as
// they decoded: a missing object would do more harm there.
func Client(c client.Client) client.Client { return &refusingClient{c} }

type refusingClient struct{ client.Client }

func (r *refusingClient) Get(ctx context.Context, key client.ObjectKey, into client.Object, options ...client.GetOption) error {
	if err := r.Client.Get(ctx, key, into, options...); err != nil {
		return err
	}
	fault := Fault(into)
	if fault == "" {
		return nil
	}
	failure := &UndecodableError{Key: key, Fault: fault}
	if kind, err := apiutil.GVKForObject(into, r.Scheme()); err == nil {
		failure.Kind = kind.Kind
	}
	return failure
}

// IgnoreUndecodable wraps the reconciler of a kind, and applies another wrapper if there is one. It turns the
// UndecodableError of the reconciled object into success, without a retry: fixing the object is an event.
func IgnoreUndecodable(
	kind string, around func(reconcile.Reconciler) reconcile.Reconciler,
) func(reconcile.Reconciler) reconcile.Reconciler {
	return func(inner reconcile.Reconciler) reconcile.Reconciler {
		var ignores reconcile.Reconciler = reconcile.Func(func(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
			result, err := inner.Reconcile(ctx, request)
			var failure *UndecodableError
			if errors.As(err, &failure) && failure.Kind == kind && failure.Key == request.NamespacedName {
				return reconcile.Result{}, nil
			}
			return result, err
		})
		if around == nil {
			return ignores
		}
		return around(ignores)
	}
}
