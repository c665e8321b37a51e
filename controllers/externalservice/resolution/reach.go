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
	// silences is how many lookups in a row get no answer before that means something, where
	// there is no Ping.
	silences = 3
)

// reach is what is known of the nameservers.
type reach struct {
	lost    atomic.Bool
	turning sync.Mutex

	mu     sync.Mutex
	silent int
	pinged time.Time
}

// hear takes in whether a lookup got any answer.
func (t *Tracker) hear(a dns.Answer) {
	switch {
	case a.Outcome() == dns.Denied:
		// Perhaps no question was sent.
		return
	case a.IPv4.Outcome != dns.Timeout || a.IPv6.Outcome != dns.Timeout:
		t.heard()
		return
	}
	t.reach.mu.Lock()
	t.reach.silent++
	lost, ask := false, false
	if t.Ping == nil {
		lost = t.reach.silent >= silences
	} else if now := t.Now(); !t.reach.lost.Load() && now.Sub(t.reach.pinged) >= pingEvery {
		t.reach.pinged, ask = now, true
	}
	t.reach.mu.Unlock()
	if lost {
		t.lose()
	}
	if ask {
		t.agenda.Set(task{}, t.Now())
	}
}

// ping asks the nameservers whether they are there, and again until they are.
func (t *Tracker) ping(ctx context.Context) time.Time {
	answered := t.Ping(ctx)
	if ctx.Err() != nil {
		return t.Now()
	}
	if answered {
		t.heard()
		return time.Time{}
	}
	t.lose()
	return t.Now().Add(pingEvery)
}

// lose notes that no nameserver answers.
func (t *Tracker) lose() { t.turn(true) }

// heard notes that a nameserver answers. Names that got no answer need not wait any longer then.
func (t *Tracker) heard() {
	t.reach.mu.Lock()
	t.reach.silent = 0
	t.reach.mu.Unlock()
	if t.turn(false) {
		t.revive()
	}
}

// turn notes whether the nameservers are lost, and says whether that is a change. OnReachable is told
// of changes in their order: a loss that is told of after the recovery would stay.
func (t *Tracker) turn(lost bool) bool {
	if t.reach.lost.Load() == lost { // as nearly always, and without waiting
		return false
	}
	t.reach.turning.Lock()
	defer t.reach.turning.Unlock()
	if !t.reach.lost.CompareAndSwap(!lost, lost) {
		return false
	}
	t.OnReachable(!lost)
	return true
}

// revive has every name looked up soon that got no answer.
func (t *Tracker) revive() {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.Now()
	for object, entries := range t.objects {
		for endpoint, e := range entries {
			if r := e.record; r.ipv4.last == dns.Timeout || r.ipv6.last == dns.Timeout {
				if at := t.known.next(now); at.Before(r.state.NextTime) {
					r.state.NextTime = at
					t.agenda.Set(task{object, endpoint}, at)
				}
			}
		}
	}
}
