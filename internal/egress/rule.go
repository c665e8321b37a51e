// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package egress

import (
	"net/netip"
	"slices"
)

// Rule is an entry of the policy's allow or deny list.
type Rule struct {
	// CIDRs that the rule is about. A rule without any matches nothing.
	CIDRs []netip.Prefix
	// Ports that the rule is about. Default: all.
	Ports []uint16
	// Namespaces whose ExternalServices the rule is about. Default: all.
	Namespaces []string
}

// match returns how narrow the narrowest CIDR of the rule is that holds ip, in bits; -1 where the
// rule is not about the query.
func (r *Rule) match(q Query, ip netip.Addr) int {
	narrowest := -1
	for _, cidr := range r.CIDRs {
		if cidr.Bits() > narrowest && cidr.Contains(ip) {
			narrowest = cidr.Bits()
		}
	}
	if narrowest < 0 || len(r.Namespaces) > 0 && !slices.Contains(r.Namespaces, q.Namespace) {
		return -1
	}
	return narrowest
}

// denies says whether an entry of the deny list is about the query. One about some ports is not
// about the address as such.
func denies(rules []Rule, q Query, ip netip.Addr) bool {
	for i := range rules {
		r := &rules[i]
		if (len(r.Ports) == 0 || slices.Contains(r.Ports, q.Port)) && r.match(q, ip) >= 0 {
			return true
		}
	}
	return false
}

// allows says whether an entry of the allow list is about the query, with a CIDR of at least so many
// bits. The address as such is allowed where any port of it is.
func allows(rules []Rule, q Query, ip netip.Addr, bits int) bool {
	for i := range rules {
		r := &rules[i]
		if (len(r.Ports) == 0 || q.Port == 0 || slices.Contains(r.Ports, q.Port)) && r.match(q, ip) >= bits {
			return true
		}
	}
	return false
}

// cloneRules copies rules, in the form in which addresses are compared.
func cloneRules(rules []Rule) []Rule {
	out := make([]Rule, 0, len(rules))
	for _, r := range rules {
		own := Rule{Ports: slices.Clone(r.Ports), Namespaces: slices.Clone(r.Namespaces)}
		for _, cidr := range r.CIDRs {
			if cidr.IsValid() {
				own.CIDRs = append(own.CIDRs, unmapped(cidr).Masked())
			}
		}
		out = append(out, own)
	}
	return out
}
