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

// Static is an address that stands in a spec.
type Static struct {
	// Endpoint and Address are the indexes in spec.endpoints and its addresses.
	Endpoint, Address int
	// IP is not valid where the text is none; the rules of the kind refuse that.
	IP netip.Addr
	// Ports that it is published with, sorted, each once.
	Ports []uint16
}

// StaticAddresses are the addresses that stand in a spec, drained ones with the others: to put an
// endpoint back into service is not to choose its addresses.
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

// portsOf are the ports outside of an endpoint.
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

// CheckPorts judges an address with all of its ports: the first that is denied decides, as an
// EndpointSlice has every port of every address. Without ports it judges the address as such.
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

// Digest names what of a spec is approved: the static addresses, with the endpoints and ports that they
// have. The order of lists does not matter to it. It is "" where there are none.
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

// Approval is the value of the annotation by which user is known to be entitled to the static
// addresses of es as they are now.
func Approval(es *networkingv1.ExternalService, user string) string {
	return approval.Value(user, Digest(&es.Spec))
}

// Approved says whether an approval is on es that covers its static addresses as they are now.
func Approved(es *networkingv1.ExternalService) bool {
	return approval.Covers(es.Annotations[common.ApprovedByAnnotation], Digest(&es.Spec))
}
