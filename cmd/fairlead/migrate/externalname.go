// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"regexp"
	"slices"

	corev1 "k8s.io/api/core/v1"

	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
)

var externalName = &Peer{
	Name: "external-name", Title: "Services of type ExternalName", Into: "ExternalService", Flags: []string{"name-suffix", "port"},
	Reads: []Kind{{GroupKind: serviceKind, Version: "v1", Plural: "services"}},
	Differences: slices.Concat([]string{
		"A Service of type ExternalName is an alias in DNS: clients connect to the external name and to any of its ports. An ExternalService has a cluster " +
			"IP, or with service.clusterIP None the addresses themselves, and only the ports that it names.",
		"Clients that verify a certificate, or send a Host header, have to be given the external name for that.",
	}, serviceDifferences),
	Steps:     serviceSteps,
	translate: translateExternalNames,
}

// inCluster are the names of Services.
var inCluster = regexp.MustCompile(`(?i)\.svc(\.cluster\.local)?\.?$|^localhost$`)

func translateExternalNames(r *run) {
	for _, o := range r.objects[serviceKind] {
		if o.Get("spec").Text("type") != string(corev1.ServiceTypeExternalName) {
			continue
		}
		s := r.subject(o)
		if inCluster.MatchString(o.Get("spec").Text("externalName")) {
			s.say(Left, "is an alias of a Service of the cluster, and no ExternalService")
			continue
		}
		e := r.external(s)
		name := s.root().in("spec", "externalName")
		target := networkingv1.Endpoint{Name: "external"}
		if text := name.text(); text == "" {
			name.say(Refused, "is missing; add the name, or delete the Service")
		} else if place(&target, name, text); len(target.Addresses) > 0 {
			name.say(Differs, "is an address, which no nameserver resolves as a name: it becomes one of addresses, and works")
		}
		e.Spec.Endpoints = []networkingv1.Endpoint{target}
		e.Spec.Ports, _ = s.servicePorts()
		if len(e.Spec.Ports) == 0 {
			e.Spec.Ports = r.options.Ports
			at := s.root().in("spec", "ports")
			if len(r.options.Ports) == 0 {
				at.say(Refused, "names no port, and an ExternalService needs those that clients use: add them, or give --port, such as --port=postgres:5432")
			} else {
				at.say(Differs, "names no port: those of --port are used")
			}
		}
		s.serviceFields(e)
		r.emit(e, s)
	}
}
