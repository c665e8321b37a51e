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

// process looks up a name that is due, and returns when it is due again.
func (t *Tracker) process(ctx context.Context, of task) time.Time {
	if of == (task{}) {
		return t.ping(ctx)
	}
	e := t.entryOf(of)
	if e == nil {
		return time.Time{}
	}
	answer, err := t.singleflight.do(ctx, e.query)
	if ctx.Err() != nil || err != nil {
		// The process is about to stop: that says nothing about the name.
		return t.Now()
	}
	if answer.Err != nil {
		logr.FromContextOrDiscard(ctx).V(1).Info("lookup failed",
			"externalService", of.object.String(), "endpoint", of.endpoint, "error", answer.Err.Error())
	}
	t.recordAnswer(answer)
	return t.applyAnswer(of, e, answer)
}

// entryOf returns what a task stands for, or nil where it has been forgotten.
func (t *Tracker) entryOf(of task) *entry {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.objects[of.object][of.endpoint]
}

// applyAnswer takes in an answer unless its name was replaced meanwhile; what replaced it is on the
// agenda, so that the time answered then does not count.
func (t *Tracker) applyAnswer(of task, e *entry, answer dns.Answer) time.Time {
	matters := false
	defer func() {
		if matters {
			t.Notify(of.object)
		}
	}()
	t.mu.Lock()
	defer t.mu.Unlock() // also where what the answer holds makes it panic; and before anybody is notified
	if t.objects[of.object][of.endpoint] != e {
		return time.Time{}
	}
	before := e.name.state
	e.name.apply(answer, t.Now(), t.Rand())
	after := e.name.state
	matters = after.needsReconcile(before)
	return after.NextTime
}

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
