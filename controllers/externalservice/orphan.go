// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package externalservice

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/fairlead-dev/fairlead/api/common"
	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
)

// orphanFinalizer holds an object whose Service is to outlive it, until the Service has been
// disowned. Objects with deletionPolicy Delete carry no finalizer: the garbage collector does all,
// also while Fairlead is not running.
const orphanFinalizer = "networking.fairlead.dev/orphan"

// holdForOrphan keeps the finalizer in step with the deletion policy.
func (r *Reconciler) holdForOrphan(ctx context.Context, es *networkingv1.ExternalService) error {
	before := es.DeepCopy()
	changed := false
	if ptr.Deref(es.Spec.DeletionPolicy, networkingv1.DeletionDelete) == networkingv1.DeletionOrphan {
		changed = controllerutil.AddFinalizer(es, orphanFinalizer)
	} else {
		changed = controllerutil.RemoveFinalizer(es, orphanFinalizer)
	}
	if !changed {
		return nil
	}
	return r.patchFinalizers(ctx, before, es)
}

// release disowns the Service where the policy says so, and lets the object go.
func (r *Reconciler) release(ctx context.Context, es *networkingv1.ExternalService) error {
	if !controllerutil.ContainsFinalizer(es, orphanFinalizer) {
		return nil
	}
	if ptr.Deref(es.Spec.DeletionPolicy, networkingv1.DeletionDelete) == networkingv1.DeletionOrphan {
		if err := r.disown(ctx, es); err != nil {
			return fmt.Errorf("externalservice %s/%s: %w", es.Namespace, es.Name, err)
		}
	}
	before := es.DeepCopy()
	controllerutil.RemoveFinalizer(es, orphanFinalizer)
	return client.IgnoreNotFound(r.patchFinalizers(ctx, before, es))
}

// disown takes our owner reference off the Service. Its EndpointSlices belong to the Service, and
// stay with it.
func (r *Reconciler) disown(ctx context.Context, es *networkingv1.ExternalService) error {
	service := &corev1.Service{}
	err := r.Live.Get(ctx, client.ObjectKeyFromObject(es), service)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read Service: %w", err)
	}
	if !metav1.IsControlledBy(service, es) {
		return nil
	}
	orphan := desiredService(es).WithResourceVersion(service.ResourceVersion)
	if err := r.Client.Apply(ctx, orphan, client.FieldOwner(common.FieldOwner), client.ForceOwnership); err != nil {
		return fmt.Errorf("disown Service: %w", err)
	}
	return nil
}

// patchFinalizers writes nothing but the finalizers. The resource version guards the list, which a
// merge patch replaces as a whole.
func (r *Reconciler) patchFinalizers(ctx context.Context, before, after *networkingv1.ExternalService) error {
	target := before.DeepCopy()
	target.Finalizers = after.Finalizers
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	if err := r.Client.Patch(ctx, target, patch); err != nil {
		return fmt.Errorf("write finalizers: %w", err)
	}
	after.ResourceVersion = target.ResourceVersion
	return nil
}
