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

// Name is a DNS name of an object, and how to treat it.
type Name struct {
	// Endpoint names it within the object; two of one name are one, the first.
	Endpoint string
	// Host is the name to look up, always fully qualified.
	Host string
	// Records to look up. The default is RecordAddress.
	Records networkingv1.RecordType
	// MinTTL and MaxTTL bound the time between lookups. MinTTL is 1s at least and MaxTTL at least
	// MinTTL.
	MinTTL, MaxTTL time.Duration
	// KeepLastFor is how long addresses outlive the last success, with OnFailure Remove.
	KeepLastFor time.Duration
	// OnFailure is KeepLast, which keeps them for good, or Remove. The default is KeepLast.
	OnFailure networkingv1.ResolutionFailurePolicy
	// Seed is what the name led to before this process, and SeedTime when it last did so. They
	// count only while the name is new to this process.
	Seed     []dns.Address
	SeedTime time.Time
}

// State is what is known of a name.
type State struct {
	// Endpoint is that of the Name.
	Endpoint string
	// Addresses are sorted, each there once, 100 at most. They are not to be changed.
	Addresses []dns.Address
	// ResolvedTime is when the name last resolved, in one family at least. Zero if never.
	ResolvedTime time.Time
	// NextTime is when the name will be looked up next.
	NextTime time.Time
	// Reason of the Resolved condition: Resolved; Stale while addresses are kept although a lookup
	// fails; Denied where the name leads into the cluster, whether addresses are kept or not; else
	// Cause. Empty before the first lookup.
	Reason string
	// Cause is how the last lookup ended. Where Reason is Stale for one family only, it is how
	// that family's ended.
	Cause string
	// Failed is the family that failed where the other one resolved: A or AAAA. Empty where both
	// did, or neither.
	Failed string
	// Kept is how many of Addresses are there only because their family failed.
	Kept int
	// Surplus is how many addresses were found that do not count, since there are more than 100.
	Surplus int
	// Denied is how many targets of SRV records the last answer had that lead into the cluster.
	Denied int
	// LookedUp says that a lookup has ended in this process.
	LookedUp bool
	// ExpiresAt is when the first addresses go unless the name resolves before. Zero if none will.
	ExpiresAt time.Time
}

// needsReconcile says whether a reconciler has to know of the change. That lookups go on is no news.
func (s State) needsReconcile(before State) bool {
	return s.LookedUp != before.LookedUp || s.Reason != before.Reason || s.Cause != before.Cause ||
		s.Failed != before.Failed || s.Kept != before.Kept || s.Surplus != before.Surplus || s.Denied != before.Denied ||
		!s.ExpiresAt.Equal(before.ExpiresAt) || !slices.Equal(s.Addresses, before.Addresses)
}

// query is what is looked up: the same for all names that mean the same.
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
	// minLookupInterval is the least time between two lookups of a name that resolves.
	minLookupInterval = time.Second
	// firstRetry is after how long a failed lookup is tried again, at most.
	firstRetry = 5 * time.Second
	// lastRetry is what the time between retries grows to, within the limits of the name.
	lastRetry = 5 * time.Minute
)

// settings are the limits of a name, put in order.
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

// clamp returns the time between lookups that a TTL asks for.
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

// jitter moves a time by up to a tenth: upwards, but never above longest; nor below shortest where
// it was not below before. at is from 0 to 1.
func (s settings) jitter(wait time.Duration, at float64) time.Duration {
	low, high := wait, wait+wait/10
	if high > s.maxInterval {
		high = s.maxInterval
		low = max(high-wait/10, min(wait, s.minInterval))
	}
	return low + time.Duration(at*float64(high-low))
}
