// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package externalservice

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"

	v1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/api/networking/v1alpha1"
	"github.com/fairlead-dev/fairlead/webhooks/conversion/check"
	"github.com/fairlead-dev/fairlead/webhooks/conversion/hubspoke"
)

// overlayHub applies an edit of the view to the saved hub form, field by field: unedited fields keep the value of
// the hub, and removed ones are absent.
func overlayHub(saved hub, before, after spoke) hub {
	spec := &saved.Spec
	names := overlayPorts(spec, before.Spec.Ports, after.Spec.Ports)
	overlayEndpointPorts(spec, names)
	overlayProbe(spec, before.Spec.Probe, after.Spec.Probe)
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

func overlayProbe(spec *v1.ExternalServiceSpec, before, after *v1alpha1.Probe) {
	switch {
	case after == nil:
		// v1 refuses a failover without a check.
		spec.HealthCheck, spec.Failover = nil, nil
	case spec.HealthCheck == nil || before == nil:
		spec.HealthCheck = upProbe(after)
	case !equality.Semantic.DeepEqual(before, after):
		h := *spec.HealthCheck
		h.Check = hubspoke.Merge(h.Check, check.Up(&before.Probe, before.TCPSocket), check.Up(&after.Probe, after.TCPSocket))
		check.DropTLS(&h.Check)
		spec.HealthCheck = &h
	}
}

// overlayRefresh removes a block that has only defaults left: defaulting adds it again for a DNS name.
func overlayRefresh(spec *v1.ExternalServiceSpec, after *int32) {
	if spec.Resolution == nil {
		spec.Resolution = impliedResolution.DeepCopy()
	}
	r := spec.Resolution
	r.MinTTL, r.MaxTTL = check.Duration(after), check.Duration(after)
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

func overlayField[T any](value *T, was, is T) {
	if !equality.Semantic.DeepEqual(was, is) {
		*value = is
	}
}
