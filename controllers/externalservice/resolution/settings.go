// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package resolution

import (
	"time"

	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
)

const (
	// floor is the least time between two lookups of a name that resolves.
	floor = time.Second
	// firstRetry is after how long a failed lookup is tried again, at most.
	firstRetry = 5 * time.Second
	// lastRetry is what the time between retries grows to, within the limits of the name.
	lastRetry = 5 * time.Minute
)

// settings are the limits of a name, put in order.
type settings struct {
	shortest, longest, keep time.Duration
	remove                  bool
}

func (n Name) settings() settings {
	shortest := max(n.MinTTL, floor)
	return settings{
		shortest: shortest,
		longest:  max(n.MaxTTL, shortest),
		keep:     max(n.KeepLastFor, 0),
		remove:   n.OnFailure == networkingv1.ResolutionRemove,
	}
}

// clamp returns the time between lookups that a TTL asks for.
func (s settings) clamp(ttl time.Duration) time.Duration { return min(max(ttl, s.shortest), s.longest) }

// retry returns the time until the next lookup after some failures in a row.
func (s settings) retry(failures int) time.Duration {
	wait, most := min(firstRetry, s.shortest), s.mostRetry()
	for ; failures > 1 && wait < most; failures-- {
		wait *= 2
	}
	return min(wait, most)
}

func (s settings) mostRetry() time.Duration { return min(max(lastRetry, s.shortest), s.longest) }

// jitter moves a time by up to a tenth: upwards, but never above longest; nor below shortest where
// it was not below before. at is from 0 to 1.
func (s settings) jitter(wait time.Duration, at float64) time.Duration {
	low, high := wait, wait+wait/10
	if high > s.longest {
		high = s.longest
		low = max(high-wait/10, min(wait, s.shortest))
	}
	return low + time.Duration(at*float64(high-low))
}
