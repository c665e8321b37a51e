// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package externalservice

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	discoveryv1ac "k8s.io/client-go/applyconfigurations/discovery/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/api/common"
	"github.com/fairlead-dev/fairlead/controllers/externalservice/publication"
)

// currentSlices returns our EndpointSlices of a Service, as slicesOf does.
func (r *Reconciler) currentSlices(ctx context.Context, namespace, service string) ([]*discoveryv1.EndpointSlice, error) {
	current, _, err := r.slicesOf(ctx, namespace, service)
	return current, err
}

// slicesOf returns our EndpointSlices of a Service, and the names of those of others that have endpoints, in order. The
// slices are the cache's own and must not be changed. The API server stores no endpoint without an address.
func (r *Reconciler) slicesOf(ctx context.Context, namespace, service string) (current []*discoveryv1.EndpointSlice, foreign []string, err error) {
	var list discoveryv1.EndpointSliceList
	err = r.Client.List(ctx, &list, client.InNamespace(namespace), client.MatchingFields{byService: service}, client.UnsafeDisableDeepCopy)
	if err != nil {
		return nil, nil, fmt.Errorf("list EndpointSlices: %w", err)
	}
	current = make([]*discoveryv1.EndpointSlice, 0, len(list.Items))
	for i := range list.Items {
		slice := &list.Items[i]
		switch {
		case slice.Labels[discoveryv1.LabelManagedBy] == common.ManagedBy:
			current = append(current, slice)
		case len(slice.Endpoints) > 0:
			foreign = append(foreign, slice.Name)
		}
	}
	slices.Sort(foreign)
	return current, foreign, nil
}

// reclaimSlice applies a slice that exists although the cache does not have it: one of the labels that select it
// was changed. A slice that the Service does not own is left alone.
func (r *Reconciler) reclaimSlice(ctx context.Context, service *corev1.Service, s *publication.Slice, wanted *discoveryv1ac.EndpointSliceApplyConfiguration) error {
	stray := &discoveryv1.EndpointSlice{}
	if err := r.Live.Get(ctx, client.ObjectKey{Namespace: service.Namespace, Name: s.Name}, stray); err != nil {
		return err
	}
	if owner := metav1.GetControllerOf(stray); owner == nil || owner.Kind != "Service" || owner.Name != service.Name {
		return errForeignSlice
	}
	wanted.WithResourceVersion(stray.ResourceVersion)
	if s.Is(stray, service) {
		return nil // the cache was stale
	}
	return r.apply(ctx, wanted)
}
