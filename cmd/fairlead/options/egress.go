// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package options

import (
	"net/netip"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

const (
	// EgressAllow allows what no entry is about.
	EgressAllow = "Allow"
	// EgressDeny denies it.
	EgressDeny = "Deny"
	// EgressAuthorize opens addresses of the cluster to writers who have the right to publish them.
	EgressAuthorize = "Authorize"
)

// Bounds of the lists: every entry is compared with every address.
const (
	maxEgressRules = 256
	maxEgressCIDRs = 1024
	maxEgressItems = 256
)

// Egress configures which addresses an ExternalService may have. Loopback, link-local, multicast and
// reserved addresses are always closed. See docs/guides/egress.md.
type Egress struct {
	// What becomes of addresses that no entry is about.
	Default string `json:"default,omitempty" default:"Allow" rule:"Allow|Deny"`

	// What may be used where the default is Deny. An entry also opens ranges of the cluster and metadata services of clouds, if
	// a CIDR lies within the range that it opens. At most 256 entries with 1024 CIDRs together.
	Allow []EgressRule `json:"allow,omitempty"`

	// What may not be used, whatever `allow` says. Bounded as `allow` is.
	Deny []EgressRule `json:"deny,omitempty"`

	// Ranges of the cluster that cannot be discovered, such as a network plugin's own. At most 1024.
	ClusterCIDRs []string `json:"clusterCIDRs,omitempty"`

	// What becomes of addresses of the cluster in a spec: Authorize asks for the writer's right to create Services and
	// EndpointSlices, Deny leaves only what `allow` opens.
	ClusterRanges string `json:"clusterRanges,omitempty" default:"Authorize" rule:"Authorize|Deny"`
}

// EgressRule is an entry of allow or deny.
type EgressRule struct {
	// CIDRs that the entry is about, at least one.
	CIDRs []string `json:"cidrs,omitempty"`
	// Ports that it is about, at most 256. Empty: all.
	Ports []int `json:"ports,omitempty"`
	// Namespaces of the ExternalServices that it is about, at most 256. Empty: all.
	Namespaces []string `json:"namespaces,omitempty"`
}

// Prefixes are CIDRs as values. It fails at the first that is none; Validate has found it before.
func Prefixes(cidrs []string) ([]netip.Prefix, error) {
	var prefixes []netip.Prefix
	for _, text := range cidrs {
		prefix, err := netip.ParsePrefix(text)
		if err != nil {
			return nil, err
		}
		prefixes = append(prefixes, prefix)
	}
	return prefixes, nil
}

func (e Egress) validate(path *field.Path) field.ErrorList {
	errs := checkRules(path, e)
	errs = append(errs, egressRules(path.Child("allow"), e.Allow)...)
	errs = append(errs, egressRules(path.Child("deny"), e.Deny)...)
	at := path.Child("clusterCIDRs")
	errs = append(errs, atMost(at, len(e.ClusterCIDRs), maxEgressCIDRs)...)
	for i, text := range e.ClusterCIDRs {
		bad := cidr(at.Index(i), text)
		if prefix, err := netip.ParsePrefix(text); err == nil && prefix.Bits() == 0 && len(bad) == 0 {
			bad = append(bad, field.Invalid(at.Index(i), text, "would make all addresses the cluster's; default: Deny closes all that is not allowed"))
		}
		errs = append(errs, bad...)
	}
	return errs
}

func egressRules(path *field.Path, rules []EgressRule) field.ErrorList {
	errs := atMost(path, len(rules), maxEgressRules)
	total := 0
	for i, rule := range rules {
		at := path.Index(i)
		if len(rule.CIDRs) == 0 {
			errs = append(errs, field.Required(at.Child("cidrs"), "0.0.0.0/0 and ::/0 are all addresses"))
		}
		total += len(rule.CIDRs)
		for j, text := range rule.CIDRs {
			errs = append(errs, cidr(at.Child("cidrs").Index(j), text)...)
		}
		errs = append(errs, atMost(at.Child("ports"), len(rule.Ports), maxEgressItems)...)
		for j, port := range rule.Ports {
			errs = append(errs, within(at.Child("ports").Index(j), port, "1", "65535")...)
		}
		errs = append(errs, atMost(at.Child("namespaces"), len(rule.Namespaces), maxEgressItems)...)
		for j, name := range rule.Namespaces {
			errs = append(errs, label(at.Child("namespaces").Index(j), name)...)
		}
	}
	if total > maxEgressCIDRs {
		errs = append(errs, field.TooMany(path, total, maxEgressCIDRs))
	}
	return errs
}

func atMost(path *field.Path, n, most int) field.ErrorList {
	if n > most {
		return field.ErrorList{field.TooMany(path, n, most)}
	}
	return nil
}

// cidr refuses bits after the prefix as well: the author of 10.1.2.3/8 meant something else.
func cidr(path *field.Path, text string) field.ErrorList {
	prefix, err := netip.ParsePrefix(text)
	switch {
	case err != nil:
		return field.ErrorList{field.Invalid(path, text, "must be a CIDR, such as 192.0.2.0/24 or 2001:db8::/32; one address is 192.0.2.1/32")}
	case prefix.Masked() != prefix:
		return field.ErrorList{field.Invalid(path, text, "has bits after its prefix; did you mean "+prefix.Masked().String()+"?")}
	case prefix.Addr().Is4In6():
		return field.ErrorList{field.Invalid(path, text, "must be written as IPv4")}
	}
	return nil
}
