// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"net/netip"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Set replaces the targets of an object and their check, and returns the health of each, in order. Targets with the
// same endpoint, address and port keep their health and count, also with other intervals and thresholds. With
// another request, port or host they keep their health only. It is cheap where nothing changed.
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
			key: key, plan: newCheckPlan(&check), timing: check.timing(), requireThreshold: p.RequireThreshold,
			counts: p.groups.acquire(group), group: group, namespace: p.suspicion.acquireNamespace(key.Namespace),
		}
		p.objects[key] = o
	} else {
		p.updateCheck(o, &check)
	}
	p.replaceTargets(o, targets)
	changed := p.updateSuspect()
	all := make([]Health, len(o.targets))
	for i, t := range o.targets {
		all[i] = t.health()
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
func (p *Prober) replaceTargets(o *object, targets []Target) {
	if slices.EqualFunc(o.targets, targets, func(t *target, wanted Target) bool { return t.isSame(&wanted) }) {
		for i := range targets {
			p.updateTarget(o.targets[i], &targets[i])
		}
		return
	}
	kept := newTargetPool(o.targets)
	next := make([]*target, len(targets))
	// Equal targets first: a port may have moved from one target to another.
	for i := range targets {
		next[i] = kept.take(targets[i].Endpoint, targets[i].IP, targets[i].Port)
	}
	for i := range targets {
		if next[i] == nil {
			next[i] = kept.take(targets[i].Endpoint, targets[i].IP, anyPort)
		}
		if next[i] == nil {
			next[i] = p.addTarget(o, &targets[i])
		} else {
			p.updateTarget(next[i], &targets[i])
		}
	}
	for _, t := range kept.remaining() {
		p.dropTarget(t)
	}
	o.targets = next
}

func (t *target) isSame(wanted *Target) bool {
	return t.ip == wanted.IP && t.port == wanted.Port && t.endpoint == wanted.Endpoint
}

// updateTarget updates what may change of a target.
func (p *Prober) updateTarget(t *target, wanted *Target) {
	if t.port != wanted.Port || t.host != wanted.Host {
		share := t.suspicionShare()
		p.suspicion.update(t.object.counts, t.destination, share, suspicionShare{})
		p.suspicion.releaseDestination(t.destination)
		t.port, t.host, t.authorized = wanted.Port, wanted.Host, wanted.Authorized
		t.destination = p.suspicion.acquireDestination(t.object.namespace, t.destinationKey())
		p.suspicion.update(t.object.counts, t.destination, suspicionShare{}, share)
		p.restartCount(t)
	}
	if t.authorized != wanted.Authorized {
		t.authorized = wanted.Authorized
		p.schedule(t, p.promptTime(t.object))
	}
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
	t := &target{
		object: o, endpoint: wanted.Endpoint, host: wanted.Host,
		ip: wanted.IP, port: wanted.Port, authorized: wanted.Authorized,
		since: p.Now().UnixNano(),
	}
	at := time.Time{}
	if wanted.Seed != nil {
		t.condition = conditionOf(wanted.Seed.State)
		if !wanted.Seed.Since.IsZero() {
			t.since = wanted.Seed.Since.UnixNano()
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
	byAddress map[poolKey][]*target
}

type poolKey struct {
	endpoint string
	ip       netip.Addr
}

// anyPort matches every port.
const anyPort = 0

func newTargetPool(all []*target) targetPool {
	p := targetPool{byAddress: make(map[poolKey][]*target, len(all))}
	for _, t := range all {
		at := poolKey{t.endpoint, t.ip}
		p.byAddress[at] = append(p.byAddress[at], t)
	}
	return p
}

// take removes a target and returns it, or nil.
func (p targetPool) take(endpoint string, ip netip.Addr, port uint16) *target {
	at := poolKey{endpoint, ip}
	left := p.byAddress[at]
	i := slices.IndexFunc(left, func(t *target) bool { return port == anyPort || t.port == port })
	if i < 0 {
		return nil
	}
	t := left[i]
	p.byAddress[at] = slices.Delete(left, i, i+1)
	return t
}

func (p targetPool) remaining() []*target {
	var all []*target
	for _, targets := range p.byAddress {
		all = append(all, targets...)
	}
	return all
}
