// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"cmp"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/fairlead-dev/fairlead/api/common"
	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
)

var clusterEndpointKind = schema.GroupKind{Group: "sealos.io", Kind: "ClusterEndpoint"}

var clusterEndpoints = &Peer{
	Name: "endpoints-operator", Title: "the ClusterEndpoints of endpoints-operator", Into: "ExternalService", Flags: []string{"name-suffix"},
	Reads: []Kind{{GroupKind: clusterEndpointKind, Plural: "clusterendpoints"}},
	Differences: []string{
		"endpoints-operator checks each port of an address by itself. An ExternalService has one check, whose result is that of the address.",
		"An address that fails stays in its EndpointSlice as not ready, and is removed from no list.",
		"The egress policy of the operator, and the rights of the user who applies the object, decide on addresses that belong to the cluster.",
	},
	Steps: append(slices.Clone(serviceSteps),
		"Deleting a ClusterEndpoint deletes its Service, while endpoints-operator runs. Uninstall that when no ClusterEndpoint is left: they have a finalizer."),
	translate: func(r *run) {
		for _, kind := range []schema.GroupKind{clusterEndpointKind, {Group: "sealyun.com", Kind: clusterEndpointKind.Kind}} {
			for _, o := range r.objects[kind] {
				r.clusterEndpoint(o)
			}
		}
	},
}

func (r *run) clusterEndpoint(o *object) {
	s := r.subject(o)
	e := r.external(s)
	spec := s.root().in("spec")
	switch ip := spec.in("clusterIP"); ip.text() {
	case "":
	case corev1.ClusterIPNone:
		headless(e)
	default:
		ip.say(Differs, "is chosen by Kubernetes")
	}
	ports := spec.in("ports").items()
	var hosts []string
	for i, p := range ports {
		e.Spec.Ports = append(e.Spec.Ports, clusterEndpointPort(p))
		these := slices.Sorted(slices.Values(p.in("hosts").texts()))
		if i == 0 {
			hosts = these
		} else if !slices.Equal(hosts, these) {
			p.in("hosts").say(Refused, "differ from those of the first port, and an ExternalService publishes each port at each address: write a ClusterEndpoint "+
				"for each list of hosts, and run this again")
		}
	}
	s.hosts(e, hosts)
	period := time.Duration(cmp.Or(spec.in("periodSeconds").number(), 10)) * time.Second
	clusterEndpointChecks(e, ports, period)
	for _, p := range ports {
		for _, field := range []string{"timeoutSeconds", "failureThreshold", "successThreshold"} {
			p.in(field).use() // of checks that were not taken
		}
	}
	spec.rest(noField)
	r.emit(e, s)
}

func clusterEndpointPort(p cursor) networkingv1.ServicePort {
	port := networkingv1.ServicePort{Port: p.in("port").number()}
	port.Name = nameOfPort(p.in("name"), p.in("name").text(), port.Port)
	setProtocol(&port, p.in("protocol").text())
	if target := p.in("targetPort").number(); target != port.Port && target != 0 {
		port.TargetPort = &target
	}
	return port
}

// clusterEndpointChecks takes the check that says most, and names the others.
func clusterEndpointChecks(e *networkingv1.ExternalService, ports []cursor, period time.Duration) {
	for _, field := range []string{"httpGet", "grpc", "tcpSocket"} {
		for _, p := range ports {
			switch c := p.in(field); {
			case !c.exists():
			case e.Spec.HealthCheck != nil:
				c.say(Lost, "an ExternalService has one check, and another one is taken")
			default:
				clusterEndpointCheck(e, p, period)
			}
		}
	}
	for _, p := range ports {
		if c := p.in("udpSocket"); c.exists() {
			c.say(Lost, "there is no check by UDP")
		}
	}
}

// hosts makes endpoints of addresses and names.
func (s *subject) hosts(e *networkingv1.ExternalService, hosts []string) {
	endpoint := networkingv1.Endpoint{Name: "addresses"}
	names := map[string]bool{}
	var byName []networkingv1.Endpoint
	for _, host := range hosts {
		if address, ok := canonical(host); ok {
			endpoint.Addresses = append(endpoint.Addresses, address)
			continue
		}
		name := &networkingv1.DNSName{Name: strings.ToLower(host)}
		byName = append(byName, networkingv1.Endpoint{Name: dashed(host, 50), DNS: name})
	}
	e.Spec.Endpoints = chunks(endpoint, names)
	for _, endpoint := range byName {
		endpoint.Name = unique(names, endpoint.Name)
		e.Spec.Endpoints = append(e.Spec.Endpoints, endpoint)
	}
	if len(e.Spec.Endpoints) == 0 {
		s.root().in("spec", "ports").note(Refused, "has no hosts; there is nothing to publish")
	}
}

// clusterEndpointCheck takes the check of a port.
func clusterEndpointCheck(e *networkingv1.ExternalService, p cursor, period time.Duration) {
	check := &networkingv1.HealthCheck{}
	port := intstr.FromInt32(p.in("port").number())
	for i := range e.Spec.Ports {
		if e.Spec.Ports[i].Port == port.IntVal {
			port = intstr.FromString(e.Spec.Ports[i].Name)
		}
	}
	switch get, grpc, tcp := p.in("httpGet"), p.in("grpc"), p.in("tcpSocket"); {
	case get.exists():
		check.HTTPGet = &common.HTTPGetAction{Port: &port}
		if path := get.in("path").text(); path != "" {
			check.HTTPGet.Path = &path
		}
		setScheme(check.HTTPGet, get.in("scheme").text())
		if check.HTTPGet.Scheme != nil {
			skip := true
			check.TLS = &common.CheckTLS{InsecureSkipVerify: &skip}
			get.in("scheme").say(Differs, "endpoints-operator verifies no certificate, and neither does the check: set tls.serverName or tls.caSecretName, and remove insecureSkipVerify")
		}
		for _, h := range get.in("httpHeaders").items() {
			addHeader(check.HTTPGet, h, h.in("name").text(), h.in("value").text())
		}
		get.rest("a check has no such field")
	case grpc.exists():
		check.GRPC = &common.GRPCAction{Port: &port, Service: optional(grpc.in("service").text())}
		grpc.use()
	default:
		tcp.use()
		check.TCPSocket = &common.TCPSocketAction{Port: &port}
	}
	timeout := cmp.Or(p.in("timeoutSeconds").number(), 1)
	success, failure := cmp.Or(p.in("successThreshold").number(), 1), cmp.Or(p.in("failureThreshold").number(), 3)
	check.SuccessThreshold, check.FailureThreshold = &success, &failure
	setTimes(check, p, period, time.Duration(timeout)*time.Second)
	e.Spec.HealthCheck = check
}
