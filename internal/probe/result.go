// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/types"

	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/internal/egress"
)

// probe asks a target once and returns when to ask it next. The agenda calls it.
func (p *Prober) probe(ctx context.Context, t *target) time.Time {
	p.mu.Lock()
	if t.removed {
		p.mu.Unlock()
		return time.Time{}
	}
	ask, asked, timeout := t.object.plan, t.planVersion, t.object.timing.timeout
	succeeded := t.object.lastSuccess
	at := dialTarget{
		Query: egress.Query{Namespace: t.object.key.Namespace, IP: t.ip, Port: t.port, Authorized: t.authorized},
		host:  t.host,
	}
	start := time.Now()
	due := t.due
	late := start.Sub(p.startTime) - due
	allowed := max(time.Second, t.object.timing.interval/10)
	p.mu.Unlock()
	if late > allowed {
		p.metrics.late.Inc()
	}

	lost := p.pauses.Lost()
	result := p.checker.check(ctx, ask, at, timeout)
	if result == timedOut && p.pauses.Lost() > lost {
		result = local // the time passed while this process did not run
	}
	if ctx.Err() != nil {
		// This process is ending: that is what the result says.
		return start
	}
	p.metrics.observe(ask, result, time.Since(start))
	next, told := p.applyResult(t, asked, succeeded, due, start, result)
	p.notify(told)
	return next
}

// applyResult records a result, and returns when the target is due next and whom to tell.
func (p *Prober) applyResult(t *target, asked uint32, succeeded uint64, due time.Duration, start time.Time, result outcome) (next time.Time, told []types.NamespacedName) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if t.removed {
		return time.Time{}, nil
	}
	if t.planVersion == asked && result != local {
		told = p.recordResult(t, result, succeeded)
	}
	next = p.nextProbe(t, start)
	// Whatever was scheduled meanwhile wins over the answer, in the agenda too.
	if t.due == due {
		t.due = next.Sub(p.startTime)
	}
	return next, told
}

// recordResult counts the result of a probe, before which the object's last success was the one of this
// number, and returns the objects to notify of. The lock is held.
func (p *Prober) recordResult(t *target, result outcome, succeeded uint64) []types.NamespacedName {
	if p.RequireThreshold && (result.isNotProbed() || t.result.isNotProbed()) {
		return p.recordNotProbed(t, result, succeeded)
	}
	return p.countResult(t, result, succeeded)
}

// recordNotProbed is record where nothing was asked, now or the last time. What was known before is
// known again once the target can be asked.
func (p *Prober) recordNotProbed(t *target, result outcome, succeeded uint64) []types.NamespacedName {
	before, was := t.suspicionShare(), t.result
	t.result, t.lastProbe = result, p.Now().UnixNano()
	p.suspicion.update(t.object.counts, t.destination, before, t.suspicionShare())
	told := p.updateSuspect()
	if !result.isNotProbed() {
		told = append(told, p.countResult(t, result, succeeded)...)
	}
	if result != was {
		told = append(told, t.object.key)
	}
	return told
}

// countResult is record for a result that says something about the target.
func (p *Prober) countResult(t *target, result outcome, succeeded uint64) []types.NamespacedName {
	before, frozen := t.suspicionShare(), p.healthFrozen(t.object)
	t.result, t.lastProbe = result, p.Now().UnixNano()
	p.addResult(t, result == connected)
	p.suspicion.update(t.object.counts, t.destination, before, t.suspicionShare())
	// Whether we are suspect is judged with this failure in mind, and before it decides anything.
	told := p.updateSuspect()
	if p.healthFrozen(t.object) != frozen {
		told = append(told, t.object.key)
	}
	if t.count < 0 && result != denied && !t.isConfirmed(succeeded) {
		if t.awaitsReference = p.reference.pending && !p.suspect; p.suspect || t.awaitsReference {
			return told
		}
	}
	return append(told, p.decide(t)...)
}

// addResult counts a result in a row.
func (p *Prober) addResult(t *target, success bool) {
	o := t.object
	o.results++
	if t.setCounter(t.add(success)); success {
		o.lastSuccess = o.results
	} else if t.count == -1 {
		t.firstFailure = o.results
	}
	t.awaitsReference = false
}

// decide has the results in a row decide.
func (p *Prober) decide(t *target) []types.NamespacedName {
	was, stood := t.condition, t.suspicionShare()
	t.counter = t.decide(t.object.timing.healthy, t.object.timing.unhealthy, p.RequireThreshold)
	if t.condition == was {
		return nil
	}
	t.since = t.lastProbe
	p.suspicion.update(t.object.counts, t.destination, stood, t.suspicionShare())
	return append(p.updateSuspect(), t.object.key)
}

// nextProbe is when a target is due again that was probed at a time. The lock is held.
func (p *Prober) nextProbe(t *target, start time.Time) time.Time {
	pace := t.object.timing
	wait := pace.interval
	if t.condition == unhealthy {
		wait = pace.unhealthyInterval
		if t.count > 0 {
			wait = min(wait, pace.interval)
		}
	}
	return start.Add(wait + time.Duration(p.Rand()*float64(pace.jitterPercent)/100*float64(wait)))
}

// promptTime is now for a few, and within an interval for more.
func (p *Prober) promptTime(interval time.Duration) time.Time {
	if p.promptLimiter.Allow() {
		return time.Now()
	}
	return p.randomTime(interval)
}

func (p *Prober) randomTime(interval time.Duration) time.Time {
	return time.Now().Add(time.Duration(p.Rand() * float64(interval)))
}

func (p *Prober) schedule(t *target, at time.Time) {
	t.due = at.Sub(p.startTime)
	p.queue.Set(t, at)
}

// Summary is how many targets of an object have which State.
type Summary struct {
	Healthy, Unhealthy, Unknown int
	// NotProbed is why none can be asked: ProbeDenied or HostUnresolved. It is empty where any can, and
	// where there are none.
	NotProbed string
}

// Summary counts the targets of an object as they are now.
func (p *Prober) Summary(key types.NamespacedName) Summary {
	p.mu.Lock()
	defer p.mu.Unlock()
	var c Summary
	o, ok := p.objects[key]
	if !ok {
		return c
	}
	askable := false
	for _, t := range o.targets {
		switch t.state() {
		case networkingv1.AddressHealthy:
			c.Healthy++
		case networkingv1.AddressUnhealthy:
			c.Unhealthy++
		default:
			c.Unknown++
		}
		if !t.isNotProbed() {
			askable = true
		} else if c.NotProbed == "" {
			c.NotProbed = t.result.reason()
		}
	}
	if askable {
		c.NotProbed = ""
	}
	return c
}
