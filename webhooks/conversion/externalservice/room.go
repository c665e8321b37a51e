// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package externalservice

import (
	"slices"
	"strconv"

	v1 "github.com/fairlead-dev/fairlead/api/networking/v1"
)

// lowestPriority is the last tier that v1 has; further hosts of a long list share it, in order.
const lowestPriority = 9

// mostKept is the longest list of hosts whose memory is used again, which v1 has no more endpoints than.
const mostKept = 32

// room is memory for the endpoints that hosts become, and for what they point to. Lists of hosts are
// long, so that all of a list is made at once, and the next one is made in the same place.
type room struct {
	endpoints []v1.Endpoint
	hosts     []host
}

type host struct {
	endpoint string // its name, which is the same in every list
	name     v1.DNSName
	address  [1]v1.IPAddress
	priority int32
}

// endpointsOf makes an endpoint of every host. Whatever is no IP address counts as a DNS name. Those made
// before are gone.
func (r *room) endpointsOf(hosts []string, ranked bool) []v1.Endpoint {
	if len(hosts) == 0 {
		return nil
	}
	if len(hosts) > mostKept {
		r = new(room)
	}
	r.endpoints = slices.Grow(r.endpoints[:0], len(hosts))[:len(hosts)]
	r.hosts = slices.Grow(r.hosts[:0], len(hosts))[:len(hosts)]
	for i, text := range hosts {
		e, h := &r.endpoints[i], &r.hosts[i]
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
	return r.endpoints
}

func hostName(i int) string { return "host-" + strconv.Itoa(i) }
