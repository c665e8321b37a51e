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

// Client refuses, by an UndecodableError, to get an object that did not decode. Lists hold what could be
// read of it: there an object that is missing would do more harm.
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

// IgnoreUndecodable is put around the reconciler of a kind, and in other wrappers, of which there may be none. It has
// an object that does not decode left as it is, without an error to try again for: it comes as an event
// when it is mended.
func IgnoreUndecodable(kind string, around func(reconcile.Reconciler) reconcile.Reconciler) func(reconcile.Reconciler) reconcile.Reconciler {
	return func(inner reconcile.Reconciler) reconcile.Reconciler {
		var spares reconcile.Reconciler = reconcile.Func(func(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
			result, err := inner.Reconcile(ctx, request)
			var failure *UndecodableError
			if errors.As(err, &failure) && failure.Kind == kind && failure.Key == request.NamespacedName {
				return reconcile.Result{}, nil
			}
			return result, err
		})
		if around == nil {
			return spares
		}
		return around(spares)
	}
}
