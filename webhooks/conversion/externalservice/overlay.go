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

// overlayHub applies an edit of the view to the saved hub form, field by field: unedited fields keep the value of
// the hub, and removed ones are absent.
func overlayHub(saved hub, before, after spoke) hub {
	spec := &saved.Spec
	names := overlayPorts(spec, before.Spec.Ports, after.Spec.Ports)
	overlayEndpointPorts(spec, names)
	overlayProbe(spec, names, before.Spec.Probe, after.Spec.Probe)
	overlayHosts(spec, &before.Spec, &after.Spec)
	if !equality.Semantic.DeepEqual(before.Spec.RefreshSeconds, after.Spec.RefreshSeconds) {
		overlayRefresh(spec, after.Spec.RefreshSeconds)
	}
	overlayField(&saved.Status.ObservedGeneration, before.Status.ObservedGeneration, after.Status.ObservedGeneration)
	overlayField(&saved.Status.Conditions, before.Status.Conditions, after.Status.Conditions)
	return saved
}

// overlayPorts applies the edited ports, and returns the new name of every old one that remains. A port that
// replaces another of the same number is that one with a new name. Ports keep their order, and new ones follow,
// by name.
func overlayPorts(spec *v1.ExternalServiceSpec, before, after map[string]v1alpha1.PortNumber) map[string]string {
	byNumber := map[v1alpha1.PortNumber]string{}
	for _, name := range slices.Backward(slices.Sorted(maps.Keys(after))) {
		if _, existed := before[name]; !existed {
			byNumber[after[name]] = name
		}
	}
	names := make(map[string]string, len(spec.Ports))
	used := make(map[string]bool, len(after))
	kept := make([]v1.ServicePort, 0, len(after))
	for _, port := range spec.Ports {
		old := port.Name
		number, stays := after[old]
		if renamed, ok := byNumber[before[old]]; !stays && ok && !used[renamed] {
			port.Name, number, stays = renamed, before[old], true
		}
		if !stays {
			continue
		}
		if number != before[old] {
			port.Port = int32(number)
		}
		names[old], used[port.Name] = port.Name, true
		kept = append(kept, port)
	}
	for _, name := range slices.Sorted(maps.Keys(after)) {
		if !used[name] {
			kept = append(kept, v1.ServicePort{Name: name, Port: int32(after[name])})
		}
	}
	spec.Ports = kept
	return names
}

// overlayEndpointPorts renames the ports of endpoints, and drops those of removed ports.
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
		// v1 refuses a failover without a check.
		spec.HealthCheck, spec.Failover = nil, nil
		return
	case spec.HealthCheck == nil || before == nil:
		spec.HealthCheck = upProbe(after, spec.Ports)
		return
	}
	h := spec.HealthCheck
	overlayDuration(&h.Interval, before.PeriodSeconds, after.PeriodSeconds)
	overlayDuration(&h.Timeout, before.TimeoutSeconds, after.TimeoutSeconds)
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
	// The handler that TLS was for may have been removed.
	plain := h.HTTP != nil && ptr.Deref(h.HTTP.Scheme, v1.SchemeHTTPS) == v1.SchemeHTTP &&
		(old.HTTP == nil || !equality.Semantic.DeepEqual(old.HTTP.Scheme, h.HTTP.Scheme))
	if h.TCP != nil && old.TCP == nil || plain {
		h.TLS = nil
	}
}

// overlayRefresh removes a block that has only defaults left: defaulting adds it again for a DNS name.
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

func overlayDuration(value **common.Duration, before, after *int32) {
	if !ptr.Equal(before, after) {
		*value = optionalSeconds(after)
	}
}

// overlaySpoke applies an edit of the hub to the saved spoke form: every field whose view changed is that of the
// new view, and every other one is unchanged.
func overlaySpoke(saved spoke, before, after hub) spoke {
	was, is := down(before), down(after)
	overlayField(&saved.Spec.Hosts, was.Spec.Hosts, is.Spec.Hosts)
	overlayField(&saved.Spec.Ports, was.Spec.Ports, is.Spec.Ports)
	overlayField(&saved.Spec.RefreshSeconds, was.Spec.RefreshSeconds, is.Spec.RefreshSeconds)
	overlayField(&saved.Status, was.Status, is.Status)
	if saved.Spec.Probe == nil || was.Spec.Probe == nil || is.Spec.Probe == nil {
		overlayField(&saved.Spec.Probe, was.Spec.Probe, is.Spec.Probe)
		return saved
	}
	probe := *saved.Spec.Probe
	overlayProbeView(&probe, was.Spec.Probe, is.Spec.Probe)
	saved.Spec.Probe = &probe
	return saved
}

func overlayProbeView(probe, was, is *v1alpha1.Probe) {
	overlayField(&probe.TCPSocket, was.TCPSocket, is.TCPSocket)
	overlayGetView(probe, was.HTTPGet, is.HTTPGet)
	overlayField(&probe.GRPC, was.GRPC, is.GRPC)
	overlayField(&probe.PeriodSeconds, was.PeriodSeconds, is.PeriodSeconds)
	overlayField(&probe.TimeoutSeconds, was.TimeoutSeconds, is.TimeoutSeconds)
	overlayField(&probe.SuccessThreshold, was.SuccessThreshold, is.SuccessThreshold)
	overlayField(&probe.FailureThreshold, was.FailureThreshold, is.FailureThreshold)
}

func overlayGetView(probe *v1alpha1.Probe, was, is *v1alpha1.HTTPGetAction) {
	if probe.HTTPGet == nil || was == nil || is == nil {
		overlayField(&probe.HTTPGet, was, is)
		return
	}
	get := *probe.HTTPGet
	overlayField(&get.Port, was.Port, is.Port)
	overlayField(&get.Path, was.Path, is.Path)
	overlayField(&get.Host, was.Host, is.Host)
	overlayField(&get.Scheme, was.Scheme, is.Scheme)
	probe.HTTPGet = &get
}

func overlayField[T any](value *T, was, is T) {
	if !equality.Semantic.DeepEqual(was, is) {
		*value = is
	}
}
