// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package externalservice

import (
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"k8s.io/utils/ptr"

	v1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/api/networking/v1alpha1"
	"github.com/fairlead-dev/fairlead/webhooks/conversion/check"
)

// up maps to the hub. Of the status it maps what both versions have.
func up(s spoke) hub {
	var h hub
	upInto(s, &h)
	h.arena = nil
	return h
}

// upInto is up into the memory of another form.
func upInto(s spoke, into *hub) {
	h := hub{arena: into.arena}
	if h.arena == nil {
		h.arena = new(endpointArena)
	}
	h.Spec = newImpliedSpec()
	h.Spec.Ports = upPorts(s.Spec.Ports)
	h.Spec.Endpoints = h.arena.endpointsOf(s.Spec.Hosts, s.Spec.Probe != nil)
	if s.Spec.RefreshSeconds != nil {
		every := check.Duration(s.Spec.RefreshSeconds)
		h.Spec.Resolution = impliedResolution.DeepCopy()
		h.Spec.Resolution.MinTTL, h.Spec.Resolution.MaxTTL = every, ptr.To(*every)
	}
	if s.Spec.Probe != nil {
		h.Spec.HealthCheck = upProbe(s.Spec.Probe)
	}
	h.Status.ObservedGeneration, h.Status.Conditions = s.Status.ObservedGeneration, s.Status.Conditions
	*into = h
}

// newImpliedSpec returns a copy of implied that the caller may change.
func newImpliedSpec() v1.ExternalServiceSpec { return *implied.DeepCopy() }

// upPorts makes a port of every name, in their order.
func upPorts(numbers map[string]v1alpha1.PortNumber) []v1.ServicePort {
	if len(numbers) == 0 {
		return nil
	}
	ports := make([]v1.ServicePort, 0, len(numbers))
	for name, number := range numbers {
		ports = append(ports, v1.ServicePort{Name: name, Port: int32(number)})
	}
	slices.SortFunc(ports, func(a, b v1.ServicePort) int { return strings.Compare(a.Name, b.Name) })
	return ports
}

// isAddress checks the last byte first, since the error of a failed parse costs more.
func isAddress(host string) bool {
	if host == "" || !strings.Contains(host, ":") && (host[len(host)-1] < '0' || host[len(host)-1] > '9') {
		return false
	}
	_, err := netip.ParseAddr(host)
	return err == nil
}

func upProbe(p *v1alpha1.Probe) *v1.HealthCheck {
	h := impliedCheck.DeepCopy()
	h.Check = check.Up(&p.Probe, p.TCPSocket)
	return h
}

// lowestPriority is the last priority of v1; further hosts of a long list share it, in order.
const lowestPriority = 9

// maxReused bounds the list of hosts whose memory is reused: v1 allows no more endpoints.
const maxReused = 32

// endpointArena is reusable memory for the endpoints of a list of hosts, and for what they point to. Lists may be
// long, so it is allocated once.
type endpointArena struct {
	endpoints []v1.Endpoint
	hosts     []host
}

type host struct {
	endpoint string // its name, which depends on the index alone
	name     v1.DNSName
	address  [1]v1.IPAddress
	priority int32
}

// endpointsOf returns an endpoint for every host, and invalidates those that it returned before. Every host that
// is no IP address counts as a DNS name.
func (a *endpointArena) endpointsOf(hosts []string, ranked bool) []v1.Endpoint {
	if len(hosts) == 0 {
		return nil
	}
	if len(hosts) > maxReused {
		a = new(endpointArena)
	}
	a.endpoints = slices.Grow(a.endpoints[:0], len(hosts))[:len(hosts)]
	a.hosts = slices.Grow(a.hosts[:0], len(hosts))[:len(hosts)]
	for i, text := range hosts {
		e, h := &a.endpoints[i], &a.hosts[i]
		if h.endpoint == "" {
			h.endpoint = hostName(i)
		}
		*e, *h = v1.Endpoint{Name: h.endpoint}, host{endpoint: h.endpoint}
		if isAddress(text) {
			h.address[0] = v1.IPAddress(text)
			e.Addresses = h.address[:]
		} else {
			h.name.Name = text
			e.DNS = &h.name
		}
		if ranked && len(hosts) > 1 {
			h.priority = int32(min(i, lowestPriority))
			e.Priority = &h.priority
		}
	}
	return a.endpoints
}

func hostName(i int) string { return "host-" + strconv.Itoa(i) }
