// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package delegatedauth

import (
	"sync"
	"time"

	"golang.org/x/time/rate"
	"k8s.io/apimachinery/pkg/util/cache"
	"k8s.io/utils/clock"
)

const (
	// What callers who were not allowed before may have reviewed, in callers a second: all of them, and those of one
	// source address. A review is two requests to the API server at most.
	overallRate, overallBurst = rate.Limit(10), 20
	sourceRate, sourceBurst   = rate.Limit(2), 10
	// What those may who were, again after a minute each.
	knownRate, knownBurst = rate.Limit(10), 20
	// maxAtOnce is how many reviews of either may wait for the API server.
	maxAtOnce  = 4
	maxSources = 1024
)

// budget bounds the reviews. Callers who were allowed before do not share theirs with those who were not.
type budget struct {
	clock   clock.PassiveClock
	known   limit
	unknown limit

	mu      sync.Mutex
	sources *cache.LRUExpireCache // of a source address: its *rate.Limiter
}

// limit is a rate, and how many at once.
type limit struct {
	limiter *rate.Limiter
	atOnce  chan struct{}
}

func newBudget(clock clock.PassiveClock) *budget {
	return &budget{
		clock:   clock,
		known:   limit{rate.NewLimiter(knownRate, knownBurst), make(chan struct{}, maxAtOnce)},
		unknown: limit{rate.NewLimiter(overallRate, overallBurst), make(chan struct{}, maxAtOnce)},
		sources: cache.NewLRUExpireCacheWithClock(maxSources, clock),
	}
}

// take returns whether there may be a review now, and what to call after it.
func (b *budget) take(source string, known bool) (release func(), has bool) {
	now, of := b.clock.Now(), &b.unknown
	if known {
		of = &b.known
	}
	if !known && !b.ofSource(source).AllowN(now, 1) {
		return nil, false
	}
	select {
	case of.atOnce <- struct{}{}:
	default:
		return nil, false
	}
	if !of.limiter.AllowN(now, 1) {
		<-of.atOnce
		return nil, false
	}
	return func() { <-of.atOnce }, true
}

func (b *budget) ofSource(source string) *rate.Limiter {
	b.mu.Lock()
	defer b.mu.Unlock()
	if limiter, has := b.sources.Get(source); has {
		return limiter.(*rate.Limiter) //nolint:errcheck,forcetypeassert // nothing else is put there
	}
	limiter := rate.NewLimiter(sourceRate, sourceBurst)
	b.sources.Add(source, limiter, time.Minute)
	return limiter
}
