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
	// ServFail means that a nameserver replied, but none with a usable answer.
	ServFail Outcome = networkingv1.ReasonServFail
	// Truncated means that an answer did not fit into a datagram, nor could the nameserver be queried by TCP, and that
	// the datagram had no address.
	Truncated Outcome = networkingv1.ReasonTruncated
	// AliasLoop means that the name's aliases do not end.
	AliasLoop Outcome = networkingv1.ReasonAliasLoop
	// Timeout means that no nameserver replied, or there is none.
	Timeout Outcome = networkingv1.ReasonTimeout
	// Denied means that the name or an alias of it is in a domain of the cluster.
	Denied Outcome = networkingv1.ReasonDenied
)

// Address is an address of a name.
type Address struct {
	IP netip.Addr
	// Port is that of the SRV record, and 0 without one.
	Port uint16
}

// Compare orders addresses: IPv4 first, then by number, then by port.
func (a Address) Compare(b Address) int {
	return cmp.Or(a.IP.Compare(b.IP), cmp.Compare(a.Port, b.Port))
}

// FamilyAnswer is the answer for one address family.
type FamilyAnswer struct {
	Outcome Outcome
	// Addresses are sorted and unique. There are none unless Outcome is Resolved.
	Addresses []Address
	// TTL is the shortest of all records of the chain, or the negative TTL of RFC 2308. 0 where neither is given.
	TTL time.Duration
	// Partial means that there may be more addresses, of which nothing is known: the answer was truncated, or a target
	// of an SRV record could not be looked up.
	Partial bool
	// Former are the last addresses of targets that could not be looked up now. They are not in Addresses.
	Former []Address
	// NoName means that the response was NXDOMAIN, and not only without records (RFC 2308). Where the other family
	// resolves, one of the two responses is wrong.
	NoName bool
}

// IsIncomplete reports whether the answer lacks addresses, or may lack some.
func (a FamilyAnswer) IsIncomplete() bool { return a.Partial || len(a.Former) > 0 }

// Answer is the result of a Lookup.
type Answer struct {
	IPv4, IPv6 FamilyAnswer
	// Denied is how many targets of SRV records were left out since they are in a domain of the cluster.
	Denied int
	// Unused is how many targets of SRV records were left out since there are more than MaxTargets.
	Unused int
	// Missing is how many targets of SRV records have no address, and Literals how many are an IP address instead of a
	// name, which RFC 2782 does not allow.
	Missing, Literals int
	// NoService means that the SRV record says that there is no such service: its target is "." (RFC 2782).
	NoService bool
	// Queries is how many queries were sent, to any nameserver.
	Queries int
	// Err is the detail of a failure. It may quote what a server sent, and is for logs at debug level only.
	Err error
}

// Outcome returns that of both families together: Resolved if one is, else the most specific one.
func (a Answer) Outcome() Outcome {
	for _, o := range []Outcome{Resolved, Denied, AliasLoop, Truncated, ServFail, Timeout} {
		if a.IPv4.Outcome == o || a.IPv6.Outcome == o {
			return o
		}
	}
	return NXDomain
}

// bothFamilies returns an answer that is the same for both families.
func bothFamilies(o Outcome, ttl time.Duration, err error) Answer {
	part := FamilyAnswer{Outcome: o, TTL: ttl}
	return Answer{IPv4: part, IPv6: part, Err: err}
}

// sorted returns the addresses sorted and unique.
func sorted(addresses []Address) []Address {
	slices.SortFunc(addresses, Address.Compare)
	return slices.Compact(addresses)
}
