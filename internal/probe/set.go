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
// thresholds, or other credentials. With another request, port or host a target is another one. It is cheap where nothing
// changed.
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
		p.replaceTargets(o, targets, false)
		o.setInUse(targets)
		o.needsReplacement = o.used.needReplacement() // all are probed within an interval
	} else {
		p.replaceTargets(o, targets, p.updateCheck(o, &check))
		o.setInUse(targets)
		p.seekReplacement(o)
	}
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

// updateCheck replaces the check of an object, and reports whether it sends another request.
func (p *Prober) updateCheck(o *object, check *Check) (isOther bool) {
	isRotated := false
	if !o.plan.isEqual(check) {
		isOther, isRotated = !o.plan.sameRequest(check), !o.plan.hasSameCredentials(&check.Secrets)
		o.plan = newCheckPlan(check)
	}
	before := o.timing
	o.timing = check.timing()
	if isRotated && !isOther {
		for _, t := range o.targets {
			p.schedule(t, p.promptTime(o))
		}
		return false
	}
	if isOther || before.interval == o.timing.interval && before.unhealthyInterval == o.timing.unhealthyInterval {
		return isOther
	}
	// A probe scheduled by the old interval may be hours away; all of them at once would be a burst.
	for _, t := range o.targets {
		if at := p.randomTime(o.timing.interval); t.due > at.Sub(p.startTime) {
			p.schedule(t, at)
		}
	}
	return false
}

// replaceTargets replaces the targets of an object. What another request has found is of no target that is wanted.
func (p *Prober) replaceTargets(o *object, wanted []Target, isOtherRequest bool) {
	if !isOtherRequest && o.hasExactly(wanted) {
		return
	}
	unique := o.setPositions(wanted)
	former := newTargetPool(o.targets)
	next := make([]*target, len(unique))
	for _, as := range []func(a, b identity) bool{identity.equal, identity.hasSameRequest} {
		for i, first := range unique {
			if next[i] == nil && !isOtherRequest {
				next[i] = former.take(o.plan.identity(&wanted[first]), as)
			}
		}
	}
	for i, first := range unique {
		if next[i] == nil {
			next[i] = p.addTarget(o, &wanted[first], former.isUsed(o.plan.identity(&wanted[first])))
		} else {
			p.updateTarget(next[i], o.plan.identity(&wanted[first]))
		}
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

// updateTarget changes how a target is reached.
func (p *Prober) updateTarget(t *target, is identity) {
	if t.authorized != is.authorized {
		t.authorized = is.authorized
		p.schedule(t, p.promptTime(t.object))
	}
}

// addTarget adds a target. isUsed means that its address is healthy by another request, port or host.
func (p *Prober) addTarget(o *object, wanted *Target, isUsed bool) *target {
	now := p.options.Now()
	t := &target{object: o, identity: o.plan.identity(wanted), since: now.UnixNano(), changed: time.Since(p.startTime)}
	at := time.Time{}
	if seed := wanted.Seed; seed != nil {
		t.condition = conditionOf(seed.State)
		isUsed = isUsed || t.condition == unknown
		if t.condition != unknown && !seed.Since.IsZero() {
			t.since = seed.Since.UnixNano()
			t.changed -= max(now.Sub(seed.Since), 0)
		}
		at = p.randomTime(o.timing.interval)
	}
	if t.condition == unknown {
		t.used = isUsed
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
	t.setInUse(false)
	t.setCounter(counter{})
	t.removed = true
	p.metrics.targets.Dec()
	p.queue.Remove(t)
}

// targetPool holds the previous targets of an object.
type targetPool struct {
	byIP map[netip.Addr][]*target
	// used are the addresses that were healthy at whichever port and by whichever host.
	used map[targetAddress]bool
}

// targetAddress is where a target is.
type targetAddress struct {
	id string
	ip netip.Addr
}

func (is identity) equal(other identity) bool { return is == other }

func (is identity) hasSameRequest(other identity) bool {
	is.authorized = other.authorized
	return is == other
}

func newTargetPool(all []*target) targetPool {
	p := targetPool{byIP: make(map[netip.Addr][]*target, len(all)), used: make(map[targetAddress]bool, len(all))}
	for _, t := range all {
		p.byIP[t.ip] = append(p.byIP[t.ip], t)
		if t.state() == networkingv1.AddressHealthy || t.used && t.condition == unknown {
			p.used[targetAddress{t.id, t.ip}] = true
		}
	}
	return p
}

func (p targetPool) isUsed(wanted identity) bool { return p.used[targetAddress{wanted.id, wanted.ip}] }

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
