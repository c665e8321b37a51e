// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package externalservice

import (
	"encoding/hex"
	"hash/fnv"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/utils/ptr"

	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
)

// portSetOf are the ports outside: the Service's target ports, but for those that the endpoint has of
// its own. The port of an SRV record, where there is one, stands for all of them; the rules see to
// it that there is only one.
func portSetOf(spec *networkingv1.ExternalServiceSpec, own []networkingv1.EndpointPort, srv uint16) *portSet {
	set := &portSet{
		ports:   make([]discoveryv1.EndpointPort, 0, len(spec.Ports)),
		numbers: make([]uint16, 0, len(spec.Ports)),
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
		if h := spec.HealthCheck; h != nil && (h.Port == p.Name || h.Port == "") {
			set.probePort = uint16(number)
		}
		set.numbers = append(set.numbers, uint16(number))
		set.ports = append(set.ports, discoveryv1.EndpointPort{
			Name:        &p.Name,
			Port:        &number,
			Protocol:    ptr.To(ptr.Deref(p.Protocol, corev1.ProtocolTCP)),
			AppProtocol: optional(p.AppProtocol),
		})
	}
	set.digest, set.shortDigest = portDigest(set.ports)
	return set
}

// portDigest identifies a set of ports: two of one object are the same where their digests are. short is
// the part of it that names slices, as every version has named them; where two sets of one object have
// the same, arrange tells them apart. Both are the same in every process.
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

// optional is nil for an empty string.
func optional(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
