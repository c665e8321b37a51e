// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package egress

import (
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
)

// Query is an address to check.
type Query struct {
	// Namespace of the ExternalService.
	Namespace string
	IP        netip.Addr
	// Port; 0 for the address as such, which is allowed if any port of it is.
	Port uint16
	// Authorized means that the address is in the spec, and that its author has the right to publish addresses of
	// the cluster. It is never true for an address from DNS.
	Authorized bool
	// Held means that the object has the address already, and was allowed to: what is not known takes nothing away.
	Held bool
	// OwnPod means that the address was read from a pod which the operator checks for an object of the pod's namespace:
	// what a policy says about the rights of writers does not concern it.
	OwnPod bool
}

// Verdict is the decision about a Query.
type Verdict struct {
	Allowed bool
	// Reason is a fixed word.
	Reason Reason
	// Detail is the rest of a sentence that begins with the address.
	Detail string
}

// Options of a Policy.
type Options struct {
	// DefaultDeny allows only what Allow matches. Defaults to false: what Deny does not match is allowed, except for
	// addresses of the cluster and of metadata services.
	DefaultDeny bool
	// Allow has the exceptions from DefaultDeny. A rule also allows metadata services and addresses of the cluster if
	// its CIDR is as narrow as their range, or narrower: one that happens to contain them does not.
	Allow []Rule
	// Deny has the rules that deny an address, whatever Allow matches.
	Deny []Rule
	// ClusterCIDRs are ranges of the cluster that cannot be discovered.
	ClusterCIDRs []netip.Prefix
	// ClusterDeny denies addresses of the cluster even to users with the right to publish them.
	ClusterDeny bool
	// WebhookExemptNamespaces are namespaces whose writers admission never asks, as the webhook configurations leave
	// them out: any user can write an approval there, and it opens nothing. Defaults to none.
	WebhookExemptNamespaces []string
	// NotifyAddresses is called, like Notify, with addresses outside of the ranges of the cluster that became a pod's, or
	// are one's no longer.
	NotifyAddresses func([]netip.Addr)
	// Notify is called, from the goroutine of a Ranges, when verdicts may have changed. It must not block. Defaults
	// to nil: it is not called.
	Notify func()
}

// Policy checks addresses. It is safe for concurrent use.
type Policy struct {
	options  Options
	cluster  atomic.Pointer[clusterRanges] // nil until it is known
	updateMu sync.Mutex
}

// NewPolicy returns a policy. It has no other ranges of the cluster than ClusterCIDRs until a Ranges is made for it.
func NewPolicy(o Options) *Policy {
	o.Allow, o.Deny = cloneRules(o.Allow), cloneRules(o.Deny)
	p := &Policy{options: o}
	p.cluster.Store(p.withConfigured(discovery{}))
	return p
}

// Synced reports whether the ranges of the cluster are known. Until then every address is denied with ReasonUnsynced,
// or a reason that no configuration lifts.
func (p *Policy) Synced() bool { return p.cluster.Load() != nil }

// Check checks an address. It takes well below a microsecond.
func (p *Policy) Check(q Query) Verdict {
	if q.IP.Zone() != "" {
		return deny(ReasonZone)
	}
	f := formsOf(q.IP)
	for _, ip := range f.list() {
		if reason := alwaysDenied(ip); reason != "" {
			return deny(reason)
		}
	}
	cluster := p.cluster.Load()
	if cluster == nil {
		return deny(ReasonUnsynced)
	}
	for _, ip := range f.list() {
		if denies(p.options.Deny, q, ip) {
			return deny(ReasonDeniedByPolicy)
		}
	}
	reason := ReasonAllowed
	for i, ip := range f.list() {
		closed := p.closedReason(cluster, q, ip)
		switch {
		case closed == ReasonAuthorized:
			reason = ReasonAuthorized
		case closed != "":
			return deny(closed)
		case p.options.DefaultDeny && f.isDestination(i) && !allows(p.options.Allow, q, ip, 0):
			return deny(ReasonNotAllowed)
		}
	}
	return Verdict{true, reason, details[reason]}
}

// IsInCluster reports whether an address is in a range of the cluster or a pod's, allowed or not. It is true while the ranges are
// not known.
func (p *Policy) IsInCluster(ip netip.Addr) bool {
	cluster := p.cluster.Load()
	if cluster == nil {
		return true
	}
	f := formsOf(ip)
	return slices.ContainsFunc(f.list(), func(ip netip.Addr) bool {
		return cluster.isInRange(ip) || cluster.pods != nil && cluster.pods.has(ip)
	})
}

// closedReason returns the range of the cluster or of a metadata service that denies ip; "" if none does, and
// ReasonAuthorized if the user's right allows it.
func (p *Policy) closedReason(cluster *clusterRanges, q Query, ip netip.Addr) Reason {
	for _, ranges := range [3]*rangeSet{metadata, cluster.server, cluster.others} {
		if found, in := ranges.find(ip); in {
			if closed := p.closedBy(found, q, ip); closed != "" {
				return closed
			}
		}
	}
	if found, isPod := cluster.findPod(ip, q.Held); isPod {
		return p.closedBy(found, q, ip)
	}
	return ""
}

// closedBy is closedReason for one range that contains ip.
func (p *Policy) closedBy(found Range, q Query, ip netip.Addr) Reason {
	switch {
	case allows(p.options.Allow, q, ip, found.Prefix.Bits()):
		return ""
	case !found.Reason.InCluster() || !q.Authorized,
		!q.OwnPod && (p.options.ClusterDeny || slices.Contains(p.options.WebhookExemptNamespaces, q.Namespace)):
		return found.Reason
	case found.Reason == ReasonPodsUnknown:
		return "" // it may be outside as well, where DefaultDeny decides
	}
	return ReasonAuthorized
}

func deny(reason Reason) Verdict { return Verdict{Reason: reason, Detail: details[reason]} }

// withConfigured returns what is discovered, with the configured ranges.
func (p *Policy) withConfigured(discovered discovery) *clusterRanges {
	ranges := make([]Range, 0, len(discovered.ranges)+len(p.options.ClusterCIDRs))
	ranges = append(ranges, discovered.ranges...)
	for _, cidr := range p.options.ClusterCIDRs {
		ranges = append(ranges, Range{cidr, ReasonClusterCIDR})
	}
	discovered.ranges = ranges
	return newClusterRanges(discovered)
}

// clearRanges removes the ranges until the next update.
func (p *Policy) clearRanges() {
	p.updateMu.Lock()
	defer p.updateMu.Unlock()
	p.cluster.Store(nil)
}

// update replaces what is discovered, and reports whether that is a change.
func (p *Policy) update(discovered discovery) bool {
	next := p.withConfigured(discovered)
	p.updateMu.Lock()
	if before := p.cluster.Load(); before != nil && before.equal(next) {
		p.updateMu.Unlock()
		return false
	}
	p.cluster.Store(next)
	p.updateMu.Unlock()
	if p.options.Notify != nil {
		p.options.Notify()
	}
	return true
}

// Rule is an entry of the allow or deny list.
type Rule struct {
	// CIDRs of the rule. One without any matches nothing.
	CIDRs []netip.Prefix
	// Ports of the rule. Defaults to all.
	Ports []uint16
	// Namespaces of ExternalServices. Defaults to all.
	Namespaces []string
}

// match returns the bits of the narrowest CIDR of the rule that contains ip, or -1 if the rule does not match.
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

// denies reports whether a rule of the deny list matches. One with ports does not match the address as such.
func denies(rules []Rule, q Query, ip netip.Addr) bool {
	for i := range rules {
		r := &rules[i]
		if (len(r.Ports) == 0 || slices.Contains(r.Ports, q.Port)) && r.match(q, ip) >= 0 {
			return true
		}
	}
	return false
}

// allows reports whether a rule of the allow list matches with a CIDR of at least so many bits. The address as such is
// allowed if any port of it is.
func allows(rules []Rule, q Query, ip netip.Addr, bits int) bool {
	for i := range rules {
		r := &rules[i]
		if (len(r.Ports) == 0 || q.Port == 0 || slices.Contains(r.Ports, q.Port)) && r.match(q, ip) >= bits {
			return true
		}
	}
	return false
}

// cloneRules copies rules with unmapped and masked CIDRs.
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
