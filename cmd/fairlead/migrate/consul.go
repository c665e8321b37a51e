// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"cmp"
	"encoding/json"
	"net"
	"net/netip"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/fairlead-dev/fairlead/api/common"
	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
)

var consulESM = &Peer{
	Name: "consul-esm", Title: "external nodes of Consul that consul-esm checks", Into: "ExternalService",
	Flags: []string{"name-suffix", "passing-threshold", "critical-threshold"},
	Differences: []string{
		"Clients call NAME.NAMESPACE.svc instead of NAME.service.consul. Nothing is registered in Consul any more.",
		"An ExternalService has one check, which is made to the address of each endpoint, from the operator.",
		"An address that fails stays listed as not ready; nothing is deregistered, and nothing is pinged.",
		"consul-esm counts results back by one where they alternate, and an ExternalService counts those in a row.",
	},
	Steps: []string{
		"The objects have no namespace: `kubectl apply -n NAMESPACE`.",
		"The input is what was registered (the body of /v1/catalog/register), or what /v1/health/service/NAME returns.",
		"Wait until each object is Ready and Healthy, give clients the name of the Service, and deregister the nodes.",
	},
	translate: translateConsul,
}

// What consul-esm does where a check does not say.
const (
	consulInterval = 30 * time.Second
	consulTimeout  = 10 * time.Second
)

const noCatalogField = "is of Consul's catalog, and has no counterpart"

// instance is a service at a node.
type instance struct {
	s           *subject
	service     cursor
	node, name  string
	address     cursor
	addressText string
	port        int32
	checks      []cursor
}

func translateConsul(r *run) {
	var all []instance
	for _, o := range r.untyped {
		o.GroupVersionKind = schema.GroupVersionKind{Kind: "Node"}
		if name := o.Text("Node"); name != "" {
			o.name = name
		} else {
			o.name = o.Get("Node").Text("Node")
		}
		if o.name == "" && o.Text("ServiceName") == "" {
			continue // no registration
		}
		s := r.subject(o)
		if i, ok := s.instance(); ok {
			all = append(all, i)
		}
	}
	slices.SortStableFunc(all, func(a, b instance) int { return cmp.Or(cmp.Compare(a.name, b.name), cmp.Compare(a.node, b.node)) })
	for len(all) > 0 {
		n := slices.IndexFunc(all, func(i instance) bool { return i.name != all[0].name })
		if n < 0 {
			n = len(all)
		}
		r.consulService(all[:n])
		all = all[n:]
	}
}

// instance reads a registration, or an item of /v1/health/service.
func (s *subject) instance() (instance, bool) {
	root := s.root()
	node, meta := root, root.in("NodeMeta")
	if n := root.in("Node"); n.exists() && n.n.Get("Node") != nil {
		node, meta = n, n.in("Meta")
	}
	i := instance{s: s, node: node.in("Node").text(), service: root.in("Service")}
	switch {
	case i.service.n.Text("Service") == "":
		s.say(Refused, "has no Service: give what was registered at /v1/catalog/register, or what /v1/health/service/NAME returns")
		return i, false
	case meta.exists() && meta.n.Text("external-node") != "true":
		s.say(Left, "has no node metadata external-node, so that an agent of its own checks it, and consul-esm does not")
		return i, false
	}
	meta.in("external-node").use()
	if probe := meta.in("external-probe"); meta.n.Text("external-probe") == "true" {
		probe.say(Lost, "nodes are not pinged; the check of the service decides")
	}
	i.name = i.service.in("Service").text()
	i.port = i.service.in("Port").number()
	i.address = i.service.in("Address")
	i.addressText = i.address.text()
	if address, err := netip.ParseAddr(i.addressText); i.addressText == "" || err == nil && address.IsLoopback() {
		if i.addressText != "" {
			i.address.say(Differs, "is one of the machine itself: the address of the node is used")
		}
		i.address = node.in("Address")
		i.addressText = i.address.text()
	}
	node.in("Address").use()
	for _, field := range []string{"Checks", "Check"} {
		if c := root.in(field); c.exists() && c.n.Items == nil {
			i.checks = append(i.checks, c)
		} else {
			i.checks = append(i.checks, c.items()...)
		}
	}
	for _, c := range []cursor{root, node, i.service} {
		c.identity()
	}
	return i, true
}

// identity reads the fields by which Consul tells its objects apart, and itself from other clusters.
func (c cursor) identity() {
	for _, field := range []string{"ID", "Datacenter", "Partition", "PeerName", "CreateIndex", "ModifyIndex", "SkipNodeUpdate"} {
		c.in(field).use()
	}
}

func (r *run) consulService(all []instance) {
	first, suffix := all[0], r.options.NameSuffix
	e := &networkingv1.ExternalService{ObjectMeta: metav1.ObjectMeta{Name: dashed(first.name, 52-len(suffix)) + suffix}}
	if e.Name != first.name+suffix {
		first.service.in("Service").say(Differs, "%q is called %s", first.name, e.Name)
	}
	if first.port == 0 {
		first.service.in("Port").say(Refused, "is missing, and an ExternalService needs the port that clients use: add it")
	}
	e.Spec.Ports = []networkingv1.ServicePort{{Name: "service", Port: first.port}}
	names := map[string]bool{}
	var subjects []*subject
	for n := range all {
		i := &all[n]
		subjects = append(subjects, i.s)
		endpoint := networkingv1.Endpoint{Name: unique(names, dashed(i.node, 50))}
		if i.addressText == "" {
			i.s.say(Refused, "has no Address; add one")
		} else {
			place(&endpoint, i.address, i.addressText)
		}
		if i.port != first.port && i.port != 0 {
			endpoint.Ports = []networkingv1.EndpointPort{{Name: "service", Port: i.port}}
		}
		e.Spec.Endpoints = append(e.Spec.Endpoints, endpoint)
		r.consulChecks(e, i)
	}
	for n := range all {
		all[n].s.root().rest(noCatalogField)
		if e.Spec.HealthCheck != nil && len(all[n].checks) == 0 {
			all[n].s.say(Differs, "has no check, and gets that of the other nodes")
		}
	}
	r.emit(e, subjects...)
}

// taken returns the check of an instance that is taken, the first by HTTP, by gRPC or by TCP; -1 for none.
func (i *instance) taken() int {
	for _, field := range []string{"HTTP", "GRPC", "TCP"} {
		for n, c := range i.checks {
			// Of a check of another service at the node, the id is another one.
			id := c.n.Text("ServiceID")
			if (id == "" || id == cmp.Or(i.service.n.Text("ID"), i.name)) && c.n.Get("Definition").Text(field) != "" {
				return n
			}
		}
	}
	return -1
}

// consulChecks takes one check of an instance. That of the first instance with one is the check of the object.
func (r *run) consulChecks(e *networkingv1.ExternalService, i *instance) {
	taken := i.taken()
	for n, c := range i.checks {
		definition := c.in("Definition")
		switch had := e.Spec.HealthCheck; {
		case n == taken && had == nil:
			e.Spec.HealthCheck = r.consulCheck(e, i, definition)
			definition.rest("a check has no such field")
		case n == taken:
			if check := r.consulCheck(e.DeepCopy(), i, definition); !reflect.DeepEqual(had, check) {
				definition.say(Lost, "differs from the check of the first node, which all addresses get")
			}
		case definition.exists() && len(definition.n.Members) > 0:
			definition.say(Lost, "%q: an ExternalService has one check, and another one is taken", cmp.Or(c.n.Text("Name"), c.n.Text("CheckID")))
		}
		c.use()
	}
}

// consulCheck translates the definition of a check.
func (r *run) consulCheck(e *networkingv1.ExternalService, i *instance, d cursor) *networkingv1.HealthCheck {
	check := &networkingv1.HealthCheck{}
	success, failure := r.options.PassingThreshold+1, r.options.CriticalThreshold+1
	check.SuccessThreshold, check.FailureThreshold = &success, &failure
	switch {
	case d.n.Text("HTTP") != "":
		r.consulHTTP(e, i, check, d)
	case d.n.Text("GRPC") != "":
		target, service, _ := strings.Cut(d.in("GRPC").text(), "/")
		check.GRPC = &common.GRPCAction{Port: consulPort(e, i, d.in("GRPC"), target), Service: optional(service)}
		if d.in("GRPCUseTLS").isTrue() {
			check.TLS = consulTLS(d, "")
		}
	default:
		check.TCPSocket = &common.TCPSocketAction{Port: consulPort(e, i, d.in("TCP"), d.in("TCP").text())}
	}
	setTimes(check, d, span(d, "Interval", consulInterval), span(d, "Timeout", consulTimeout))
	for _, field := range []string{"DeregisterCriticalServiceAfter", "DeregisterCriticalServiceAfterDuration"} {
		if c := d.in(field); c.exists() && !c.is("", "0", "0s") {
			c.say(Lost, "nothing is removed: an unhealthy address stays listed as not ready")
		}
	}
	return check
}

func (r *run) consulHTTP(e *networkingv1.ExternalService, i *instance, check *networkingv1.HealthCheck, d cursor) {
	at := d.in("HTTP")
	address, err := url.Parse(at.text())
	if err != nil || address.Host == "" {
		at.say(Refused, "is no URL such as http://localhost:8000/health")
		return
	}
	host := address.Host
	if address.Port() == "" {
		host += map[string]string{"https": ":443"}[address.Scheme]
		if address.Scheme != "https" {
			host += ":80"
		}
	}
	get := &common.HTTPGetAction{Port: consulPort(e, i, at, host)}
	if path := address.RequestURI(); path != "/" {
		get.Path = &path
	}
	setScheme(get, address.Scheme)
	name := address.Hostname()
	if _, err := netip.ParseAddr(name); err == nil || name == "localhost" {
		name = ""
	}
	get.Host = optional(name)
	if get.Scheme != nil {
		check.TLS = consulTLS(d, name)
	}
	// Consul lists an instance as passing after the first, and as warning after the second; it resolves to both.
	get.ExpectedStatuses = []common.StatusRange{{Start: 200, End: 299}, {Start: 429, End: 429}}
	headers, names := d.in("Header").members()
	for n, h := range headers {
		values := h.texts()
		if len(values) > 0 {
			addHeader(get, h, names[n], values[0])
		}
		if len(values) > 1 {
			h.say(Lost, "has several values, of which the first is sent")
		}
	}
	for _, field := range []string{"Method", "Body"} {
		if c := d.in(field); !c.is("", "GET") {
			c.say(Lost, "a check is a GET without a body")
		}
	}
	check.HTTPGet = get
}

// consulTLS returns how a certificate is verified.
func consulTLS(d cursor, name string) *common.CheckTLS {
	out := &common.CheckTLS{ServerName: optional(cmp.Or(d.in("TLSServerName").text(), name))}
	if d.in("TLSSkipVerify").isTrue() {
		skip := true
		out.InsecureSkipVerify = &skip
	}
	if *out == (common.CheckTLS{}) {
		return nil
	}
	return out
}

// consulPort returns the name of the port that a check is made to, which is added where it is another one than that of
// the service.
func consulPort(e *networkingv1.ExternalService, i *instance, at cursor, target string) *intstr.IntOrString {
	port := intstr.FromString("service")
	host, text, err := net.SplitHostPort(target)
	number, invalid := strconv.ParseUint(text, 10, 16)
	if err != nil || invalid != nil {
		at.say(Refused, "names no host and port, such as localhost:8000")
		return &port
	}
	if address, err := netip.ParseAddr(host); host != "localhost" && host != i.addressText && (err != nil || !address.IsLoopback()) {
		at.note(Differs, "asks %s, and the check asks the address of the endpoint", host)
	}
	if int32(number) != i.port {
		port = intstr.FromString("check")
		at.note(Differs, "asks port %s, which the Service gets besides that of the clients, since a check is made to one of its ports", text)
		e.Spec.Ports = append(e.Spec.Ports, networkingv1.ServicePort{Name: "check", Port: int32(number)})
	}
	return &port
}

// span reads a duration, which is text or a number of nanoseconds, also in the field that ends with Duration.
func span(d cursor, name string, fallback time.Duration) time.Duration {
	d.in(name + "Duration").use()
	for _, field := range []string{name, name + "Duration"} {
		c := d.in(field).use()
		if !c.exists() {
			continue
		}
		value, err := time.Duration(0), error(nil)
		switch v := c.n.Value.(type) {
		case string:
			if v == "" {
				continue
			}
			value, err = time.ParseDuration(v)
		case json.Number:
			var n int64
			n, err = v.Int64()
			value = time.Duration(n)
		}
		if err != nil || value < 0 {
			c.say(Refused, "is no duration such as 10s")
			return fallback
		}
		if value > 0 {
			return max(value, time.Second)
		}
	}
	return fallback
}
