// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package resolution

import (
	"slices"
	"strings"
	"time"

	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/internal/dns"
)

// Name is a DNS name of an object. Names of the same Host and Records are one, with the Seeds of all.
type Name struct {
	// Host is the name to look up, always fully qualified.
	Host string
	// Records to look up. Defaults to RecordAddress.
	Records networkingv1.RecordType
	// MinTTL and MaxTTL bound the time between lookups. MinTTL is 1s at least and MaxTTL at least
	// MinTTL.
	MinTTL, MaxTTL time.Duration
	// KeepLastFor is how long addresses outlive the last success, with OnFailure Remove.
	KeepLastFor time.Duration
	// OnFailure is KeepLast, which keeps them as long as it takes, or Remove. Defaults to KeepLast.
	OnFailure networkingv1.ResolutionFailurePolicy
	// Seed is the addresses that an earlier process has found, and SeedTime when the name last resolved. They count
	// only for a name that has not resolved for the object in this process. Without a SeedTime the name has never
	// resolved, and the addresses are those of what it replaces, by one edit or by several while it is looked up: they
	// stay until it resolves, whatever OnFailure says.
	Seed     []dns.Address
	SeedTime time.Time
	// Verdict decides whether an address may be published. isHeld means that the name has it already: what is not known
	// takes it away no more. It must be fast, and safe for concurrent use. Defaults to nil: all may be.
	Verdict func(address dns.Address, isHeld bool) Verdict
}

// Verdict returns whether an address of an answer may be published.
type Verdict int

const (
	// Usable means that it may.
	Usable Verdict = iota
	// Denied means that the egress policy denies it.
	Denied
	// Unreachable means that the Service lacks its family.
	Unreachable
)

// verdictOf returns the Verdict of the name, or its default.
func (n Name) verdictOf() func(dns.Address, bool) Verdict {
	if n.Verdict == nil {
		return func(dns.Address, bool) Verdict { return Usable }
	}
	return n.Verdict
}

// either returns the more permissive of two verdicts: endpoints of one name may have other ports.
func either(a, b func(dns.Address, bool) Verdict) func(dns.Address, bool) Verdict {
	return func(address dns.Address, isHeld bool) Verdict { return min(a(address, isHeld), b(address, isHeld)) }
}

// State is the result of resolving a name.
type State struct {
	// Addresses are sorted and unique, at most 100. They must not be changed.
	Addresses []dns.Address
	// ResolvedTime is when the name last resolved, in at least one family. Zero means never.
	ResolvedTime time.Time
	// NextTime is when the name will be looked up next.
	NextTime time.Time
	// Reason of the Resolved condition: Resolved; Stale while addresses are kept although lookups fail; Denied
	// where the name is in a domain of the cluster; else Cause. Empty before the first lookup.
	Reason string
	// Cause is how the last lookup ended. Where Reason is Stale for one family only, it is that of this family.
	Cause string
	// Failed is the family that failed while the other one resolved: A or AAAA, or empty.
	Failed string
	// Kept is how many of Addresses are kept because their family failed.
	Kept int
	// Surplus is how many addresses were found beyond 100.
	Surplus int
	// Refused is how many addresses of the last answer may not be published. Those of Addresses are among them as far as
	// there is room.
	Refused int
	// Denied is how many targets of SRV records in the last answer are in a domain of the cluster.
	Denied int
	// MissingTargets is how many targets of SRV records in the last answer have no address, and LiteralTargets how many
	// are an IP address instead of a name. NoService means that it says that there is no such service.
	MissingTargets, LiteralTargets int
	NoService                      bool
	// UnusedTargets is how many targets of SRV records in the last answer are not used, since it has more than 16.
	UnusedTargets int
	// Partial means that the last answer may have lacked addresses, which are kept as of a name that does not resolve.
	Partial bool
	// LookedUp means that a lookup has ended in this process.
	LookedUp bool
	// ExpiresAt is when the first addresses are removed unless the name resolves before. Zero means never.
	ExpiresAt time.Time
}

// needsReconcile reports whether more has changed than the times of lookups.
func (s State) needsReconcile(before State) bool {
	return s.LookedUp != before.LookedUp || s.Reason != before.Reason || s.Cause != before.Cause ||
		s.Failed != before.Failed || s.Kept != before.Kept || s.Surplus != before.Surplus || s.Denied != before.Denied ||
		s.UnusedTargets != before.UnusedTargets || s.Partial != before.Partial || s.Refused != before.Refused ||
		s.MissingTargets != before.MissingTargets || s.LiteralTargets != before.LiteralTargets || s.NoService != before.NoService ||
		!s.ExpiresAt.Equal(before.ExpiresAt) || !slices.Equal(s.Addresses, before.Addresses)
}

// query is a lookup. Equal names of several objects share one.
type query struct {
	host    string
	records networkingv1.RecordType
}

func (n Name) query() query {
	q := query{host: strings.ToLower(strings.TrimSuffix(n.Host, ".")), records: n.Records}
	if q.records == "" {
		q.records = networkingv1.RecordAddress
	}
	return q
}

const (
	// minLookupInterval is the minimum time between two lookups of a name that resolves.
	minLookupInterval = time.Second
	// firstRetry is after how long a failed lookup is tried again, at most.
	firstRetry = 5 * time.Second
	// lastRetry limits the time between retries, within the limits of the name.
	lastRetry = 5 * time.Minute
)

// settings are the limits of a name.
type settings struct {
	minInterval, maxInterval, keepFor time.Duration
	removeExpired                     bool
}

func (n Name) settings() settings {
	shortest := max(n.MinTTL, minLookupInterval)
	return settings{
		minInterval:   shortest,
		maxInterval:   max(n.MaxTTL, shortest),
		keepFor:       max(n.KeepLastFor, 0),
		removeExpired: n.OnFailure == networkingv1.ResolutionRemove,
	}
}

// clamp returns the time between lookups for a TTL.
func (s settings) clamp(ttl time.Duration) time.Duration {
	return min(max(ttl, s.minInterval), s.maxInterval)
}

// retry returns the time until the next lookup after some failures in a row.
func (s settings) retry(failures int) time.Duration {
	wait, most := min(firstRetry, s.minInterval), s.maxRetry()
	for ; failures > 1 && wait < most; failures-- {
		wait *= 2
	}
	return min(wait, most)
}

func (s settings) maxRetry() time.Duration { return min(max(lastRetry, s.minInterval), s.maxInterval) }

// jitter adds up to a tenth to a time, within maxInterval; it goes below minInterval only where the time was
// before. at is from 0 to 1.
func (s settings) jitter(wait time.Duration, at float64) time.Duration {
	low, high := wait, wait+wait/10
	if high > s.maxInterval {
		high = s.maxInterval
		low = max(high-wait/10, min(wait, s.minInterval))
	}
	return low + time.Duration(at*float64(high-low))
}
