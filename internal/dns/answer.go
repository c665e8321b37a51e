// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package dns

import (
	"cmp"
	"net/netip"
	"slices"
	"time"

	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
)

// Outcome is how a lookup ended. The values are reasons of the Resolved condition.
type Outcome string

const (
	// Resolved means that there is at least one address.
	Resolved Outcome = networkingv1.ReasonResolved
	// NXDomain means that the name does not exist, or has no record of the type.
	NXDomain Outcome = networkingv1.ReasonNXDomain
	// ServFail means that a nameserver responded, and none with a usable answer.
	ServFail Outcome = networkingv1.ReasonServFail
	// Truncated means that the answer did not fit into a datagram and had no address in it, and that the nameserver could
	// not be queried over TCP.
	Truncated Outcome = networkingv1.ReasonTruncated
	// AliasLoop means that the CNAME records form a loop, or are too many.
	AliasLoop Outcome = networkingv1.ReasonAliasLoop
	// Timeout means that no nameserver responded, or that there is none.
	Timeout Outcome = networkingv1.ReasonTimeout
	// Denied means that the name or one of its aliases is in a domain of the cluster.
	Denied Outcome = networkingv1.ReasonDenied
)

// Address is an address of a name.
type Address struct {
	IP netip.Addr
	// Port is the port in the SRV record; 0 for an address without one.
	Port uint16
}

// Compare orders addresses: IPv4 first, then by number, then by port.
func (a Address) Compare(b Address) int {
	return cmp.Or(a.IP.Compare(b.IP), cmp.Compare(a.Port, b.Port))
}

// FamilyAnswer is the answer for one address family.
type FamilyAnswer struct {
	Outcome Outcome
	// Addresses are sorted and unique. They are empty unless Outcome is Resolved.
	Addresses []Address
	// TTL is the shortest TTL of all records in the chain, or the negative TTL of RFC 2308. It is 0 if the response has
	// neither.
	TTL time.Duration
	// Partial means that there may be more addresses: the answer was truncated, or a target of an SRV record could not be
	// looked up.
	Partial bool
	// Former are the addresses from the last successful lookup of targets that cannot be looked up now. Addresses does
	// not have them.
	Former []Address
	// NoName means that the response was NXDOMAIN: the name does not exist, rather than has no record of this type (RFC
	// 2308). If the other family resolves, one of the two responses is wrong.
	NoName bool
}

// IsIncomplete reports whether the answer lacks addresses, or may lack some.
func (a FamilyAnswer) IsIncomplete() bool { return a.Partial || len(a.Former) > 0 }

// Answer is the result of a Lookup.
type Answer struct {
	IPv4, IPv6 FamilyAnswer
	// Denied is how many targets of SRV records are ignored since they are in a domain of the cluster.
	Denied int
	// Unused is how many targets of SRV records are ignored since there are more than MaxTargets.
	Unused int
	// Missing is how many targets of SRV records have no address. Literals is how many are an IP address rather than a
	// name, which RFC 2782 does not allow.
	Missing, Literals int
	// NoService means that the SRV record declares the service unavailable: its target is "." (RFC 2782).
	NoService bool
	// Queries is how many queries were sent, to all nameservers together.
	Queries int
	// Err has details of a failure, for logs at debug level. It may quote what a server sent.
	Err error
}

// Outcome returns the outcome of both families together: Resolved if one of them resolves, and otherwise the most
// specific one.
func (a Answer) Outcome() Outcome {
	for _, o := range []Outcome{Resolved, Denied, AliasLoop, Truncated, ServFail, Timeout} {
		if a.IPv4.Outcome == o || a.IPv6.Outcome == o {
			return o
		}
	}
	return NXDomain
}

// bothFamilies returns an answer with the same outcome for both families.
func bothFamilies(o Outcome, ttl time.Duration, err error) Answer {
	part := FamilyAnswer{Outcome: o, TTL: ttl}
	return Answer{IPv4: part, IPv6: part, Err: err}
}

// sorted returns the addresses sorted and unique.
func sorted(addresses []Address) []Address {
	slices.SortFunc(addresses, Address.Compare)
	return slices.Compact(addresses)
}
