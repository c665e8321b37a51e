// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// news is what OnSuspect is told.
type news struct {
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
	return p.suspect && (!ok || p.frozen(o))
}

func (p *Prober) frozen(o *object) bool { return p.suspect && o.succeeding == 0 }

// SetNetworkUnreachable says that something else shows this process to be cut off, such as no nameserver
// that replies. It is suspect until the doubt is taken back.
func (p *Prober) SetNetworkUnreachable(doubt bool) {
	p.mu.Lock()
	p.doubt = doubt
	told := p.judge()
	p.mu.Unlock()
	p.notify(told)
}

// judge decides whether this process is suspect, and returns the objects to notify of a change. The
// lock is held; Notify is called without it.
func (p *Prober) judge() []types.NamespacedName {
	neighbors := p.judgeNeighbours(time.Now())
	p.wonder()
	suspect := neighbors || p.reference.lost || p.doubt
	if suspect == p.suspect {
		return nil
	}
	if suspect {
		p.cause = p.causeOf(neighbors)
	}
	p.suspect = suspect
	p.metrics.doubt(suspect)
	p.news = append(p.news, news{suspect, p.cause})
	p.told.Store(false)
	keys := make([]types.NamespacedName, 0, len(p.objects))
	for key := range p.objects {
		keys = append(keys, key)
	}
	return keys
}

// judgeNeighbours says whether there is so much that fails, and has not been for too long.
func (p *Prober) judgeNeighbours(now time.Time) bool {
	was := p.suspicion.on
	p.allowance.pass(now, was)
	p.suspicion.on = p.suspicion.judge() && p.allowance.allows(was)
	switch on := p.suspicion.on; {
	case on && !was:
		p.expiry = time.AfterFunc(p.allowance.left, p.expire)
	case was && !on:
		p.expiry.Stop()
	}
	return p.suspicion.on
}

// expire ends a suspicion that has lasted for as long as it may, also where no result comes.
func (p *Prober) expire() {
	p.mu.Lock()
	told := p.judge()
	p.mu.Unlock()
	p.notify(told)
}

func (p *Prober) causeOf(neighbors bool) string {
	switch c := &p.suspicion.counts; {
	case p.reference.lost:
		return "the API server or all nameservers are out of reach"
	case p.doubt:
		return "no nameserver replies"
	case neighbors:
		return fmt.Sprintf("%d of %d destinations fail, in %d of %d namespaces", c.failing, c.members, c.fail, c.namespaces)
	}
	return ""
}

// notify tells what has changed. The lock is not held.
func (p *Prober) notify(keys []types.NamespacedName) {
	for _, key := range keys {
		p.Notify(key)
	}
	if p.told.CompareAndSwap(false, true) {
		p.tell()
	}
}

// tell tells OnSuspect of every change, in order.
func (p *Prober) tell() {
	p.telling.Lock()
	defer p.telling.Unlock()
	p.mu.Lock()
	all := p.news
	p.news = nil
	p.mu.Unlock()
	if p.OnSuspect == nil {
		return
	}
	for _, n := range all {
		p.OnSuspect(n.suspect, n.cause)
	}
}
