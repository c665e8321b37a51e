// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// suspectChange is what OnSuspect is told.
type suspectChange struct {
	suspect bool
	cause   string
}

// IsSuspect says whether the fault of failures is probably on this side. Those of an object without a
// target that succeeds decide nothing then.
func (p *Prober) IsSuspect() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.suspect
}

// IsFrozen says whether failures decide nothing now for the targets of a key: this process is suspect,
// and none of them shows that the network works.
func (p *Prober) IsFrozen(key types.NamespacedName) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	o, ok := p.objects[key]
	return p.suspect && (!ok || p.healthFrozen(o))
}

func (p *Prober) healthFrozen(o *object) bool { return p.suspect && o.succeeding == 0 }

// SetNetworkUnreachable says that something else shows this process to be cut off, such as no nameserver
// that replies. It is suspect until the doubt is taken back.
func (p *Prober) SetNetworkUnreachable(doubt bool) {
	p.mu.Lock()
	p.networkUnreachable = doubt
	told := p.updateSuspect()
	p.mu.Unlock()
	p.notify(told)
}

// updateSuspect decides whether this process is suspect, and returns the objects to notify of a change. The
// lock is held; Notify is called without it.
func (p *Prober) updateSuspect() []types.NamespacedName {
	neighbors := p.updateSuspicion(time.Now())
	p.requestReference()
	suspect := neighbors || p.reference.unreachable || p.networkUnreachable
	if suspect == p.suspect {
		return nil
	}
	if suspect {
		p.cause = p.suspectCause(neighbors)
	}
	p.suspect = suspect
	p.metrics.setSuspect(suspect)
	p.changes = append(p.changes, suspectChange{suspect, p.cause})
	p.delivered.Store(false)
	keys := make([]types.NamespacedName, 0, len(p.objects))
	for key := range p.objects {
		keys = append(keys, key)
	}
	return keys
}

// updateSuspicion says whether there is so much that fails, and has not been for too long.
func (p *Prober) updateSuspicion(now time.Time) bool {
	was := p.suspicion.on
	p.budget.account(now, was)
	p.suspicion.on = p.suspicion.evaluate() && p.budget.allows(was)
	switch on := p.suspicion.on; {
	case on && !was:
		p.expiry = time.AfterFunc(p.budget.left, p.expire)
	case was && !on:
		p.expiry.Stop()
	}
	return p.suspicion.on
}

// expire ends a suspicion that has lasted for as long as it may, also where no result comes.
func (p *Prober) expire() {
	p.mu.Lock()
	told := p.updateSuspect()
	p.mu.Unlock()
	p.notify(told)
}

func (p *Prober) suspectCause(neighbors bool) string {
	switch c := &p.suspicion.totals; {
	case p.reference.unreachable:
		return "the API server or all nameservers are out of reach"
	case p.networkUnreachable:
		return "no nameserver replies"
	case neighbors:
		return fmt.Sprintf("%d of %d destinations fail, in %d of %d namespaces", c.failing, c.members, c.failingNamespaces, c.namespaces)
	}
	return ""
}

// notify tells what has changed. The lock is not held.
func (p *Prober) notify(keys []types.NamespacedName) {
	for _, key := range keys {
		p.Notify(key)
	}
	if p.delivered.CompareAndSwap(false, true) {
		p.deliverChanges()
	}
}

// deliverChanges tells OnSuspect of every change, in order.
func (p *Prober) deliverChanges() {
	p.deliverMu.Lock()
	defer p.deliverMu.Unlock()
	p.mu.Lock()
	all := p.changes
	p.changes = nil
	p.mu.Unlock()
	if p.OnSuspect == nil {
		return
	}
	for _, n := range all {
		p.OnSuspect(n.suspect, n.cause)
	}
}
