// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"net/netip"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
)

// Set replaces the targets of an object and their check, and returns the health of each, in order. Targets that send
// the same to the same address and port are one, and keep their health and count, also with other intervals and
// thresholds. With another request, port or host they keep their health only. It is cheap where nothing changed.
func (p *Prober) Set(key types.NamespacedName, check Check, targets []Target) []Health {
	if len(targets) == 0 {
		p.Forget(key)
		return nil
	}
	p.mu.Lock()
	o, known := p.objects[key]
	if !known {
		group := p.group(key)
		o = &object{
			key: key, plan: newCheckPlan(&check), timing: check.timing(), requireThreshold: p.options.RequireThreshold,
			counts: p.groups.acquire(group), group: group, namespace: p.suspicion.acquireNamespace(key.Namespace),
		}
		p.objects[key] = o
	} else {
		p.updateCheck(o, &check)
	}
	p.replaceTargets(o, targets)
	changed := p.updateSuspect()
	all, now := make([]Health, len(targets)), time.Since(p.startTime)
	for i := range targets {
		all[i] = o.targets[o.positions[i]].health(now)
	}
	p.mu.Unlock()
	p.notify(changed)
	return all
}

// Forget removes an object with its targets.
func (p *Prober) Forget(key types.NamespacedName) {
	p.mu.Lock()
	if o, ok := p.objects[key]; ok {
		for _, t := range o.targets {
			p.dropTarget(t)
		}
		p.forgetTallies(o)
		p.groups.release(o.group)
		p.suspicion.releaseNamespace(o.namespace)
		delete(p.objects, key)
	}
	changed := p.updateSuspect()
	p.mu.Unlock()
	p.notify(changed)
}

// updateCheck replaces the check of an object.
func (p *Prober) updateCheck(o *object, check *Check) {
	if !o.plan.sameRequest(check) {
		o.plan = newCheckPlan(check)
		for _, t := range o.targets {
			p.restartCount(t)
		}
	}
	before := o.timing
	o.timing = check.timing()
	if before.interval == o.timing.interval && before.unhealthyInterval == o.timing.unhealthyInterval {
		return
	}
	// A probe scheduled by the old interval may be hours away; all of them at once would be a burst.
	for _, t := range o.targets {
		if at := p.randomTime(o.timing.interval); t.due > at.Sub(p.startTime) {
			p.schedule(t, at)
		}
	}
}

// replaceTargets replaces the targets of an object.
func (p *Prober) replaceTargets(o *object, wanted []Target) {
	if o.hasExactly(wanted) {
		return
	}
	unique := o.setPositions(wanted)
	former := newTargetPool(o.targets)
	next := make([]*target, len(unique))
	for _, as := range []func(a, b identity) bool{identity.equal, identity.hasSameRequest, identity.hasSamePort, identity.hasSameAddress} {
		for i, first := range unique {
			if next[i] == nil {
				next[i] = former.take(o.plan.identity(&wanted[first]), as)
			}
		}
	}
	for i, first := range unique {
		if next[i] == nil {
			next[i] = p.addTarget(o, &wanted[first])
		} else {
			p.updateTarget(next[i], o.plan.identity(&wanted[first]))
		}
		p.inheritHealth(next[i], former.healthy)
	}
	for _, t := range former.remaining() {
		p.dropTarget(t)
	}
	o.targets = next
}

// hasExactly reports whether the targets are those that were set last.
func (o *object) hasExactly(wanted []Target) bool {
	if len(o.positions) != len(wanted) {
		return false
	}
	for i := range wanted {
		if o.targets[o.positions[i]].identity != o.plan.identity(&wanted[i]) {
			return false
		}
	}
	return true
}

// setPositions has equal targets share a position, and returns the index of the first one of each.
func (o *object) setPositions(wanted []Target) []int {
	o.positions = make([]int32, len(wanted))
	position := make(map[identity]int32, len(wanted))
	unique := make([]int, 0, len(wanted))
	for i := range wanted {
		is := o.plan.identity(&wanted[i])
		at, ok := position[is]
		if !ok {
			at = int32(len(unique))
			position[is] = at
			unique = append(unique, i)
		}
		o.positions[i] = at
	}
	return unique
}

// updateTarget changes what is probed of a target.
func (p *Prober) updateTarget(t *target, is identity) {
	if t.port != is.port || t.host != is.host {
		share := t.suspicionShare()
		p.suspicion.update(t.object.counts, t.destination, share, suspicionShare{})
		p.suspicion.releaseDestination(t.destination)
		t.identity = is
		t.destination = p.suspicion.acquireDestination(t.object.namespace, t.destinationKey())
		p.suspicion.update(t.object.counts, t.destination, suspicionShare{}, share)
		p.restartCount(t)
	}
	if t.authorized != is.authorized {
		t.authorized = is.authorized
		p.schedule(t, p.promptTime(t.object))
	}
}

// inheritHealth gives a target without any result the health of one that is probed at the same address and port by
// another name: what is healthy by one name stays so by another until a probe fails.
func (p *Prober) inheritHealth(t *target, healthy map[targetAddress]*target) {
	other, ok := healthy[t.address()]
	if !ok || t.condition != unknown || t.count != 0 || t.isNotProbed() {
		return
	}
	before := t.suspicionShare()
	t.condition, t.since, t.changed = other.condition, other.since, other.changed
	p.suspicion.update(t.object.counts, t.destination, before, t.suspicionShare())
}

// restartCount keeps the health of a target and restarts its count.
func (p *Prober) restartCount(t *target) {
	before := t.suspicionShare()
	t.setCounter(t.restarted())
	t.planVersion++
	p.suspicion.update(t.object.counts, t.destination, before, t.suspicionShare())
	p.schedule(t, p.promptTime(t.object))
}

func (p *Prober) addTarget(o *object, wanted *Target) *target {
	now := p.options.Now()
	t := &target{object: o, identity: o.plan.identity(wanted), since: now.UnixNano(), changed: time.Since(p.startTime)}
	at := time.Time{}
	if wanted.Seed != nil {
		t.condition = conditionOf(wanted.Seed.State)
		if !wanted.Seed.Since.IsZero() {
			t.since = wanted.Seed.Since.UnixNano()
			t.changed -= max(now.Sub(wanted.Seed.Since), 0)
		}
		at = p.randomTime(o.timing.interval)
	}
	if t.condition == unknown {
		at = p.promptTime(o)
	}
	t.destination = p.suspicion.acquireDestination(o.namespace, t.destinationKey())
	p.suspicion.update(o.counts, t.destination, suspicionShare{}, t.suspicionShare())
	p.metrics.targets.Inc()
	p.schedule(t, at)
	return t
}

// dropTarget removes a target. The result of a probe that is under way is dropped.
func (p *Prober) dropTarget(t *target) {
	p.suspicion.update(t.object.counts, t.destination, t.suspicionShare(), suspicionShare{})
	p.suspicion.releaseDestination(t.destination)
	t.setCounter(t.restarted())
	t.removed = true
	p.metrics.targets.Dec()
	p.queue.Remove(t)
}

// targetPool holds the previous targets of an object.
type targetPool struct {
	byIP map[netip.Addr][]*target
	// healthy has a healthy target of an address and port, by whichever host.
	healthy map[targetAddress]*target
}

// targetAddress is what a target connects to.
type targetAddress struct {
	id   string
	ip   netip.Addr
	port uint16
}

func (is identity) address() targetAddress { return targetAddress{is.id, is.ip, is.port} }

func (is identity) equal(other identity) bool { return is == other }

func (is identity) hasSameRequest(other identity) bool {
	return is.hasSamePort(other) && is.host == other.host
}

func (is identity) hasSamePort(other identity) bool {
	return is.hasSameAddress(other) && is.port == other.port
}

func (is identity) hasSameAddress(other identity) bool { return is.id == other.id && is.ip == other.ip }

func newTargetPool(all []*target) targetPool {
	p := targetPool{byIP: make(map[netip.Addr][]*target, len(all)), healthy: map[targetAddress]*target{}}
	for _, t := range all {
		p.byIP[t.ip] = append(p.byIP[t.ip], t)
		if t.state() == networkingv1.AddressHealthy {
			p.healthy[t.address()] = t
		}
	}
	return p
}

// take removes a target that is as wanted and returns it, or nil.
func (p targetPool) take(wanted identity, as func(a, b identity) bool) *target {
	left := p.byIP[wanted.ip]
	i := slices.IndexFunc(left, func(t *target) bool { return as(t.identity, wanted) })
	if i < 0 {
		return nil
	}
	t := left[i]
	p.byIP[wanted.ip] = slices.Delete(left, i, i+1)
	return t
}

func (p targetPool) remaining() []*target {
	var all []*target
	for _, targets := range p.byIP {
		all = append(all, targets...)
	}
	return all
}
