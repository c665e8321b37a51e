// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package endpoints

import (
	"encoding/hex"
	"hash/fnv"
	"iter"
	"net/netip"
	"slices"
	"strconv"

	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/utils/ptr"

	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	rules "github.com/fairlead-dev/fairlead/internal/rules/externalservice"
)

// PortSet is the ports of an EndpointSlice, shared by all addresses that have the same.
type PortSet struct {
	Ports []discoveryv1.EndpointPort
	// Numbers are those of Ports, and ProbePort.
	Numbers []uint16
	// Digest identifies the set, and ShortDigest is in the names of its slices.
	Digest, ShortDigest string
	// ProbePort is the one that is checked; 0 for none.
	ProbePort uint16
}

// PortSetOf returns the ports of an endpoint: the Service's target ports, unless the endpoint has its own
// (own). The port of an SRV record replaces them all; validation allows such an endpoint one port only.
func PortSetOf(spec *networkingv1.ExternalServiceSpec, own []networkingv1.EndpointPort, srv uint16) *PortSet {
	ports := make([]discoveryv1.EndpointPort, 0, len(spec.Ports))
	probePort := rules.UnpublishedPort(spec)
	var checked *networkingv1.ServicePort
	if spec.HealthCheck != nil {
		checked = rules.CheckedPort(spec.Ports, spec.HealthCheck.Port())
	}
	for i := range spec.Ports {
		p := &spec.Ports[i]
		number := ptr.Deref(p.TargetPort, p.Port)
		for _, o := range own {
			if o.Name == p.Name {
				number = o.Port
			}
		}
		if srv > 0 {
			number = int32(srv)
		}
		if p == checked {
			probePort = uint16(number)
		}
		port := discoveryv1.EndpointPort{Name: &p.Name, Port: &number, Protocol: p.Protocol}
		if ptr.Deref(p.AppProtocol, "") != "" {
			port.AppProtocol = p.AppProtocol
		}
		ports = append(ports, port)
	}
	set := NewPortSet(ports)
	if set.ProbePort = probePort; probePort > 0 && !slices.Contains(set.Numbers, probePort) {
		set.Numbers = append(set.Numbers, probePort)
	}
	return set
}

// NewPortSet returns the set of ports. It has no digest where a user has edited them.
func NewPortSet(ports []discoveryv1.EndpointPort) *PortSet {
	set := &PortSet{Ports: ports, Numbers: make([]uint16, 0, len(ports))}
	isWhole := true
	for _, p := range ports {
		if p.Port != nil {
			set.Numbers = append(set.Numbers, uint16(*p.Port))
		}
		isWhole = isWhole && p.Name != nil && p.Port != nil && p.Protocol != nil
	}
	if isWhole {
		set.Digest, set.ShortDigest = portDigest(ports)
	}
	return set
}

// portDigest returns what identifies a set of ports. short is in the names of slices, as in every version;
// where two sets of one object share it, publication.Pack distinguishes them. Both are the same in every process.
func portDigest(ports []discoveryv1.EndpointPort) (digest, short string) {
	named, hash := fnv.New32a(), fnv.New64a()
	var text []byte
	for _, p := range ports {
		text = append(text[:0], *p.Name...)
		text = append(text, '/')
		text = strconv.AppendInt(text, int64(*p.Port), 10)
		text = append(text, '/')
		text = append(text, *p.Protocol...)
		text = append(text, '/')
		text = append(text, ptr.Deref(p.AppProtocol, "")...)
		text = append(text, ';')
		_, _ = named.Write(text) // a hash never fails
		_, _ = hash.Write(text)
	}
	return hex.EncodeToString(hash.Sum(nil)), hex.EncodeToString(named.Sum(nil))
}

// PortsOf returns the ports of a slice.
func PortsOf(slice *discoveryv1.EndpointSlice) *PortSet { return NewPortSet(slice.Ports) }

// Key is an address with its ports in the slices.
type Key struct {
	IP    netip.Addr
	Ports string
}

// In returns the endpoints of a slice with their keys. An address that cannot be parsed is the zero address.
func In(slice *discoveryv1.EndpointSlice) iter.Seq2[Key, *discoveryv1.Endpoint] {
	return func(yield func(Key, *discoveryv1.Endpoint) bool) {
		digest := PortsOf(slice).Digest
		for i := range slice.Endpoints {
			ip, _ := netip.ParseAddr(slice.Endpoints[i].Addresses[0])
			if !yield(Key{ip, digest}, &slice.Endpoints[i]) {
				return
			}
		}
	}
}

// PublishedIn returns the addresses of slices, and whether each is ready.
func PublishedIn(all iter.Seq[*discoveryv1.EndpointSlice]) map[Key]bool {
	published := map[Key]bool{}
	for slice := range all {
		for key, e := range In(slice) {
			published[key] = published[key] || IsReady(e)
		}
	}
	return published
}

// IsReady reports whether an endpoint takes traffic: to kube-proxy a condition that is not set means ready. One that is
// ready and not serving is unhealthy, and published by publishNotReadyAddresses.
func IsReady(e *discoveryv1.Endpoint) bool {
	return ptr.Deref(e.Conditions.Ready, true) && ptr.Deref(e.Conditions.Serving, true)
}
