// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package egress

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/netip"
	"slices"
	"strings"

	"k8s.io/utils/ptr"

	"github.com/fairlead-dev/fairlead/api/common"
	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/internal/approval"
)

// Static is an address of a spec.
type Static struct {
	// Endpoint and Address are the indexes in spec.endpoints and its addresses.
	Endpoint, Address int
	// IP is not valid if the text is no address; validation refuses that.
	IP netip.Addr
	// Ports that it is published with, sorted and unique.
	Ports []uint16
}

// StaticAddresses returns the addresses of a spec, also of drained endpoints: a user who makes one Active again does
// not choose its addresses.
func StaticAddresses(spec *networkingv1.ExternalServiceSpec) []Static {
	var out []Static
	for i := range spec.Endpoints {
		e := &spec.Endpoints[i]
		if len(e.Addresses) == 0 {
			continue
		}
		ports := portsOf(spec, e)
		for j, text := range e.Addresses {
			ip, err := netip.ParseAddr(string(text))
			if err != nil {
				ip = netip.Addr{}
			}
			out = append(out, Static{Endpoint: i, Address: j, IP: ip, Ports: ports})
		}
	}
	return out
}

// portsOf returns the ports of an endpoint, sorted and unique.
func portsOf(spec *networkingv1.ExternalServiceSpec, e *networkingv1.Endpoint) []uint16 {
	ports := make([]uint16, 0, len(spec.Ports))
	for _, p := range spec.Ports {
		number := ptr.Deref(p.TargetPort, p.Port)
		for _, own := range e.Ports {
			if own.Name == p.Name {
				number = own.Port
			}
		}
		ports = append(ports, uint16(number))
	}
	slices.Sort(ports)
	return slices.Compact(ports)
}

// CheckPorts checks an address with all of its ports: the first one that is denied decides, since an EndpointSlice has
// every port for every address. Without ports it checks the address as such.
func (p *Policy) CheckPorts(q Query, ports []uint16) Verdict {
	if len(ports) == 0 {
		q.Port = 0
		return p.Check(q)
	}
	var verdict Verdict
	for _, q.Port = range ports {
		if verdict = p.Check(q); !verdict.Allowed {
			return verdict
		}
	}
	return verdict
}

// Digest identifies what of a spec is approved: the static addresses with their endpoints and ports, in any order. It
// is "" where there are none.
func Digest(spec *networkingv1.ExternalServiceSpec) string {
	var parts []string
	for i := range spec.Endpoints {
		e := &spec.Endpoints[i]
		if len(e.Addresses) == 0 {
			continue
		}
		addresses := slices.Clone(e.Addresses)
		slices.Sort(addresses)
		part, err := json.Marshal([]any{e.Name, portsOf(spec, e), slices.Compact(addresses)})
		if err != nil {
			return "" // strings and numbers always marshal
		}
		parts = append(parts, string(part))
	}
	if len(parts) == 0 {
		return ""
	}
	slices.Sort(parts)
	sum := sha256.Sum256([]byte(strings.Join(parts, "\n")))
	return "sha256:" + hex.EncodeToString(sum[:])
}

// Approval returns the value of the annotation that approves the static addresses of es, as they are now, for user.
func Approval(es *networkingv1.ExternalService, user string) string {
	return approval.Value(user, Digest(&es.Spec))
}

// Approved reports whether es has an approval of its static addresses as they are now.
func Approved(es *networkingv1.ExternalService) bool {
	return approval.Covers(es.Annotations[common.ApprovedByAnnotation], Digest(&es.Spec))
}
