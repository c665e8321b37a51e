// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package resolution

import (
	"context"
	"sync"
	"time"

	"github.com/fairlead-dev/fairlead/internal/dns"
	"github.com/fairlead-dev/fairlead/internal/panics"
)

const (
	// shared is for how long an answer serves others that ask the same.
	shared = time.Second
	// maxShared is how many answers are held for that.
	maxShared = 4096
)

// flights makes one query of what many ask at the same time.
type flights struct {
	look func(ctx context.Context, q query) dns.Answer
	now  func() time.Time

	mu    sync.Mutex
	under map[query]*flight
	// landed are those that have ended, the oldest first.
	landed []landing
}

// flight is a query under way, or one that has just ended.
type flight struct {
	done   chan struct{}
	answer dns.Answer
	err    error
}

type landing struct {
	query query
	at    time.Time
}

// do returns the answer to a query, by asking or by waiting for the caller that asks already. The error is
// that the context ended.
func (f *flights) do(ctx context.Context, q query) (dns.Answer, error) {
	f.mu.Lock()
	f.sweep()
	if other, ok := f.under[q]; ok {
		f.mu.Unlock()
		select {
		case <-other.done:
			return other.answer, other.err
		case <-ctx.Done():
			return dns.Answer{}, ctx.Err()
		}
	}
	mine := &flight{done: make(chan struct{})}
	f.under[q] = mine
	f.mu.Unlock()

	// A panic must not leave those waiting who came after.
	if err := panics.Try("DNS lookup", func() error { mine.answer = f.look(ctx, q); return nil }); err != nil {
		failed := dns.FamilyAnswer{Outcome: dns.ServFail}
		mine.answer = dns.Answer{IPv4: failed, IPv6: failed, Err: err}
	}
	mine.err = ctx.Err()

	f.mu.Lock()
	if mine.err != nil {
		delete(f.under, q)
	} else {
		f.landed = append(f.landed, landing{query: q, at: f.now()})
		f.sweep()
	}
	f.mu.Unlock()
	close(mine.done)
	return mine.answer, mine.err
}

// sweep forgets answers that are too old or too many. The lock is held.
func (f *flights) sweep() {
	now, old := f.now(), 0
	for old < len(f.landed) && (now.Sub(f.landed[old].at) > shared || len(f.landed)-old > maxShared) {
		delete(f.under, f.landed[old].query)
		old++
	}
	if f.landed = f.landed[old:]; len(f.landed) == 0 {
		f.landed = nil
	}
}
