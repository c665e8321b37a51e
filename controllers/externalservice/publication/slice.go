// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package publication

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	discoveryv1ac "k8s.io/client-go/applyconfigurations/discovery/v1"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/fairlead-dev/fairlead/api/common"
	"github.com/fairlead-dev/fairlead/controllers/externalservice/endpoints"
	"github.com/fairlead-dev/fairlead/controllers/externalservice/failover"
)

// Slice is an EndpointSlice to apply.
type Slice struct {
	Name      string
	Family    discoveryv1.AddressType
	Ports     []discoveryv1.EndpointPort
	Endpoints []discoveryv1.Endpoint
	// hasNew means that an address was not in this slice before.
	hasNew bool
}

// AreCurrent reports whether the current slices are those that are wanted.
func AreCurrent(service *corev1.Service, current []*discoveryv1.EndpointSlice, wanted []Slice) bool {
	if len(current) != len(wanted) {
		return false
	}
	for i := range wanted {
		if c := FindSlice(current, wanted[i].Name); c == nil || !wanted[i].Is(c, service) {
			return false
		}
	}
	return true
}

// Violates reports whether any address of a slice takes traffic that must not.
func Violates(slice *discoveryv1.EndpointSlice, fit *failover.Fitness) bool {
	for key, e := range endpoints.In(slice) {
		if isFit, isKnown := fit.Of(key); endpoints.IsReady(e) && isKnown && !isFit {
			return true
		}
	}
	return false
}

// WithoutTraffic returns a slice with its unfit addresses not ready.
func WithoutTraffic(slice *discoveryv1.EndpointSlice, fit *failover.Fitness) *Slice {
	return filtered(slice, func(key endpoints.Key, isReady bool) (keep, ready bool) {
		isFit, isKnown := fit.Of(key)
		return true, isReady && (isFit || !isKnown)
	})
}

// OnlyFit returns a slice with those addresses alone that are fit.
func OnlyFit(slice *discoveryv1.EndpointSlice, fit *failover.Fitness) *Slice {
	return filtered(slice, func(key endpoints.Key, isReady bool) (keep, ready bool) {
		isFit, _ := fit.Of(key)
		return isFit, isReady
	})
}

// Retained returns the slices that have addresses which do not stay as they are (changed), and what is left of these. ready
// has those that stay, and whether each is ready.
func Retained(current []*discoveryv1.EndpointSlice, ready map[endpoints.Key]bool) (left []Slice, changed []*discoveryv1.EndpointSlice) {
	for _, slice := range current {
		isChanged := false
		of := filtered(slice, func(key endpoints.Key, isReady bool) (keep, nowReady bool) {
			nowReady, keep = ready[key]
			isChanged = isChanged || !keep || nowReady != isReady
			return keep, nowReady
		})
		if !isChanged {
			continue
		}
		changed = append(changed, slice)
		if len(of.Endpoints) > 0 {
			left = append(left, *of)
		}
	}
	return left, changed
}

// Undrained returns a slice with its terminating endpoints as they were before, or nil where it has none. They stay serving
// while they are drained.
func Undrained(slice *discoveryv1.EndpointSlice) *Slice {
	if !slices.ContainsFunc(slice.Endpoints, func(e discoveryv1.Endpoint) bool { return ptr.Deref(e.Conditions.Terminating, false) }) {
		return nil
	}
	s := &Slice{Name: slice.Name, Family: slice.AddressType, Ports: slice.Ports, Endpoints: slices.Clone(slice.Endpoints)}
	for i := range s.Endpoints {
		ready := ptr.Deref(s.Endpoints[i].Conditions.Serving, true)
		s.Endpoints[i].Conditions = discoveryv1.EndpointConditions{Ready: &ready, Serving: &ready, Terminating: ptr.To(false)}
	}
	return s
}

// filtered returns a slice with the addresses that are kept.
func filtered(slice *discoveryv1.EndpointSlice, by func(key endpoints.Key, isReady bool) (keep, ready bool)) *Slice {
	left := &Slice{Name: slice.Name, Family: slice.AddressType, Ports: slice.Ports}
	for key, held := range endpoints.In(slice) {
		keep, ready := by(key, endpoints.IsReady(held))
		if !keep {
			continue
		}
		e := *held
		isShown := ready || ready == endpoints.IsReady(held) && ptr.Deref(held.Conditions.Ready, true)
		e.Conditions = discoveryv1.EndpointConditions{
			Ready: &isShown, Serving: &ready, Terminating: ptr.To(ptr.Deref(e.Conditions.Terminating, false)),
		}
		left.Endpoints = append(left.Endpoints, e)
	}
	return left
}

// MovesAway reports whether an address that is wanted to be ready leaves a slice for another one: it is written there
// first.
func MovesAway(held *discoveryv1.EndpointSlice, wanted *Slice, fit *failover.Fitness) bool {
	return len(moving(held, wanted, fit)) > 0
}

// Keeping returns a wanted slice with the addresses of the current one that leave it for another one.
func Keeping(held *discoveryv1.EndpointSlice, wanted *Slice, fit *failover.Fitness) *Slice {
	left := moving(held, wanted, fit)
	if len(left) == 0 {
		return wanted
	}
	kept := *wanted
	kept.Endpoints = slices.Clone(wanted.Endpoints)
	for _, e := range left {
		kept.Endpoints = append(kept.Endpoints, *e)
	}
	return &kept
}

// moving returns the endpoints of a slice that take traffic and are wanted to, but not in this slice.
func moving(held *discoveryv1.EndpointSlice, wanted *Slice, fit *failover.Fitness) (left []*discoveryv1.Endpoint) {
	for key, e := range endpoints.In(held) {
		if endpoints.IsReady(e) && fit.IsWanted(key.IP) && !slices.ContainsFunc(wanted.Endpoints, func(w discoveryv1.Endpoint) bool {
			return w.Addresses[0] == e.Addresses[0]
		}) {
			left = append(left, e)
		}
	}
	return left
}

// FindSlice returns the current slice of a name, or nil.
func FindSlice(current []*discoveryv1.EndpointSlice, name string) *discoveryv1.EndpointSlice {
	if i := slices.IndexFunc(current, func(c *discoveryv1.EndpointSlice) bool { return c.Name == name }); i >= 0 {
		return current[i]
	}
	return nil
}

// FindWanted returns the wanted slice of a name, or nil.
func FindWanted(all []Slice, name string) *Slice {
	if i := slices.IndexFunc(all, func(s Slice) bool { return s.Name == name }); i >= 0 {
		return &all[i]
	}
	return nil
}

// Configuration returns what is applied for a slice of a Service.
func (s *Slice) Configuration(service *corev1.Service) *discoveryv1ac.EndpointSliceApplyConfiguration {
	wanted := discoveryv1ac.EndpointSlice(s.Name, service.Namespace).
		WithLabels(labels(service)).
		WithOwnerReferences(metav1ac.OwnerReference().
			WithAPIVersion("v1").WithKind("Service").WithName(service.Name).WithUID(service.UID).WithController(true)).
		WithAddressType(s.Family)
	for _, p := range s.Ports {
		wanted.WithPorts(&discoveryv1ac.EndpointPortApplyConfiguration{
			Name: p.Name, Port: p.Port, Protocol: p.Protocol, AppProtocol: p.AppProtocol,
		})
	}
	for _, e := range s.Endpoints {
		wanted.WithEndpoints(&discoveryv1ac.EndpointApplyConfiguration{
			Addresses: e.Addresses,
			Zone:      e.Zone,
			Conditions: discoveryv1ac.EndpointConditions().WithReady(*e.Conditions.Ready).
				WithServing(*e.Conditions.Serving).WithTerminating(*e.Conditions.Terminating),
			Hints: hints(&e),
		})
	}
	return wanted
}

func hints(e *discoveryv1.Endpoint) *discoveryv1ac.EndpointHintsApplyConfiguration {
	if e.Hints == nil {
		return nil
	}
	applied := discoveryv1ac.EndpointHints()
	for _, zone := range e.Hints.ForZones {
		applied.WithForZones(discoveryv1ac.ForZone().WithName(zone.Name))
	}
	return applied
}

// Object returns the EndpointSlice that a slice of a Service is once it was applied.
func (s *Slice) Object(service *corev1.Service) *discoveryv1.EndpointSlice {
	return &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: service.Namespace, Name: s.Name, Labels: labels(service),
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "Service", Name: service.Name, UID: service.UID,
				Controller: ptr.To(true)}},
		},
		AddressType: s.Family, Ports: s.Ports, Endpoints: s.Endpoints,
	}
}

// Is reports whether applying a slice of a Service would not change the current one.
func (s *Slice) Is(current *discoveryv1.EndpointSlice, service *corev1.Service) bool {
	return current.Labels[discoveryv1.LabelServiceName] == service.Name &&
		current.Labels[discoveryv1.LabelManagedBy] == common.ManagedBy &&
		len(current.OwnerReferences) == 1 && current.OwnerReferences[0].UID == service.UID &&
		ptr.Deref(current.OwnerReferences[0].Controller, false) &&
		current.AddressType == s.Family &&
		apiequality.Semantic.DeepEqual(current.Ports, s.Ports) &&
		apiequality.Semantic.DeepEqual(current.Endpoints, s.Endpoints)
}

func labels(service *corev1.Service) map[string]string {
	return map[string]string{discoveryv1.LabelServiceName: service.Name, discoveryv1.LabelManagedBy: common.ManagedBy}
}
