// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package dns

import (
	"context"
	"math"
	"sync"
	"time"
)

// maxTargetAnswers limits the answers about targets of SRV records that are kept.
const maxTargetAnswers = 4096

// targetAnswers keeps the addresses of targets of SRV records for their own TTL: SRV records often have a shorter one,
// and up to 16 targets. What is older is what a target that fails has had. The zero value is ready for use.
type targetAnswers struct {
	mu    sync.Mutex
	until map[string]time.Time
	kept  map[string]Answer
}

// get returns the answer that is kept about a target, with the time that is left as its TTL.
func (t *targetAnswers) get(target string, now time.Time) (Answer, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	left := t.until[target].Sub(now)
	if left <= 0 {
		return Answer{}, false
	}
	a := t.kept[target]
	a.IPv4.TTL, a.IPv6.TTL = min(a.IPv4.TTL, left), min(a.IPv6.TTL, left)
	return a, true
}

// last returns the last answer about a target, however old.
func (t *targetAnswers) last(target string) (Answer, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	a, has := t.kept[target]
	return a, has
}

// put keeps an answer in which neither family failed.
func (t *targetAnswers) put(target string, a Answer, now time.Time) {
	for _, part := range []FamilyAnswer{a.IPv4, a.IPv6} {
		if part.Outcome != Resolved && part.Outcome != NXDomain || part.Partial {
			return
		}
	}
	ttl := min(a.IPv4.TTL, a.IPv6.TTL)
	if ttl <= 0 {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.until) >= maxTargetAnswers {
		t.drop(now)
	}
	if t.kept == nil {
		t.until, t.kept = map[string]time.Time{}, map[string]Answer{}
	}
	t.until[target], t.kept[target] = now.Add(ttl), a
}

// drop drops the answers that are over, or all of them where none is.
func (t *targetAnswers) drop(now time.Time) {
	for target, until := range t.until {
		if !until.After(now) {
			delete(t.until, target)
			delete(t.kept, target)
		}
	}
	if len(t.until) >= maxTargetAnswers {
		t.until, t.kept = nil, nil
	}
}

// lookupTarget looks up the addresses of a target, unless they are known for longer. No nameserver has any of an IP address.
func (l *lookup) lookupTarget(ctx context.Context, target string) Answer {
	if isLiteral(target) {
		return bothFamilies(NXDomain, math.MaxInt64, nil)
	}
	if a, ok := l.targets.get(target, l.options.Now()); ok {
		return a
	}
	a := l.lookupAddresses(ctx, target)
	l.targets.put(target, a, l.options.Now())
	return a
}
