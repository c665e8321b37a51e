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

// probe probes a target and returns when it is due next. The queue calls it.
func (p *Prober) probe(ctx context.Context, t *target) time.Time {
	p.mu.Lock()
	if t.removed {
		p.mu.Unlock()
		return time.Time{}
	}
	plan, timeout := t.object.plan, t.object.timing.timeout
	succeeded := t.object.lastSuccess
	to := dialTarget{
		Query: egress.Query{Namespace: t.object.key.Namespace, IP: t.ip, Port: t.port, Authorized: t.authorized, Held: true},
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
	result := p.checker.check(ctx, plan, to, timeout)
	result = result.withPause(p.pauses.Lost()-lost, timeout)
	if ctx.Err() != nil {
		// This process stops: the result is not about the target.
		return start
	}
	p.metrics.observe(plan, result, time.Since(start))
	next, changed := p.applyResult(t, succeeded, due, start, result)
	p.notify(changed)
	return next
}

// applyResult records a result, and returns when the target is due next and the keys to notify.
func (p *Prober) applyResult(
	t *target, succeeded uint64, due time.Duration, start time.Time, result outcome,
) (next time.Time, changed []types.NamespacedName) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if t.removed {
		return time.Time{}, nil
	}
	if len(t.object.tallies) > 0 {
		p.countFor(t.object, result)
		changed = append(changed, t.object.key)
	}
	if result != local {
		changed = append(changed, p.recordResult(t, result, succeeded)...)
		p.seekReplacement(t.object)
	}
	next = p.nextProbe(t, start)
	// What was scheduled meanwhile wins, in the queue as well.
	if t.due == due {
		t.due = next.Sub(p.startTime)
	}
	return next, changed
}

// recordResult records a result, and returns the keys to notify. succeeded is the object's last success before the
// probe. The lock is held.
func (p *Prober) recordResult(t *target, result outcome, succeeded uint64) []types.NamespacedName {
	if p.options.RequireThreshold && (result.isNotProbed() || t.result.isNotProbed()) {
		return p.recordNotProbed(t, result, succeeded)
	}
	return p.countResult(t, result, succeeded)
}

// recordNotProbed records a result where the target could not be probed, now or the last time. Its health returns
// once it can be probed.
func (p *Prober) recordNotProbed(t *target, result outcome, succeeded uint64) []types.NamespacedName {
	before, was := t.suspicionShare(), t.result
	t.result, t.lastProbe = result, p.options.Now().UnixNano()
	p.suspicion.update(t.object.counts, t.destination, before, t.suspicionShare())
	changed := p.updateSuspect()
	if !result.isNotProbed() {
		changed = append(changed, p.countResult(t, result, succeeded)...)
	}
	if result != was {
		changed = append(changed, t.object.key)
	}
	return changed
}

// countResult records a result that is about the target.
func (p *Prober) countResult(t *target, result outcome, succeeded uint64) []types.NamespacedName {
	before, frozen := t.suspicionShare(), p.healthFrozen(t.object)
	t.result, t.lastProbe = result, p.options.Now().UnixNano()
	otherFailure := t.recordFailure()
	p.addResult(t, result == connected)
	p.suspicion.update(t.object.counts, t.destination, before, t.suspicionShare())
	// The suspicion is updated with this failure, before the failure decides.
	changed := p.updateSuspect()
	// Its Secrets may have changed: they are read again before the failure decides.
	mayBeRotated := t.count == -1 && !t.object.plan.isEmpty()
	if p.healthFrozen(t.object) != frozen || otherFailure || mayBeRotated {
		changed = append(changed, t.object.key)
	}
	if t.count < 0 && result != denied && !t.isConfirmed(succeeded) {
		if t.awaitsReference = p.reference.pending && !p.suspect; p.suspect || t.awaitsReference {
			return changed
		}
	}
	return append(changed, p.decide(t)...)
}

// addResult counts a result.
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

// decide applies the thresholds to the results in a row.
func (p *Prober) decide(t *target) []types.NamespacedName {
	was, share := t.condition, t.suspicionShare()
	t.setCounter(t.decide(t.object.timing.healthy, t.object.timing.unhealthy, p.options.RequireThreshold))
	if t.condition == was {
		return nil
	}
	t.since, t.changed = t.lastProbe, time.Since(p.startTime)
	p.suspicion.update(t.object.counts, t.destination, share, t.suspicionShare())
	return append(p.updateSuspect(), t.object.key)
}

// maxDestinationRate is how often a second one namespace probes one address and port, however many objects name it.
const maxDestinationRate = 50

// nextProbe returns when a target that was probed at start is due again. The lock is held.
func (p *Prober) nextProbe(t *target, start time.Time) time.Time {
	wait := t.pace()
	return start.Add(wait + time.Duration(p.options.Rand()*float64(t.object.timing.jitterPercent)/100*float64(wait)))
}

// pace returns the time between two probes of a target, without jitter.
func (t *target) pace() time.Duration {
	o, wait := t.object, t.object.timing.interval
	if t.condition == unhealthy {
		wait = o.timing.unhealthyInterval
		if t.count > 0 || o.used.needReplacement() {
			wait = min(wait, o.timing.interval)
		}
	}
	if o.group == "" { // a group is no destination
		wait = max(wait, time.Duration(t.destination.targets)*time.Second/maxDestinationRate)
	}
	return wait
}

// seekReplacement has unhealthy targets probed where clients need one now and did not before: at once, or where their last
// probe was less than their pace ago, so long after it. The lock is held.
func (p *Prober) seekReplacement(o *object) {
	before := o.needsReplacement
	if o.needsReplacement = o.used.needReplacement(); before || !o.needsReplacement {
		return
	}
	now := time.Now()
	for _, t := range o.targets {
		if t.condition != unhealthy || t.due <= now.Sub(p.startTime) {
			continue
		}
		passed := max(p.options.Now().Sub(moment(t.lastProbe)), 0)
		at := now.Add(t.pace() - passed)
		if !at.After(now) {
			at = p.promptTime(o)
		}
		if at.Sub(p.startTime) < t.due {
			p.schedule(t, at)
		}
	}
}

// promptTime returns when a new target is probed: as soon as the limiter of its namespace admits it, in the order of
// the calls, so that the first results of one object come in together; and a time within the interval where that
// would be later.
func (p *Prober) promptTime(o *object) time.Time {
	now, interval := time.Now(), o.timing.interval
	prompt := o.namespace.promptLimiter.ReserveN(now, 1)
	if delay := prompt.DelayFrom(now); delay <= interval {
		return now.Add(delay)
	}
	prompt.CancelAt(now)
	return p.randomTime(interval)
}

func (p *Prober) randomTime(interval time.Duration) time.Time {
	return time.Now().Add(time.Duration(p.options.Rand() * float64(interval)))
}

func (p *Prober) schedule(t *target, at time.Time) {
	t.due = at.Sub(p.startTime)
	p.queue.Set(t, at)
}

// Summary counts the targets of an object by State.
type Summary struct {
	Healthy, Unhealthy, Unknown int
	// NotProbed is why none can be probed: ProbeDenied or HostUnresolved. It is empty where any can, and where there
	// are none.
	NotProbed string
}

// Summary returns the summary of an object.
func (p *Prober) Summary(key types.NamespacedName) Summary {
	p.mu.Lock()
	defer p.mu.Unlock()
	var c Summary
	o, ok := p.objects[key]
	if !ok {
		return c
	}
	probed := false
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
			probed = true
		} else if c.NotProbed == "" {
			c.NotProbed = t.result.reason()
		}
	}
	if probed {
		c.NotProbed = ""
	}
	return c
}
