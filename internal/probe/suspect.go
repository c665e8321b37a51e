// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-dev/fairlead/internal/panics"
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

const (
	// referenceEvery is the least time between two questions to the reference, and how often one that
	// is lost is asked.
	referenceEvery = 5 * time.Second
	// referenceTimeout bounds one question.
	referenceTimeout = 5 * time.Second
)

// reference is what is known of Options.Reference.
type reference struct {
	requests chan struct{}
	// pending says that it is asked now: failures wait for it.
	pending bool
	// unreachable says that it was not reached.
	unreachable bool
	// lastReply is when it last replied.
	lastReply time.Time
}

// requestReference has the reference asked where much has begun to fail. The lock is held.
func (p *Prober) requestReference() {
	r := &p.reference
	if p.Reference == nil || r.pending || r.unreachable || !p.suspicion.needsReference() {
		return
	}
	if !r.lastReply.IsZero() && time.Since(r.lastReply) < referenceEvery {
		return
	}
	select {
	case r.requests <- struct{}{}:
		r.pending = true
	default: // asked just now
	}
}

// runReference asks the reference until ctx ends.
func (p *Prober) runReference(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-p.reference.requests:
		}
		for !p.checkReference(ctx) {
			pause := time.NewTimer(referenceEvery)
			select {
			case <-ctx.Done():
				pause.Stop()
				return
			case <-pause.C:
			}
		}
	}
}

// checkReference asks once, and lets the failures that wait for it decide if it is reached.
func (p *Prober) checkReference(ctx context.Context) bool {
	asked, cancel := context.WithTimeout(ctx, referenceTimeout)
	reached := true // a panic is a defect here, and no sign of a lost network
	panics.Go("reference", func() { reached = p.Reference(asked) })
	cancel()
	if ctx.Err() != nil {
		return true
	}
	p.mu.Lock()
	p.reference.pending, p.reference.unreachable, p.reference.lastReply = false, !reached, time.Now()
	told := p.updateSuspect()
	if reached {
		told = append(told, p.decideAwaiting()...)
	}
	p.mu.Unlock()
	p.notify(told)
	return reached
}

// decideAwaiting lets the failures decide that waited for the reference.
func (p *Prober) decideAwaiting() []types.NamespacedName {
	var told []types.NamespacedName
	for _, o := range p.objects {
		for _, t := range o.targets {
			if !t.awaitsReference {
				continue
			}
			t.awaitsReference = false
			if !p.suspect {
				told = append(told, p.decide(t)...)
			}
		}
	}
	return told
}

// recoveryFactor is how many times longer than it lasted it takes until a suspicion may last as long again.
const recoveryFactor = 5

// suspicionBudget is for how long neighbors may hold up what is found, so that no number of them does for
// ever. It is used up while they do and comes back slowly.
type suspicionBudget struct {
	limit, left time.Duration
	at          time.Time
}

// account takes the time into account that passed, in use or not.
func (a *suspicionBudget) account(now time.Time, used bool) {
	passed := now.Sub(a.at)
	if used {
		a.left = max(a.left-passed, 0)
	} else {
		a.left = min(a.left+passed/recoveryFactor, a.limit)
	}
	a.at = now
}

// allows says whether a suspicion may begin, or go on. One that has ended for want of time must not
// begin at once.
func (a *suspicionBudget) allows(on bool) bool {
	if on {
		return a.left > 0
	}
	return a.left >= a.limit/10
}

// Suspicions say whether any Prober of this process suspects the process itself: what harms workloads is
// held then, whichever of them found out. Its zero value is ready for use. A nil one suspects nothing.
type Suspicions struct {
	mu          sync.Mutex
	suspecting  map[string]bool
	subscribers []func()
}

// OnSuspect returns an Options.OnSuspect for the Prober of a kind of object, which calls also as well.
func (s *Suspicions) OnSuspect(kind string, also func(suspect bool, cause string)) func(suspect bool, cause string) {
	return func(suspect bool, cause string) {
		for _, wake := range s.set(kind, suspect) {
			wake()
		}
		also(suspect, cause)
	}
}

// set returns what is to be called since Any has changed.
func (s *Suspicions) set(kind string, suspect bool) []func() {
	s.mu.Lock()
	defer s.mu.Unlock()
	was := len(s.suspecting) > 0
	switch {
	case !suspect:
		delete(s.suspecting, kind)
	case s.suspecting == nil:
		s.suspecting = map[string]bool{kind: true}
	default:
		s.suspecting[kind] = true
	}
	if was == (len(s.suspecting) > 0) {
		return nil
	}
	return slices.Clone(s.subscribers)
}

// Any says whether some Prober suspects this process.
func (s *Suspicions) Any() bool {
	if s == nil {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.suspecting) > 0
}

// Subscribe has wake called after every change of Any; it must not block.
func (s *Suspicions) Subscribe(wake func()) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.subscribers = append(s.subscribers, wake)
}
