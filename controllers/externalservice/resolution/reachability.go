// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package resolution

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fairlead-dev/fairlead/internal/dns"
)

const (
	// pingEvery is how often unreachable nameservers are pinged, and the minimum time between two pings because
	// of lookups without a reply.
	pingEvery = 5 * time.Second
	// maxUnanswered is after how many lookups in a row without a reply the nameservers are unreachable, where there
	// is no Ping.
	maxUnanswered = 3
)

// reachability records whether the nameservers reply.
type reachability struct {
	unreachable atomic.Bool
	changeMu    sync.Mutex

	mu         sync.Mutex
	unanswered int
	pinged     time.Time
}

// recordAnswer records whether any nameserver replied to a lookup.
func (t *Tracker) recordAnswer(a dns.Answer) {
	switch {
	case a.Outcome() == dns.Denied:
		// There may have been no query.
		return
	case a.IPv4.Outcome != dns.Timeout || a.IPv6.Outcome != dns.Timeout:
		t.recordReply()
		return
	}
	t.reachability.mu.Lock()
	t.reachability.unanswered++
	lost, ping := false, false
	if t.options.Ping == nil {
		lost = t.reachability.unanswered >= maxUnanswered
	} else if now := time.Now(); !t.reachability.unreachable.Load() && now.Sub(t.reachability.pinged) >= pingEvery {
		t.reachability.pinged, ping = now, true
	}
	t.reachability.mu.Unlock()
	if lost {
		t.recordUnreachable()
	}
	if ping {
		t.queue.Set(task{}, time.Now())
	}
}

// ping pings the nameservers, and returns when to ping them again.
func (t *Tracker) ping(ctx context.Context) time.Time {
	answered := t.options.Ping(ctx)
	if ctx.Err() != nil {
		return time.Now()
	}
	if answered {
		t.recordReply()
		return time.Time{}
	}
	t.recordUnreachable()
	return time.Now().Add(pingEvery)
}

// recordUnreachable records that no nameserver replies.
func (t *Tracker) recordUnreachable() { t.setUnreachable(true) }

// recordReply records that a nameserver replies. Names that timed out are then looked up soon.
func (t *Tracker) recordReply() {
	t.reachability.mu.Lock()
	t.reachability.unanswered = 0
	t.reachability.mu.Unlock()
	if t.setUnreachable(false) {
		t.retryTimedOut()
	}
}

// setUnreachable records whether the nameservers are unreachable, and reports whether that is a change.
// OnReachable is called in the order of changes: a loss that is reported after the recovery would stay.
func (t *Tracker) setUnreachable(lost bool) bool {
	if t.reachability.unreachable.Load() == lost { // as nearly always, and without waiting
		return false
	}
	t.reachability.changeMu.Lock()
	defer t.reachability.changeMu.Unlock()
	if !t.reachability.unreachable.CompareAndSwap(!lost, lost) {
		return false
	}
	t.options.OnReachable(!lost)
	return true
}

// retryTimedOut has every name that timed out looked up soon.
func (t *Tracker) retryTimedOut() {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := time.Now()
	for object, entries := range t.objects {
		for q, e := range entries {
			if n := e.name; n.ipv4.lastOutcome == dns.Timeout || n.ipv6.lastOutcome == dns.Timeout {
				if at := t.seededNames.next(now); at.Before(n.state.NextTime) {
					n.state.NextTime = at
					t.queue.Set(task{object, q}, at)
				}
			}
		}
	}
}
