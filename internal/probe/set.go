// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"net/netip"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Set says what an object's targets are and how to probe them, instead of what was said
// before, and returns the health of each, in order. Targets of the same endpoint, address and port
// keep their health and count, also where the check is paced otherwise; where it asks otherwise, or
// the port or the host is another, they keep their health only. Others are dropped. It is cheap
// where nothing changed.
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
			key: key, ask: newQuestion(&check), pace: check.pace(), patient: p.RequireThreshold,
			tally: p.tallies.take(group), group: group, namespace: p.suspicion.enter(key.Namespace),
		}
		p.objects[key] = o
	}
	if known {
		p.revise(o, &check)
	}
	p.replace(o, targets)
	told := p.judge()
	all := make([]Health, len(o.targets))
	for i, t := range o.targets {
		all[i] = t.health()
	}
	p.mu.Unlock()
	p.notify(told)
	return all
}

// Forget drops an object and all of its targets.
func (p *Prober) Forget(key types.NamespacedName) {
	p.mu.Lock()
	if o, ok := p.objects[key]; ok {
		for _, t := range o.targets {
			p.drop(t)
		}
		p.tallies.give(o.group)
		p.suspicion.leave(o.namespace)
		delete(p.objects, key)
	}
	told := p.judge()
	p.mu.Unlock()
	p.notify(told)
}

// revise brings the check up to date.
func (p *Prober) revise(o *object, check *Check) {
	if !o.ask.asks(check) {
		o.ask = newQuestion(check)
		for _, t := range o.targets {
			p.startAfresh(t)
		}
	}
	before := o.pace
	o.pace = check.pace()
	if before.interval == o.pace.interval && before.unhealthyInterval == o.pace.unhealthyInterval {
		return
	}
	// A probe planned by the old interval may be hours away; all of them at once would be a burst.
	for _, t := range o.targets {
		if at := p.spread(o.pace.interval); t.due > at.Sub(p.began) {
			p.schedule(t, at)
		}
	}
}

// replace brings the targets of an object up to date.
func (p *Prober) replace(o *object, targets []Target) {
	if len(targets) == len(o.targets) {
		same := true
		for i := range targets {
			same = same && o.targets[i].is(&targets[i])
		}
		if same {
			for i := range targets {
				p.update(o.targets[i], &targets[i])
			}
			return
		}
	}
	kept := newPool(o.targets)
	next := make([]*target, len(targets))
	// Those that are the same first: a port may have moved from one target to another.
	for i := range targets {
		next[i] = kept.take(targets[i].Endpoint, targets[i].IP, targets[i].Port)
	}
	for i := range targets {
		if next[i] == nil {
			next[i] = kept.take(targets[i].Endpoint, targets[i].IP, anyPort)
		}
		if next[i] == nil {
			next[i] = p.add(o, &targets[i])
		} else {
			p.update(next[i], &targets[i])
		}
	}
	for _, t := range kept.left() {
		p.drop(t)
	}
	o.targets = next
}

func (t *target) is(wanted *Target) bool {
	return t.ip == wanted.IP && t.port == wanted.Port && t.endpoint == wanted.Endpoint
}

// update brings one target up to date.
func (p *Prober) update(t *target, wanted *Target) {
	if t.port != wanted.Port || t.host != wanted.Host {
		stood := t.standing()
		p.suspicion.move(t.object.tally, t.destination, stood, standing{})
		p.suspicion.release(t.destination)
		t.port, t.host, t.authorized = wanted.Port, wanted.Host, wanted.Authorized
		t.destination = p.suspicion.use(t.object.namespace, t.remote())
		p.suspicion.move(t.object.tally, t.destination, standing{}, stood)
		p.startAfresh(t)
	}
	if t.authorized != wanted.Authorized {
		t.authorized = wanted.Authorized
		p.schedule(t, p.soon(t.object.pace.interval))
	}
}

// startAfresh has a target keep its health and count from zero.
func (p *Prober) startAfresh(t *target) {
	before := t.standing()
	t.set(t.afresh())
	t.asked++
	p.suspicion.move(t.object.tally, t.destination, before, t.standing())
	p.schedule(t, p.soon(t.object.pace.interval))
}

func (p *Prober) add(o *object, wanted *Target) *target {
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
		at = p.spread(o.pace.interval)
	}
	if t.condition == unknown {
		at = p.soon(o.pace.interval)
	}
	t.destination = p.suspicion.use(o.namespace, t.remote())
	p.suspicion.move(o.tally, t.destination, standing{}, t.standing())
	p.metrics.targets.Inc()
	p.schedule(t, at)
	return t
}

// drop ends a target. A probe of it that is under way comes to nothing.
func (p *Prober) drop(t *target) {
	p.suspicion.move(t.object.tally, t.destination, t.standing(), standing{})
	p.suspicion.release(t.destination)
	t.set(t.afresh())
	t.gone = true
	p.metrics.targets.Dec()
	p.agenda.Remove(t)
}

// pool holds the targets of an object that may stay.
type pool struct {
	byAddress map[address][]*target
}

type address struct {
	endpoint string
	ip       netip.Addr
}

// anyPort takes a target whatever its port is.
const anyPort = 0

func newPool(all []*target) pool {
	p := pool{byAddress: make(map[address][]*target, len(all))}
	for _, t := range all {
		at := address{t.endpoint, t.ip}
		p.byAddress[at] = append(p.byAddress[at], t)
	}
	return p
}

// take returns a target and takes it out, or nil.
func (p pool) take(endpoint string, ip netip.Addr, port uint16) *target {
	at := address{endpoint, ip}
	left := p.byAddress[at]
	i := slices.IndexFunc(left, func(t *target) bool { return port == anyPort || t.port == port })
	if i < 0 {
		return nil
	}
	t := left[i]
	p.byAddress[at] = slices.Delete(left, i, i+1)
	return t
}

func (p pool) left() []*target {
	var all []*target
	for _, some := range p.byAddress {
		all = append(all, some...)
	}
	return all
}
