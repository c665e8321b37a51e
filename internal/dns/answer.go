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

// Outcome is how a lookup ended; the values are reasons of the Resolved condition.
type Outcome string

const (
	// Resolved says that there is at least one address.
	Resolved Outcome = networkingv1.ReasonResolved
	// NXDomain says that the name does not exist, or has no record of the type.
	NXDomain Outcome = networkingv1.ReasonNXDomain
	// ServFail says that a nameserver answered, but none with an answer that can be used.
	ServFail Outcome = networkingv1.ReasonServFail
	// Timeout says that no nameserver answered at all, or there is none.
	Timeout Outcome = networkingv1.ReasonTimeout
	// Denied says that the name leads into the cluster.
	Denied Outcome = networkingv1.ReasonDenied
)

// Address is where a name leads.
type Address struct {
	IP netip.Addr
	// Port is that of the SRV record, and 0 without one.
	Port uint16
}

// Compare orders addresses: IPv4 first, then by number, then by port.
func (a Address) Compare(b Address) int {
	return cmp.Or(a.IP.Compare(b.IP), cmp.Compare(a.Port, b.Port))
}

// FamilyAnswer is the answer of one family.
type FamilyAnswer struct {
	Outcome Outcome
	// Addresses are sorted, each there once. There are none unless Outcome is Resolved.
	Addresses []Address
	// TTL is how long the outcome holds: the shortest of all records that led to it, or what
	// RFC 2308 says of a name or type that does not exist. 0 where neither is given.
	TTL time.Duration
	// Partial means that there may be more addresses: the answer was cut, or a target of an SRV
	// record could not be looked up. That an address is missing then means nothing.
	Partial bool
	// NoName means that the name was said not to exist (RFC 2308), and not only to have no record of
	// the family. Where the other family resolves, one of the two replies is wrong.
	NoName bool
}

// Answer is what Lookup found.
type Answer struct {
	IPv4, IPv6 FamilyAnswer
	// Denied is how many targets of SRV records were left out since they lead into the cluster.
	Denied int
	// Err is the detail of what failed, and may quote what a server sent: for logs at debug level
	// only.
	Err error
}

// Outcome of both families together: Resolved where one is, and else the one that says most.
func (a Answer) Outcome() Outcome {
	for _, o := range []Outcome{Resolved, Denied, ServFail, Timeout} {
		if a.IPv4.Outcome == o || a.IPv6.Outcome == o {
			return o
		}
	}
	return NXDomain
}

// bothFamilies is an answer that is the same for both families.
func bothFamilies(o Outcome, ttl time.Duration, err error) Answer {
	part := FamilyAnswer{Outcome: o, TTL: ttl}
	return Answer{IPv4: part, IPv6: part, Err: err}
}

// sorted returns the addresses in order, each once.
func sorted(addresses []Address) []Address {
	slices.SortFunc(addresses, Address.Compare)
	return slices.Compact(addresses)
}
