// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package externalservice

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/utils/ptr"

	"github.com/fairlead-dev/fairlead/api/common"
	v1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/api/networking/v1alpha1"
)

// overlayHub carries an edit of the view onto the saved hub form, field by field: what was not
// edited stays as the hub has it, and what was taken away is absent.
func overlayHub(saved hub, before, after spoke) hub {
	spec := &saved.Spec
	names := overlayPorts(spec, before.Spec.Ports, after.Spec.Ports)
	overlayEndpointPorts(spec, names)
	overlayProbe(spec, names, before.Spec.Probe, after.Spec.Probe)
	overlayHosts(spec, &before.Spec, &after.Spec)
	if !equality.Semantic.DeepEqual(before.Spec.RefreshSeconds, after.Spec.RefreshSeconds) {
		overlayRefresh(spec, after.Spec.RefreshSeconds)
	}
	take(&saved.Status.ObservedGeneration, before.Status.ObservedGeneration, after.Status.ObservedGeneration)
	take(&saved.Status.Conditions, before.Status.Conditions, after.Status.Conditions)
	return saved
}

// overlayPorts takes over the edited ports, and returns the new name of every old one that is
// still there. A port that came where another of the same number went is that one under a new
// name. Ports keep their order; new ones follow, by name.
func overlayPorts(spec *v1.ExternalServiceSpec, before, after map[string]v1alpha1.PortNumber) map[string]string {
	byNumber := map[v1alpha1.PortNumber]string{}
	for _, name := range slices.Backward(slices.Sorted(maps.Keys(after))) {
		if _, stood := before[name]; !stood {
			byNumber[after[name]] = name
		}
	}
	names := make(map[string]string, len(spec.Ports))
	taken := make(map[string]bool, len(after))
	kept := make([]v1.ServicePort, 0, len(after))
	for _, port := range spec.Ports {
		old := port.Name
		number, stays := after[old]
		if renamed, ok := byNumber[before[old]]; !stays && ok && !taken[renamed] {
			port.Name, number, stays = renamed, before[old], true
		}
		if !stays {
			continue
		}
		if number != before[old] {
			port.Port = int32(number)
		}
		names[old], taken[port.Name] = port.Name, true
		kept = append(kept, port)
	}
	for _, name := range slices.Sorted(maps.Keys(after)) {
		if !taken[name] {
			kept = append(kept, v1.ServicePort{Name: name, Port: int32(after[name])})
		}
	}
	spec.Ports = kept
	return names
}

// overlayEndpointPorts follows the names of ports, and drops what was said of a port that went.
func overlayEndpointPorts(spec *v1.ExternalServiceSpec, names map[string]string) {
	for i := range spec.Endpoints {
		var kept []v1.EndpointPort
		for _, port := range spec.Endpoints[i].Ports {
			if name, stays := names[port.Name]; stays {
				kept = append(kept, v1.EndpointPort{Name: name, Port: port.Port})
			}
		}
		spec.Endpoints[i].Ports = kept
	}
}

func overlayProbe(spec *v1.ExternalServiceSpec, names map[string]string, before, after *v1alpha1.Probe) {
	switch {
	case after == nil:
		// Without a check there is no failover either, v1 refuses one.
		spec.HealthCheck, spec.Failover = nil, nil
		return
	case spec.HealthCheck == nil || before == nil:
		spec.HealthCheck = upProbe(after, spec.Ports)
		return
	}
	h := spec.HealthCheck
	overlaySpan(&h.Interval, before.PeriodSeconds, after.PeriodSeconds)
	overlaySpan(&h.Timeout, before.TimeoutSeconds, after.TimeoutSeconds)
	overlayValue(&h.HealthyThreshold, before.SuccessThreshold, after.SuccessThreshold)
	overlayValue(&h.UnhealthyThreshold, before.FailureThreshold, after.FailureThreshold)

	oldNumber, _ := probePort(before)
	number, given := probePort(after)
	name, stays := names[h.Port]
	switch {
	case given && number != oldNumber:
		h.Port = portName(spec.Ports, number)
	case stays:
		h.Port = name
	case h.Port != "" || len(spec.Ports) > 1:
		h.Port = portName(spec.Ports, number)
	}
	overlayHandlers(h, before, after)
}

func overlayHandlers(h *v1.HealthCheck, before, after *v1alpha1.Probe) {
	old := *h
	h.TCP, h.HTTP, h.GRPC = nil, nil, nil
	upHandlers(h, after)
	if h.HTTP != nil && old.HTTP != nil && before.HTTPGet != nil {
		http := *old.HTTP
		overlayValue(&http.Path, before.HTTPGet.Path, after.HTTPGet.Path)
		overlayValue(&http.Scheme, (*v1.HTTPScheme)(before.HTTPGet.Scheme), (*v1.HTTPScheme)(after.HTTPGet.Scheme))
		http.Host = after.HTTPGet.Host
		h.HTTP = &http
	}
	if h.GRPC != nil && old.GRPC != nil {
		h.GRPC.Authority = old.GRPC.Authority
	}
	// What TLS was for may be gone.
	plain := h.HTTP != nil && ptr.Deref(h.HTTP.Scheme, v1.SchemeHTTPS) == v1.SchemeHTTP && (old.HTTP == nil || !equality.Semantic.DeepEqual(old.HTTP.Scheme, h.HTTP.Scheme))
	if h.TCP != nil && old.TCP == nil || plain {
		h.TLS = nil
	}
}

// overlayRefresh leaves no block of which nothing but defaults remain: a DNS name brings it back.
func overlayRefresh(spec *v1.ExternalServiceSpec, after *int32) {
	if spec.Resolution == nil {
		spec.Resolution = impliedResolution.DeepCopy()
	}
	r := spec.Resolution
	r.MinTTL, r.MaxTTL = optionalSeconds(after), optionalSeconds(after)
	if after != nil {
		return
	}
	bare := hub{Spec: v1.ExternalServiceSpec{Resolution: &v1.Resolution{}}}
	rest := hub{Spec: v1.ExternalServiceSpec{Resolution: r.DeepCopy()}}
	complete(&bare)
	complete(&rest)
	if equality.Semantic.DeepEqual(bare.Spec.Resolution, rest.Spec.Resolution) {
		spec.Resolution = nil
	}
}

func overlayValue[T comparable](value **T, before, after *T) {
	if !ptr.Equal(before, after) {
		*value = after
	}
}

func overlaySpan(value **common.Duration, before, after *int32) {
	if !ptr.Equal(before, after) {
		*value = optionalSeconds(after)
	}
}
