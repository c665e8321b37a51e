// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package resolution

import (
	"context"
	"sync"
	"time"

	"github.com/go-logr/logr"

	"github.com/fairlead-dev/fairlead/internal/dns"
	"github.com/fairlead-dev/fairlead/internal/panics"
)

// process looks up a name that is due, and returns when it is due again. The queue calls it.
func (t *Tracker) process(ctx context.Context, of task) time.Time {
	if of == (task{}) {
		return t.ping(ctx)
	}
	e := t.entryOf(of)
	if e == nil {
		return time.Time{}
	}
	answer, err := t.singleflight.do(ctx, of.query)
	if ctx.Err() != nil || err != nil {
		// This process stops: the error is not about the name.
		return time.Now()
	}
	if answer.Err != nil {
		logr.FromContextOrDiscard(ctx).V(1).Info("lookup failed",
			"externalService", of.object.String(), "name", of.query.host, "error", answer.Err.Error())
	}
	t.recordAnswer(answer)
	return t.applyAnswer(of, e, answer)
}

// entryOf returns the entry of a task, or nil where it was removed.
func (t *Tracker) entryOf(of task) *entry {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.objects[of.object][of.query]
}

// applyAnswer applies an answer unless the name was replaced meanwhile: its replacement is in the queue, which
// ignores the time that is returned then.
func (t *Tracker) applyAnswer(of task, e *entry, answer dns.Answer) time.Time {
	matters := false
	defer func() {
		if matters {
			t.options.Notify(of.object)
		}
	}()
	t.mu.Lock()
	defer t.mu.Unlock() // also where an answer causes a panic; and before Notify is called
	if t.objects[of.object][of.query] != e {
		return time.Time{}
	}
	before := e.name.state
	now := time.Now()
	e.name.apply(answer, now, t.options.Rand())
	t.budgets.charge(of.object.Namespace, answer.Queries, now)
	e.name.state.NextTime = t.budgets.earliest(of.object.Namespace, e.name.state.NextTime)
	after := e.name.state
	matters = after.needsReconcile(before)
	return after.NextTime
}

const (
	// sharedFor is for how long an answer is returned for equal queries.
	sharedFor = time.Second
	// maxShared limits the answers that are held for that.
	maxShared = 4096
)

// singleflight makes equal queries at the same time one.
type singleflight struct {
	lookup func(ctx context.Context, q query) dns.Answer
	now    func() time.Time

	mu    sync.Mutex
	calls map[query]*call
	// finished are those that have ended, the oldest first.
	finished []finishedCall
}

// call is a query that is under way, or has just ended.
type call struct {
	done   chan struct{}
	answer dns.Answer
	err    error
}

type finishedCall struct {
	query query
	at    time.Time
}

// do looks up a query, or waits for the call that does already, whose answer then counts no queries. It fails only if
// the context ends.
func (s *singleflight) do(ctx context.Context, q query) (dns.Answer, error) {
	s.mu.Lock()
	s.evict()
	if other, ok := s.calls[q]; ok {
		s.mu.Unlock()
		select {
		case <-other.done:
			shared := other.answer
			shared.Queries = 0
			return shared, other.err
		case <-ctx.Done():
			return dns.Answer{}, ctx.Err()
		}
	}
	mine := &call{done: make(chan struct{})}
	s.calls[q] = mine
	s.mu.Unlock()

	// A panic must not leave later callers waiting.
	if err := panics.Try("DNS lookup", func() error { mine.answer = s.lookup(ctx, q); return nil }); err != nil {
		failed := dns.FamilyAnswer{Outcome: dns.ServFail}
		mine.answer = dns.Answer{IPv4: failed, IPv6: failed, Err: err}
	}
	mine.err = ctx.Err()

	s.mu.Lock()
	if mine.err != nil {
		delete(s.calls, q)
	} else {
		s.finished = append(s.finished, finishedCall{query: q, at: s.now()})
		s.evict()
	}
	s.mu.Unlock()
	close(mine.done)
	return mine.answer, mine.err
}

// evict drops answers that are too old or too many. The lock is held.
func (s *singleflight) evict() {
	now, old := s.now(), 0
	for old < len(s.finished) && (now.Sub(s.finished[old].at) > sharedFor || len(s.finished)-old > maxShared) {
		delete(s.calls, s.finished[old].query)
		old++
	}
	if s.finished = s.finished[old:]; len(s.finished) == 0 {
		s.finished = nil
	}
}
