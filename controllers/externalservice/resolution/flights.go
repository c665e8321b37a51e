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
	// sharedFor is for how long an answer serves others that ask the same.
	sharedFor = time.Second
	// maxShared is how many answers are held for that.
	maxShared = 4096
)

// singleflight makes one query of what many ask at the same time.
type singleflight struct {
	lookup func(ctx context.Context, q query) dns.Answer
	now    func() time.Time

	mu    sync.Mutex
	calls map[query]*call
	// finished are those that have ended, the oldest first.
	finished []finishedCall
}

// call is a query under way, or one that has just ended.
type call struct {
	done   chan struct{}
	answer dns.Answer
	err    error
}

type finishedCall struct {
	query query
	at    time.Time
}

// do returns the answer to a query, by asking or by waiting for the caller that asks already. The error is
// that the context ended.
func (f *singleflight) do(ctx context.Context, q query) (dns.Answer, error) {
	f.mu.Lock()
	f.evict()
	if other, ok := f.calls[q]; ok {
		f.mu.Unlock()
		select {
		case <-other.done:
			return other.answer, other.err
		case <-ctx.Done():
			return dns.Answer{}, ctx.Err()
		}
	}
	mine := &call{done: make(chan struct{})}
	f.calls[q] = mine
	f.mu.Unlock()

	// A panic must not leave those waiting who came after.
	if err := panics.Try("DNS lookup", func() error { mine.answer = f.lookup(ctx, q); return nil }); err != nil {
		failed := dns.FamilyAnswer{Outcome: dns.ServFail}
		mine.answer = dns.Answer{IPv4: failed, IPv6: failed, Err: err}
	}
	mine.err = ctx.Err()

	f.mu.Lock()
	if mine.err != nil {
		delete(f.calls, q)
	} else {
		f.finished = append(f.finished, finishedCall{query: q, at: f.now()})
		f.evict()
	}
	f.mu.Unlock()
	close(mine.done)
	return mine.answer, mine.err
}

// evict forgets answers that are too old or too many. The lock is held.
func (f *singleflight) evict() {
	now, old := f.now(), 0
	for old < len(f.finished) && (now.Sub(f.finished[old].at) > sharedFor || len(f.finished)-old > maxShared) {
		delete(f.calls, f.finished[old].query)
		old++
	}
	if f.finished = f.finished[old:]; len(f.finished) == 0 {
		f.finished = nil
	}
}
