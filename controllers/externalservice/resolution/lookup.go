// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package resolution

import (
	"context"
	"time"

	"github.com/go-logr/logr"

	"github.com/fairlead-dev/fairlead/internal/dns"
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
