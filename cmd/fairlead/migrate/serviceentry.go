// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
)

var serviceEntryKind = schema.GroupKind{Group: "networking.istio.io", Kind: "ServiceEntry"}

var serviceEntry = &Peer{
	Name: "service-entry", Title: "the ServiceEntries of Istio", Into: "ExternalService", Flags: []string{"name-suffix"},
	Reads: []Kind{{GroupKind: serviceEntryKind, Plural: "serviceentries"}},
	Differences: []string{
		"A ServiceEntry keeps the name of the host, and clients call that. An ExternalService is a Service: clients call NAME.NAMESPACE.svc, and have to be given " +
			"the host for certificates and the Host header.",
		"VirtualServices, DestinationRules, AuthorizationPolicies and egress gateways that name the host have no effect on the Service, until they name it instead.",
		"With outboundTrafficPolicy REGISTRY_ONLY, calls to the host itself need the ServiceEntry as before.",
		"Without healthCheck every address counts as healthy. Outlier detection of a DestinationRule looks at requests, and a healthCheck asks by itself.",
	},
	Steps: []string{
		"Apply the objects beside the ServiceEntries: they share no name with them, and nothing changes for clients.",
		"Wait until each object is Ready, and give clients the name of the Service.",
		"Rewrite what names the host, and delete the ServiceEntry.",
	},
	translate: func(r *run) {
		for _, o := range r.objects[serviceEntryKind] {
			r.serviceEntry(o)
		}
	},
}

// appProtocols of the protocols of Istio, which reads them from a Service in the same way.
var appProtocols = map[string]string{
	"HTTP": "http", "HTTPS": "https", "HTTP2": "http2", "GRPC": "grpc", "GRPC-WEB": "grpc-web", "TLS": "tls", "MONGO": "mongo",
	"TCP": "", "UDP": "",
}

func (r *run) serviceEntry(o *object) {
	s := r.subject(o)
	base := r.external(s)
	base.Spec.Service = nil // its labels are of the ServiceEntry
	for key, value := range s.labels() {
		if base.Labels == nil {
			base.Labels = map[string]string{}
		}
		base.Labels[key] = string(value)
	}
	spec := s.root().in("spec")
	if spec.in("workloadSelector").exists() {
		spec.in("workloadSelector").say(Refused, "selects pods and WorkloadEntries, which a Service with a selector does too; give the addresses of machines as endpoints")
	}
	if location := spec.in("location"); location.text() == "MESH_INTERNAL" {
		location.say(Lost, "the mesh takes no part in it: there is no mutual TLS to the addresses")
	}
	base.Spec.Ports = s.serviceEntryPorts(spec)
	resolution := spec.in("resolution").text()
	switch resolution {
	case "DNS_ROUND_ROBIN":
		spec.in("resolution").say(Differs, "uses one address at a time, and all addresses of the name are published")
	case "", "NONE":
		spec.in("resolution").say(Differs, "forwards to the address that a client has looked up, and the host is looked up by the operator")
	case "DNS", "STATIC":
	default:
		spec.in("resolution").say(Refused, "%.40q is not one of NONE, STATIC, DNS and DNS_ROUND_ROBIN; give its endpoints by hand", resolution)
	}
	if addresses := spec.in("addresses"); addresses.exists() {
		addresses.say(Lost, "a virtual address is one of the Service that Kubernetes chooses")
	}
	if to := spec.in("exportTo"); to.exists() {
		to.say(Lost, "a Service can be called from all namespaces; policies of the mesh or of the network restrict that")
	}
	hosts := spec.in("hosts").items()
	s.serviceEntryEndpoints(spec, base)
	if len(base.Spec.Endpoints) > 0 {
		for _, h := range hosts {
			h.use()
		}
		spec.rest(noField)
		r.emit(base, s)
		return
	}
	if len(hosts) == 0 {
		spec.in("hosts").say(Refused, "is missing; add a host, or endpoints")
	}
	for _, h := range hosts {
		e := base.DeepCopy()
		name := h.text()
		if strings.Contains(name, "*") { // the others are migrated
			r.remarks = append(r.remarks, Remark{Effect: Refused, Place: h.at, Object: s.label(), Field: h.path, Text: "is a wildcard, which cannot be looked up; name the hosts that are called"})
			continue
		}
		if len(hosts) > 1 {
			e.Name = dashed(name, 52-len(r.options.NameSuffix)) + r.options.NameSuffix
		}
		target := networkingv1.Endpoint{Name: "host"}
		place(&target, h, name)
		e.Spec.Endpoints = []networkingv1.Endpoint{target}
		defer r.emit(e, s)
	}
	if len(hosts) > 1 {
		spec.in("hosts").note(Differs, "become an ExternalService each, named as the host")
	}
	spec.rest(noField)
}

func (s *subject) serviceEntryPorts(spec cursor) (ports []networkingv1.ServicePort) {
	for _, p := range spec.in("ports").items() {
		port := networkingv1.ServicePort{Port: p.in("number").number()}
		port.Name = nameOfPort(p.in("name"), p.in("name").text(), port.Port)
		if target := p.in("targetPort").number(); target != 0 && target != port.Port {
			port.TargetPort = &target
		}
		protocol := strings.ToUpper(p.in("protocol").text())
		application, known := appProtocols[protocol]
		if !known {
			application = strings.ToLower(protocol)
		}
		port.AppProtocol = optional(application)
		if protocol == "UDP" {
			setProtocol(&port, string(corev1.ProtocolUDP))
		}
		ports = append(ports, port)
	}
	if len(ports) == 0 {
		spec.in("ports").say(Refused, "names no port, and an ExternalService needs those that clients use: add them")
	}
	return ports
}

// serviceEntryEndpoints makes endpoints of those that are listed.
func (s *subject) serviceEntryEndpoints(spec cursor, e *networkingv1.ExternalService) {
	names := map[string]bool{}
	for _, item := range spec.in("endpoints").items() {
		address := item.in("address")
		endpoint := networkingv1.Endpoint{Name: unique(names, dashed(address.text(), 50))}
		place(&endpoint, address, address.text())
		if address.text() == "" {
			address.say(Refused, "is missing; add an address or a name")
		}
		// A locality is region/zone/subzone.
		if parts := strings.Split(item.in("locality").text(), "/"); len(parts) > 1 {
			endpoint.Zone = optional(parts[1])
		}
		members, keys := item.in("ports").members()
		for i, m := range members {
			found := false
			for n, p := range spec.in("ports").items() {
				if number := m.number(); p.in("name").text() == keys[i] {
					found = true
					endpoint.Ports = append(endpoint.Ports, networkingv1.EndpointPort{Name: e.Spec.Ports[n].Name, Port: number})
				}
			}
			if !found {
				m.say(Lost, "the ServiceEntry has no port %q", keys[i])
			}
		}
		if weight := item.in("weight"); weight.exists() {
			weight.say(Lost, "all addresses of a Service get the same share; a priority prefers some, with a healthCheck")
		}
		item.rest("an endpoint has no such field")
		e.Spec.Endpoints = append(e.Spec.Endpoints, endpoint)
	}
}
