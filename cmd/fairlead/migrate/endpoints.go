// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"

	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
)

var endpoints = &Peer{
	Name: "endpoints", Title: "Services without a selector, with Endpoints or EndpointSlices that are written by hand", Into: "ExternalService", Flags: []string{"name-suffix"},
	Reads: []Kind{
		{GroupKind: serviceKind, Version: "v1", Plural: "services"},
		{GroupKind: sliceKind, Version: "v1", Plural: "endpointslices"},
		{GroupKind: endpointsKind, Version: "v1", Plural: "endpoints", Optional: true},
	},
	Differences: append([]string{"The Service of an ExternalService gets a cluster IP of its own: clients should use the name."}, serviceDifferences...),
	Steps: append(slices.Clone(serviceSteps),
		"Delete Endpoints of the old Service too: Kubernetes mirrors them into EndpointSlices, which take traffic beside those of Fairlead."),
	translate: translateEndpoints,
}

// controllers that write EndpointSlices, by the label endpointslice.kubernetes.io/managed-by.
var controllers = []string{"endpointslice-controller.k8s.io", "endpointslicemirroring-controller.k8s.io"}

func translateEndpoints(r *run) {
	behind := map[string][]*object{} // by namespace/name of the Service
	for _, o := range r.objects[endpointsKind] {
		behind[o.namespace+"/"+o.name] = append(behind[o.namespace+"/"+o.name], o)
	}
	for _, o := range r.objects[sliceKind] {
		labels := o.Get("metadata").Get("labels")
		if !o.isOurs() && !slices.Contains(controllers, labels.Text(discoveryv1.LabelManagedBy)) {
			name := o.namespace + "/" + labels.Text(discoveryv1.LabelServiceName)
			behind[name] = append(behind[name], o)
		}
	}
	for _, o := range r.objects[serviceKind] {
		spec, name := o.Get("spec"), o.namespace+"/"+o.name
		found := behind[name]
		delete(behind, name)
		switch selector := spec.Get("selector"); {
		case spec.Text("type") == string(corev1.ServiceTypeExternalName), selector != nil && len(selector.Members) > 0, o.isOurs():
			continue
		case o.name == "kubernetes" && (o.namespace == "default" || o.namespace == ""):
			r.subject(o).say(Left, "is that of the API server")
			continue
		case len(found) == 0:
			r.subject(o).say(Left, "has no selector, and neither Endpoints nor an EndpointSlice of its own in the input; give those too, if there are any")
			continue
		}
		r.translateEndpointsOf(o, found)
	}
	for _, name := range slices.Sorted(maps.Keys(behind)) {
		for _, o := range behind[name] {
			if r.get(serviceKind, o.namespace, name[len(o.namespace)+1:]) == nil {
				r.subject(o).say(Left, "belongs to no Service of the input; give Service %s too, if there is one", strings.Trim(name, "/"))
			}
		}
	}
}

// group is of addresses that become one endpoint.
type group struct {
	zone  string
	ready bool
	ports string // as a key
}

// gathering gathers the addresses behind a Service.
type gathering struct {
	service   *subject
	names     []string // of the ports, as the Service has them
	ports     []networkingv1.ServicePort
	groups    []group
	addresses map[group][]networkingv1.IPAddress
	numbers   map[string][]int32 // of the ports, by the key of a group
	dns       []networkingv1.Endpoint
}

func (r *run) translateEndpointsOf(o *object, found []*object) {
	s := r.subject(o)
	e := r.external(s)
	g := gathering{service: s, addresses: map[group][]networkingv1.IPAddress{}, numbers: map[string][]int32{}}
	g.ports, g.names = s.servicePorts()
	e.Spec.Ports = g.ports
	s.serviceFields(e)
	all := []*subject{s}
	for _, o := range found {
		if owners := o.Get("metadata").Get("ownerReferences"); owners != nil && len(owners.Items) > 0 {
			s.say(Refused, "%s is kept by a controller, %s %s: it would write the old addresses again; move what that does first", o.key(),
				owners.Items[0].Text("kind"), owners.Items[0].Text("name"))
		}
		b := r.subject(o)
		b.annotations()
		if o.GroupKind() == endpointsKind {
			g.endpoints(b)
		} else {
			g.slice(b)
		}
		all = append(all, b)
	}
	g.write(e)
	r.emit(e, all...)
}

// endpoints adds the addresses of Endpoints.
func (g *gathering) endpoints(s *subject) {
	for _, subset := range s.root().in("subsets").items() {
		ports := g.match(subset)
		for _, field := range []string{"addresses", "notReadyAddresses"} {
			for _, a := range subset.in(field).items() {
				g.add(a.in("ip"), a.in("ip").text(), group{ready: field == "addresses", ports: ports})
				g.target(a)
				a.rest(noField)
			}
		}
	}
}

// slice adds the addresses of an EndpointSlice.
func (g *gathering) slice(s *subject) {
	root := s.root()
	fqdn := root.in("addressType").text() == string(discoveryv1.AddressTypeFQDN)
	ports := g.match(root)
	for _, a := range root.in("endpoints").items() {
		conditions := a.in("conditions")
		ready := conditions.in("ready")
		to := group{zone: a.in("zone").text(), ready: !ready.exists() || ready.isTrue(), ports: ports}
		conditions.use()
		g.target(a)
		for _, text := range a.in("addresses").items() {
			if fqdn {
				g.dns = append(g.dns, networkingv1.Endpoint{DNS: &networkingv1.DNSName{Name: strings.ToLower(text.text())}, Zone: optional(to.zone)})
				continue
			}
			g.add(text, text.text(), to)
		}
		a.in("nodeName").use()
		a.in("hints").use() // which Kubernetes derives from the zones
		a.rest(noField)
	}
}

// target refuses an address of a pod: it belongs to a Service with a selector.
func (g *gathering) target(a cursor) {
	if ref := a.in("targetRef"); ref.exists() {
		ref.say(Refused, "is an address of the cluster's own, of %s %s: give the Service a selector instead", ref.n.Text("kind"), ref.n.Text("name"))
	}
	if node := a.in("nodeName"); node.exists() {
		node.use()
	}
}

func (g *gathering) add(at cursor, text string, to group) {
	address, ok := canonical(text)
	if !ok {
		at.say(Refused, "%.60q is no IP address; correct it", text)
		return
	}
	if _, has := g.addresses[to]; !has {
		g.groups = append(g.groups, to)
	}
	if !slices.Contains(g.addresses[to], address) {
		g.addresses[to] = append(g.addresses[to], address)
	}
}

// match relates the ports of addresses to those of the Service, by their names, and returns a key for the numbers.
func (g *gathering) match(c cursor) string {
	numbers, taken := make([]int32, len(g.ports)), 0
	for _, p := range c.in("ports").items() {
		name, number := p.in("name").text(), p.in("port").number()
		p.in("protocol").use()
		p.in("appProtocol").use()
		i := slices.Index(g.names, name)
		if i < 0 && len(g.names) == 1 && len(c.in("ports").n.Items) == 1 {
			i = 0
		}
		if i < 0 {
			p.say(Lost, "the Service has no port %q", name)
			continue
		}
		if numbers[i] = number; number > 0 {
			taken++
		}
	}
	if taken < len(g.ports) && len(g.ports) > 0 {
		c.in("ports").enter()
		c.note(Differs, "has not all ports of the Service: an ExternalService publishes each port at each address")
	}
	key := fmt.Sprint(numbers)
	g.numbers[key] = numbers
	return key
}

// write makes endpoints of the addresses. The ports of the first group are those of the object.
func (g *gathering) write(e *networkingv1.ExternalService) {
	names := map[string]bool{}
	for i, to := range g.groups {
		numbers := g.numbers[to.ports]
		endpoint := networkingv1.Endpoint{Name: "addresses", Zone: optional(to.zone), Addresses: g.addresses[to]}
		if to.zone != "" {
			endpoint.Name = dashed(to.zone, 50)
		}
		if !to.ready {
			drained := networkingv1.EndpointDrained
			endpoint.Name, endpoint.State = "not-ready", &drained
			g.service.say(Differs, "%s not ready: the endpoint %s is Drained, and takes no traffic until that is removed; with a healthCheck it need not be",
				strings.Join(texts(endpoint.Addresses), ", "), endpoint.Name)
		}
		for n, number := range numbers {
			p := &e.Spec.Ports[n]
			switch {
			case number == 0:
			case i == 0 && number == p.Port:
				p.TargetPort = nil
			case i == 0:
				p.TargetPort = &number
			case number != p.Port && p.TargetPort == nil, p.TargetPort != nil && number != *p.TargetPort:
				endpoint.Ports = append(endpoint.Ports, networkingv1.EndpointPort{Name: p.Name, Port: number})
			}
		}
		e.Spec.Endpoints = append(e.Spec.Endpoints, chunks(endpoint, names)...)
	}
	for _, endpoint := range g.dns {
		endpoint.Name = unique(names, dashed(endpoint.DNS.Name, 50))
		e.Spec.Endpoints = append(e.Spec.Endpoints, endpoint)
	}
	if len(e.Spec.Endpoints) == 0 {
		g.service.say(Refused, "has no address; there is nothing to publish")
	}
	if len(e.Spec.Ports) == 0 {
		g.service.root().in("spec", "ports").say(Refused, "names no port, and an ExternalService needs those that clients use: add them")
	}
}

func texts(addresses []networkingv1.IPAddress) (all []string) {
	for _, a := range addresses {
		all = append(all, string(a))
	}
	return all
}
