// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-dev/fairlead/internal/egress"
)

// probe asks a target once and returns when to ask it next. The agenda calls it.
func (p *Prober) probe(ctx context.Context, t *target) time.Time {
	p.mu.Lock()
	if t.gone {
		p.mu.Unlock()
		return time.Time{}
	}
	ask, asked, timeout := t.object.ask, t.asked, t.object.pace.timeout
	succeeded := t.object.succeeded
	at := place{
		Query: egress.Query{Namespace: t.object.key.Namespace, IP: t.ip, Port: t.port, Authorized: t.authorized},
		host:  t.host,
	}
	start := time.Now()
	due := t.due
	late := start.Sub(p.began) - due
	allowed := max(time.Second, t.object.pace.interval/10)
	p.mu.Unlock()
	if late > allowed {
		p.metrics.late.Inc()
	}

	lost := p.pauses.Lost()
	result := p.asker.ask(ctx, ask, at, timeout)
	if result == timedOut && p.pauses.Lost() > lost {
		result = local // the time passed while this process did not run
	}
	if ctx.Err() != nil {
		// This process is ending: that is what the result says.
		return start
	}
	p.metrics.ended(ask, result, time.Since(start))
	next, told := p.take(t, asked, succeeded, due, start, result)
	p.notify(told)
	return next
}

// take records a result, and returns when the target is due next and whom to tell.
func (p *Prober) take(t *target, asked uint32, succeeded uint64, due time.Duration, start time.Time, result outcome) (next time.Time, told []types.NamespacedName) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if t.gone {
		return time.Time{}, nil
	}
	if t.asked == asked && result != local {
		told = p.record(t, result, succeeded)
	}
	next = p.after(t, start)
	// Whatever was scheduled meanwhile wins over the answer, in the agenda too.
	if t.due == due {
		t.due = next.Sub(p.began)
	}
	return next, told
}

// record counts the result of a probe, before which the object's last success was the one of this
// number, and returns the objects to notify of. The lock is held.
func (p *Prober) record(t *target, result outcome, succeeded uint64) []types.NamespacedName {
	if p.RequireThreshold && (result.void() || t.result.void()) {
		return p.recordVoid(t, result, succeeded)
	}
	return p.count(t, result, succeeded)
}

// recordVoid is record where nothing was asked, now or the last time. What was known before is
// known again once the target can be asked.
func (p *Prober) recordVoid(t *target, result outcome, succeeded uint64) []types.NamespacedName {
	before, was := t.standing(), t.result
	t.result, t.lastProbe = result, p.Now().UnixNano()
	p.suspicion.move(t.object.tally, t.destination, before, t.standing())
	told := p.judge()
	if !result.void() {
		told = append(told, p.count(t, result, succeeded)...)
	}
	if result != was {
		told = append(told, t.object.key)
	}
	return told
}

// count is record for a result that says something about the target.
func (p *Prober) count(t *target, result outcome, succeeded uint64) []types.NamespacedName {
	before, frozen := t.standing(), p.frozen(t.object)
	t.result, t.lastProbe = result, p.Now().UnixNano()
	p.counted(t, result == connected)
	p.suspicion.move(t.object.tally, t.destination, before, t.standing())
	// Whether we are suspect is judged with this failure in mind, and before it decides anything.
	told := p.judge()
	if p.frozen(t.object) != frozen {
		told = append(told, t.object.key)
	}
	if t.count < 0 && result != denied && !t.confirmed(succeeded) {
		if t.held = p.reference.pending && !p.suspect; p.suspect || t.held {
			return told
		}
	}
	return append(told, p.decide(t)...)
}

// counted counts a result in a row.
func (p *Prober) counted(t *target, success bool) {
	o := t.object
	o.results++
	if t.set(t.with(success)); success {
		o.succeeded = o.results
	} else if t.count == -1 {
		t.failed = o.results
	}
	t.held = false
}

// decide has the results in a row decide.
func (p *Prober) decide(t *target) []types.NamespacedName {
	was, stood := t.condition, t.standing()
	t.counter = t.decided(t.object.pace.healthy, t.object.pace.unhealthy, p.RequireThreshold)
	if t.condition == was {
		return nil
	}
	t.since = t.lastProbe
	p.suspicion.move(t.object.tally, t.destination, stood, t.standing())
	return append(p.judge(), t.object.key)
}

// after is when a target is due again that was probed at a time. The lock is held.
func (p *Prober) after(t *target, start time.Time) time.Time {
	pace := t.object.pace
	wait := pace.interval
	if t.condition == unhealthy {
		wait = pace.unhealthyInterval
		if t.count > 0 {
			wait = min(wait, pace.interval)
		}
	}
	return start.Add(wait + time.Duration(p.Rand()*float64(pace.jitterPercent)/100*float64(wait)))
}

// soon is now for a few, and within an interval for more.
func (p *Prober) soon(interval time.Duration) time.Time {
	if p.prompt.Allow() {
		return time.Now()
	}
	return p.spread(interval)
}

func (p *Prober) spread(interval time.Duration) time.Time {
	return time.Now().Add(time.Duration(p.Rand() * float64(interval)))
}

func (p *Prober) schedule(t *target, at time.Time) {
	t.due = at.Sub(p.began)
	p.agenda.Set(t, at)
}
