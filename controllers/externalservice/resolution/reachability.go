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
	// pingEvery is how often lost nameservers are asked whether they are back, and at least the
	// time between two questions because of lookups without an answer.
	pingEvery = 5 * time.Second
	// maxUnanswered is how many lookups in a row get no answer before that means something, where
	// there is no Ping.
	maxUnanswered = 3
)

// reachability is what is known of the nameservers.
type reachability struct {
	unreachable atomic.Bool
	changeMu    sync.Mutex

	mu         sync.Mutex
	unanswered int
	pinged     time.Time
}

// recordAnswer takes in whether a lookup got any answer.
func (t *Tracker) recordAnswer(a dns.Answer) {
	switch {
	case a.Outcome() == dns.Denied:
		// Perhaps no question was sent.
		return
	case a.IPv4.Outcome != dns.Timeout || a.IPv6.Outcome != dns.Timeout:
		t.recordReply()
		return
	}
	t.reachability.mu.Lock()
	t.reachability.unanswered++
	lost, ask := false, false
	if t.Ping == nil {
		lost = t.reachability.unanswered >= maxUnanswered
	} else if now := t.Now(); !t.reachability.unreachable.Load() && now.Sub(t.reachability.pinged) >= pingEvery {
		t.reachability.pinged, ask = now, true
	}
	t.reachability.mu.Unlock()
	if lost {
		t.recordUnreachable()
	}
	if ask {
		t.queue.Set(task{}, t.Now())
	}
}

// ping asks the nameservers whether they are there, and again until they are.
func (t *Tracker) ping(ctx context.Context) time.Time {
	answered := t.Ping(ctx)
	if ctx.Err() != nil {
		return t.Now()
	}
	if answered {
		t.recordReply()
		return time.Time{}
	}
	t.recordUnreachable()
	return t.Now().Add(pingEvery)
}

// recordUnreachable notes that no nameserver answers.
func (t *Tracker) recordUnreachable() { t.setUnreachable(true) }

// recordReply notes that a nameserver answers. Names that got no answer need not wait any longer then.
func (t *Tracker) recordReply() {
	t.reachability.mu.Lock()
	t.reachability.unanswered = 0
	t.reachability.mu.Unlock()
	if t.setUnreachable(false) {
		t.retryTimedOut()
	}
}

// setUnreachable notes whether the nameservers are lost, and says whether that is a change. OnReachable is told
// of changes in their order: a loss that is told of after the recovery would stay.
func (t *Tracker) setUnreachable(lost bool) bool {
	if t.reachability.unreachable.Load() == lost { // as nearly always, and without waiting
		return false
	}
	t.reachability.changeMu.Lock()
	defer t.reachability.changeMu.Unlock()
	if !t.reachability.unreachable.CompareAndSwap(!lost, lost) {
		return false
	}
	t.OnReachable(!lost)
	return true
}

// retryTimedOut has every name looked up soon that got no answer.
func (t *Tracker) retryTimedOut() {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.Now()
	for object, entries := range t.objects {
		for endpoint, e := range entries {
			if r := e.name; r.ipv4.lastOutcome == dns.Timeout || r.ipv6.lastOutcome == dns.Timeout {
				if at := t.seededNames.next(now); at.Before(r.state.NextTime) {
					r.state.NextTime = at
					t.queue.Set(task{object, endpoint}, at)
				}
			}
		}
	}
}
