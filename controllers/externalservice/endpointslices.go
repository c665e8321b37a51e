// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package externalservice

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	discoveryv1ac "k8s.io/client-go/applyconfigurations/discovery/v1"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/api/common"
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

func findSlice(current []*discoveryv1.EndpointSlice, name string) *discoveryv1.EndpointSlice {
	if i := slices.IndexFunc(current, func(c *discoveryv1.EndpointSlice) bool { return c.Name == name }); i >= 0 {
		return current[i]
	}
	return nil
}

func findDesired(all []desiredSlice, name string) *desiredSlice {
	if i := slices.IndexFunc(all, func(s desiredSlice) bool { return s.name == name }); i >= 0 {
		return &all[i]
	}
	return nil
}

func sliceConfiguration(service *corev1.Service, s *desiredSlice) *discoveryv1ac.EndpointSliceApplyConfiguration {
	wanted := discoveryv1ac.EndpointSlice(s.name, service.Namespace).
		WithLabels(sliceLabels(service.Name)).
		WithOwnerReferences(metav1ac.OwnerReference().
			WithAPIVersion("v1").WithKind("Service").WithName(service.Name).WithUID(service.UID).WithController(true)).
		WithAddressType(s.family)
	for _, p := range s.ports {
		wanted.WithPorts(&discoveryv1ac.EndpointPortApplyConfiguration{
			Name: p.Name, Port: p.Port, Protocol: p.Protocol, AppProtocol: p.AppProtocol,
		})
	}
	for _, e := range s.endpoints {
		wanted.WithEndpoints(&discoveryv1ac.EndpointApplyConfiguration{
			Addresses: e.Addresses,
			Zone:      e.Zone,
			Conditions: discoveryv1ac.EndpointConditions().WithReady(*e.Conditions.Ready).
				WithServing(*e.Conditions.Serving).WithTerminating(*e.Conditions.Terminating),
		})
	}
	return wanted
}

// reclaimSlice applies a slice that exists although the cache does not have it: one of the labels that select it
// was changed. A slice that the Service does not own is left alone.
func (r *Reconciler) reclaimSlice(ctx context.Context, service *corev1.Service, s *desiredSlice, wanted *discoveryv1ac.EndpointSliceApplyConfiguration) error {
	stray := &discoveryv1.EndpointSlice{}
	if err := r.Live.Get(ctx, client.ObjectKey{Namespace: service.Namespace, Name: s.name}, stray); err != nil {
		return err
	}
	if owner := metav1.GetControllerOf(stray); owner == nil || owner.Kind != "Service" || owner.Name != service.Name {
		return errForeignSlice
	}
	wanted.WithResourceVersion(stray.ResourceVersion)
	if sliceMatches(stray, service, s) {
		return nil // the cache was stale
	}
	return r.apply(ctx, wanted)
}

func sliceLabels(service string) map[string]string {
	return map[string]string{
		discoveryv1.LabelServiceName: service,
		discoveryv1.LabelManagedBy:   common.ManagedBy,
	}
}

func sliceOwner(service *corev1.Service) metav1.OwnerReference {
	return metav1.OwnerReference{APIVersion: "v1", Kind: "Service", Name: service.Name, UID: service.UID, Controller: ptr.To(true)}
}

func sliceMatches(current *discoveryv1.EndpointSlice, service *corev1.Service, s *desiredSlice) bool {
	return current.Labels[discoveryv1.LabelServiceName] == service.Name &&
		current.Labels[discoveryv1.LabelManagedBy] == common.ManagedBy &&
		len(current.OwnerReferences) == 1 && current.OwnerReferences[0].UID == service.UID &&
		ptr.Deref(current.OwnerReferences[0].Controller, false) &&
		current.AddressType == s.family &&
		apiequality.Semantic.DeepEqual(current.Ports, s.ports) &&
		apiequality.Semantic.DeepEqual(current.Endpoints, s.endpoints)
}
