// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package externalservice

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	discoveryv1ac "k8s.io/client-go/applyconfigurations/discovery/v1"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/api/common"
)

// errForeignSlice cannot happen by accident: the names of our slices carry a digest.
var errForeignSlice = errors.New("an EndpointSlice of this name exists and is not ours: delete it")

// currentSlices are our EndpointSlices of a Service, as the cache has them. They are shared with it:
// to be read only. One without any address in some endpoint is not valid and cannot be stored.
func (r *Reconciler) currentSlices(ctx context.Context, namespace, service string) ([]*discoveryv1.EndpointSlice, error) {
	var list discoveryv1.EndpointSliceList
	err := r.Client.List(ctx, &list, client.InNamespace(namespace), client.MatchingFields{byService: service}, client.UnsafeDisableDeepCopy)
	if err != nil {
		return nil, fmt.Errorf("list EndpointSlices: %w", err)
	}
	current := make([]*discoveryv1.EndpointSlice, 0, len(list.Items))
	for i := range list.Items {
		current = append(current, &list.Items[i])
	}
	return current, nil
}

// publishSlices makes the EndpointSlices of a Service as they should be, in the order given, and
// removes our others after that. It returns whether any was written.
func (r *Reconciler) publishSlices(ctx context.Context, service *corev1.Service, current []*discoveryv1.EndpointSlice, wanted []desiredSlice, m *objectState) (wrote bool, err error) {
	for i := range wanted {
		was := findSlice(current, wanted[i].name)
		if was != nil && sliceMatches(was, service, &wanted[i]) {
			continue
		}
		if err := r.applySlice(ctx, service, &wanted[i], was, m); err != nil {
			return wrote, err
		}
		wrote = true
	}
	for _, leftover := range current {
		if containsSlice(wanted, leftover.Name) || leftover.DeletionTimestamp != nil {
			continue
		}
		err := r.Client.Delete(ctx, leftover.DeepCopy(), client.Preconditions{UID: &leftover.UID, ResourceVersion: &leftover.ResourceVersion})
		if err != nil && !apierrors.IsNotFound(err) {
			return wrote, fmt.Errorf("remove EndpointSlice %s: %w", leftover.Name, err)
		}
		m.recordSliceWrite(leftover.Name, "", r.Now())
		wrote = true
	}
	return wrote, nil
}

func findSlice(current []*discoveryv1.EndpointSlice, name string) *discoveryv1.EndpointSlice {
	for _, c := range current {
		if c.Name == name {
			return c
		}
	}
	return nil
}

func containsSlice(wanted []desiredSlice, name string) bool {
	for i := range wanted {
		if wanted[i].name == name {
			return true
		}
	}
	return false
}

func (r *Reconciler) applySlice(ctx context.Context, service *corev1.Service, s *desiredSlice, current *discoveryv1.EndpointSlice, m *objectState) error {
	version := onlyCreate
	if current != nil {
		version = current.ResourceVersion
	}
	wanted := sliceConfiguration(service, s).WithResourceVersion(version)
	err := r.Client.Apply(ctx, wanted, client.FieldOwner(common.FieldOwner), client.ForceOwnership)
	if current == nil && apierrors.IsConflict(err) {
		err = r.reclaimSlice(ctx, service, s, wanted)
	}
	if err != nil {
		return fmt.Errorf("apply EndpointSlice %s: %w", s.name, err)
	}
	m.recordSliceWrite(s.name, ptr.Deref(wanted.ResourceVersion, ""), r.Now())
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

// reclaimSlice applies a slice that exists although the cache does not show it among the Service's:
// a label that it is found by was removed or changed. One that the Service does not own
// is not ours to touch.
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
		return nil // the cache was behind
	}
	return r.Client.Apply(ctx, wanted, client.FieldOwner(common.FieldOwner), client.ForceOwnership)
}

func sliceLabels(service string) map[string]string {
	return map[string]string{
		discoveryv1.LabelServiceName: service,
		discoveryv1.LabelManagedBy:   common.ManagedBy,
	}
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
