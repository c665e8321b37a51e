// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package resolution

import (
	"time"

	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
)

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
