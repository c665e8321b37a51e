// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package externalservice

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/fairlead-dev/fairlead/api/common"
	v1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/internal/rules"
)

// Warnings returns what is valid and probably a mistake. It reads the status of the old object; old may be nil.
func Warnings(obj, old *v1.ExternalService) []string {
	spec, out := &obj.Spec, warnings(nil)
	if IsHeadless(spec.Service) {
		out.headless(spec)
	}
	if spec.Service != nil {
		out.traffic(spec)
	}
	if p := spec.NetworkPolicy; p != nil {
		out = append(out, rules.SelectsAll(rules.At("spec", "networkPolicy", "podSelector"), p.PodSelector, "each pod of the namespace loses all egress that no other NetworkPolicy allows")...)
	}
	out.endpoints(spec.Endpoints)
	if old != nil {
		out.lastHealthy(rules.Within(spec.Endpoints), old)
	}
	if r := spec.Resolution; r != nil && ptr.Deref(r.OnFailure, v1.ResolutionKeepLast) == v1.ResolutionKeepLast &&
		ptr.Deref(r.KeepLastFor, defaultKeepLastFor) != defaultKeepLastFor {
		out.add("spec.resolution.keepLastFor: has no effect while onFailure is KeepLast, which keeps addresses for good; set onFailure to Remove")
	}
	if spec.HealthCheck != nil {
		out = append(out, rules.CheckWarnings(rules.At("spec", "healthCheck"), &spec.HealthCheck.Check)...)
	}
	request, err := ParseFault(common.TokenOf(obj, v1.InjectFaultAnnotation))
	if err == nil && request.At.IsZero() && (old == nil || old.Status.ObservedGeneration <= 0) {
		out = append(out, rules.EarlyRequest(obj, v1.InjectFaultAnnotation)...)
	}
	return out
}

type warnings []string

func (w *warnings) add(format string, args ...any) { *w = append(*w, fmt.Sprintf(format, args...)) }

// headless warns of a targetPort that differs from port: a headless Service does not translate ports.
func (w *warnings) headless(spec *v1.ExternalServiceSpec) {
	for i, p := range spec.Ports {
		if target := ptr.Deref(p.TargetPort, p.Port); target != p.Port {
			w.add("spec.ports[%d]: a headless Service does not translate ports: clients must connect to %d, not %d", i, target, p.Port)
		}
	}
	for i := range spec.Endpoints {
		if e := &spec.Endpoints[i]; len(e.Ports) > 0 {
			w.add("spec.endpoints[%d].ports: a headless Service does not translate ports: clients must know the ports of endpoint %q", i, e.Name)
		}
	}
}

// traffic warns of fields by which kube-proxy sends traffic nowhere, or as without them.
func (w *warnings) traffic(spec *v1.ExternalServiceSpec) {
	s := spec.Service
	if ptr.Deref(s.InternalTrafficPolicy, corev1.ServiceInternalTrafficPolicyCluster) == corev1.ServiceInternalTrafficPolicyLocal {
		w.add("spec.service.internalTrafficPolicy: Local sends traffic to addresses on the client's node alone, and these addresses are on no node: kube-proxy sends none; set Cluster")
	}
	if s.TrafficDistribution == nil {
		return
	}
	for i := range spec.Endpoints {
		if ptr.Deref(spec.Endpoints[i].Zone, "") == "" {
			w.add("spec.endpoints[%d].zone: is absent, and kube-proxy ignores service.trafficDistribution while a ready address has no zone; set it", i)
		}
	}
}

func (w *warnings) endpoints(list []v1.Endpoint) {
	first := map[v1.IPAddress]string{}
	for i := range list {
		e := &list[i]
		if e.DNS != nil && !strings.Contains(strings.TrimSuffix(e.DNS.Name, "."), ".") {
			w.add("spec.endpoints[%d].dns.name: %q is looked up as it is, without the cluster's search path; give the full name", i, e.DNS.Name)
		}
		for j, address := range e.Addresses {
			if other, listed := first[address]; listed && other != e.Name {
				w.add("spec.endpoints[%d].addresses[%d]: %s is also listed in endpoint %q", i, j, address, other)
				continue
			}
			first[address] = e.Name
		}
	}
	if len(list) > 0 && isAllDrained(list) {
		w.add("spec.endpoints: every endpoint is Drained: the Service will have no address")
	}
}

func isDrained(e *v1.Endpoint) bool {
	return ptr.Deref(e.State, v1.EndpointActive) == v1.EndpointDrained
}

func isAllDrained(list []v1.Endpoint) bool {
	return !slices.ContainsFunc(list, func(e v1.Endpoint) bool { return !isDrained(&e) })
}

// lastHealthy warns of an update that drains or removes the last endpoint with a healthy address, by the status of the
// old object.
func (w *warnings) lastHealthy(list []v1.Endpoint, old *v1.ExternalService) {
	if old.Spec.HealthCheck == nil || isAllDrained(list) {
		return
	}
	known := knownHealthOf(&old.Status)
	last := ""
	for i := range rules.Within(old.Spec.Endpoints) {
		if e := &old.Spec.Endpoints[i]; !isDrained(e) && known.isHealthy(e.Name) {
			last = e.Name
		}
	}
	if last == "" || slices.ContainsFunc(list, func(e v1.Endpoint) bool { return known.mayBeHealthy(&e, old) }) {
		return
	}
	w.add("spec.endpoints: no address of the endpoints that are left is healthy: the Service will have no healthy address without endpoint %q", last)
}

// knownHealth is the health of addresses in a status.
type knownHealth struct {
	addresses map[string][]knownAddress // by endpoint
	// best is the best health of each address, since several endpoints may have the same address.
	best map[knownAddress]v1.AddressHealth
}

type knownAddress struct {
	ip   string
	port int32 // of an SRV record
}

func knownHealthOf(status *v1.ExternalServiceStatus) knownHealth {
	known := knownHealth{addresses: map[string][]knownAddress{}, best: map[knownAddress]v1.AddressHealth{}}
	for i := range status.Endpoints {
		e := &status.Endpoints[i]
		for _, a := range e.Addresses {
			at := knownAddress{a.IP, a.Port}
			known.addresses[e.Name] = append(known.addresses[e.Name], at)
			if known.best[at] != v1.AddressHealthy {
				known.best[at] = a.Health
			}
		}
	}
	return known
}

// isHealthy reports whether an endpoint has a healthy address.
func (k *knownHealth) isHealthy(endpoint string) bool {
	return slices.ContainsFunc(k.addresses[endpoint], func(at knownAddress) bool { return k.best[at] == v1.AddressHealthy })
}

// mayBeHealthy reports whether an endpoint of the new spec is active and has an address that is healthy or not checked
// yet.
func (k *knownHealth) mayBeHealthy(e *v1.Endpoint, old *v1.ExternalService) bool {
	isUnhealthy := func(at knownAddress) bool { return k.best[at] == v1.AddressUnhealthy }
	switch {
	case isDrained(e):
		return false
	case e.DNS == nil:
		return slices.ContainsFunc(e.Addresses, func(ip v1.IPAddress) bool { return !isUnhealthy(knownAddress{ip: string(ip)}) })
	case !isNameOf(old, e):
		return true // the name was not resolved yet
	}
	return slices.ContainsFunc(k.addresses[e.Name], func(at knownAddress) bool { return !isUnhealthy(at) })
}

// isNameOf reports whether an endpoint has the same DNS name as in the status.
func isNameOf(old *v1.ExternalService, e *v1.Endpoint) bool {
	return slices.ContainsFunc(old.Status.Endpoints, func(s v1.EndpointStatus) bool {
		return s.Name == e.Name && strings.EqualFold(s.DNSName, e.DNS.Name)
	})
}
