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

// suspectChange is a call of OnSuspect.
type suspectChange struct {
	suspect bool
	cause   string
}

// IsSuspect reports whether failures are probably the fault of this process. Those of an object without a target that
// succeeds do not count then.
func (p *Prober) IsSuspect() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.suspect
}

// IsFrozen reports whether failures do not change the health of a key's targets now: this process is suspect, and
// none of them succeeds.
func (p *Prober) IsFrozen(key types.NamespacedName) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	o, ok := p.objects[key]
	return p.suspect && (!ok || p.healthFrozen(o))
}

func (p *Prober) healthFrozen(o *object) bool { return p.suspect && o.succeeding == 0 }

// SetNetworkUnreachable sets whether something else shows that the network is unreachable, such as no nameserver
// that replies. This process is suspect while it is.
func (p *Prober) SetNetworkUnreachable(unreachable bool) {
	p.mu.Lock()
	p.networkUnreachable = unreachable
	changed := p.updateSuspect()
	p.mu.Unlock()
	p.notify(changed)
}

// updateSuspect decides whether this process is suspect, and returns the keys to notify. The lock is held; Notify is
// called without it.
func (p *Prober) updateSuspect() []types.NamespacedName {
	manyFail := p.updateSuspicion(time.Now())
	p.requestReference()
	suspect := manyFail || p.reference.unreachable || p.networkUnreachable
	if suspect == p.suspect {
		return nil
	}
	if suspect {
		p.cause = p.suspectCause(manyFail)
	}
	p.suspect = suspect
	p.settle() // every key is notified
	p.metrics.setSuspect(suspect)
	p.changes = append(p.changes, suspectChange{suspect, p.cause})
	p.delivered.Store(false)
	keys := make([]types.NamespacedName, 0, len(p.objects))
	for key := range p.objects {
		keys = append(keys, key)
	}
	return keys
}

// updateSuspicion reports whether there is a suspicion, and it has not lasted for too long.
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

// expire ends a suspicion that has lasted for as long as it may, also where no result arrives.
func (p *Prober) expire() {
	p.mu.Lock()
	changed := p.updateSuspect()
	p.mu.Unlock()
	p.notify(changed)
}

func (p *Prober) suspectCause(manyFail bool) string {
	switch c := &p.suspicion.totals; {
	case p.reference.unreachable:
		return "the API server or all nameservers are out of reach"
	case p.networkUnreachable:
		return "no nameserver replies"
	case manyFail:
		return fmt.Sprintf("%d of %d destinations fail, in %d of %d namespaces", c.failing, c.members, c.failingNamespaces, c.namespaces)
	}
	return ""
}

// notify calls Notify and OnSuspect. The lock is not held.
func (p *Prober) notify(keys []types.NamespacedName) {
	for _, key := range keys {
		p.options.Notify(key)
	}
	if p.delivered.CompareAndSwap(false, true) {
		p.deliverChanges()
	}
}

// deliverChanges calls OnSuspect with every change, in order.
func (p *Prober) deliverChanges() {
	p.deliverMu.Lock()
	defer p.deliverMu.Unlock()
	p.mu.Lock()
	all := p.changes
	p.changes = nil
	p.mu.Unlock()
	if p.options.OnSuspect == nil {
		return
	}
	for _, n := range all {
		p.options.OnSuspect(n.suspect, n.cause)
	}
}

const (
	// referenceEvery is the minimum time between two checks of the reference, and how often an unreachable one is
	// checked.
	referenceEvery = 5 * time.Second
	// referenceTimeout bounds one check.
	referenceTimeout = 5 * time.Second
)

// reference is the state of Options.Reference.
type reference struct {
	requests chan struct{}
	// pending means that it is being checked: failures wait for it.
	pending bool
	// unreachable means that the last check failed.
	unreachable bool
	// lastReply is when it last replied.
	lastReply time.Time
	// checks is how many have begun.
	checks uint64
}

// requestReference has the reference checked where much has begun to fail. The lock is held.
func (p *Prober) requestReference() {
	r := &p.reference
	if p.options.Reference == nil || r.pending || r.unreachable || !p.suspicion.needsReference() && p.unsettled == 0 {
		return
	}
	if !r.lastReply.IsZero() && time.Since(r.lastReply) < referenceEvery {
		return
	}
	select {
	case r.requests <- struct{}{}:
		r.pending = true
	default: // requested already
	}
}

// runReference checks the reference on request until ctx ends.
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

// checkReference checks the reference once. If it is reached, the failures that wait for it decide.
func (p *Prober) checkReference(ctx context.Context) bool {
	p.mu.Lock()
	p.reference.checks++
	p.mu.Unlock()
	version, cancel := context.WithTimeout(ctx, referenceTimeout)
	reached := true // a panic is a defect of ours, and no sign of an unreachable network
	panics.Go("reference", func() { reached = p.options.Reference(version) })
	cancel()
	if ctx.Err() != nil {
		return true
	}
	p.mu.Lock()
	p.reference.pending, p.reference.unreachable, p.reference.lastReply = false, !reached, time.Now()
	changed := p.updateSuspect()
	if reached {
		changed = append(changed, p.decideAwaiting()...)
		changed = append(changed, p.settle()...)
	}
	p.mu.Unlock()
	p.notify(changed)
	return reached
}

// decideAwaiting lets the failures that waited for the reference decide.
func (p *Prober) decideAwaiting() []types.NamespacedName {
	var changed []types.NamespacedName
	for _, o := range p.objects {
		for _, t := range o.targets {
			if !t.awaitsReference {
				continue
			}
			t.awaitsReference = false
			if !p.suspect {
				changed = append(changed, p.decide(t)...)
				p.seekReplacement(o)
			}
		}
	}
	return changed
}

// recoveryFactor is how much longer than a suspicion lasted it takes until another may last as long.
const recoveryFactor = 5

// suspicionBudget limits how long a suspicion holds failures back, whatever fails. It is used up during a suspicion,
// and recovers slowly.
type suspicionBudget struct {
	limit, left time.Duration
	at          time.Time
}

// account accounts for the time that passed, during a suspicion or not.
func (s *suspicionBudget) account(now time.Time, used bool) {
	passed := now.Sub(s.at)
	if used {
		s.left = max(s.left-passed, 0)
	} else {
		s.left = min(s.left+passed/recoveryFactor, s.limit)
	}
	s.at = now
}

// allows reports whether a suspicion may begin, or go on. One that has used up its budget must not begin again at
// once.
func (s *suspicionBudget) allows(on bool) bool {
	if on {
		return s.left > 0
	}
	return s.left >= s.limit/10
}

// Suspicions records whether any Prober of this process is suspect: actions that harm workloads wait then. Its zero
// value is ready for use. A nil one never is.
type Suspicions struct {
	mu          sync.Mutex
	suspecting  map[string]bool
	subscribers []func()
}

// OnSuspect returns an Options.OnSuspect for the Prober of a kind of object. It calls also as well.
func (s *Suspicions) OnSuspect(kind string, also func(suspect bool, cause string)) func(suspect bool, cause string) {
	return func(suspect bool, cause string) {
		for _, notify := range s.set(kind, suspect) {
			notify()
		}
		also(suspect, cause)
	}
}

// set returns the subscribers to call, if Any has changed.
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

// Any reports whether any Prober is suspect.
func (s *Suspicions) Any() bool {
	if s == nil {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.suspecting) > 0
}

// Subscribe calls notify after every change of Any. Notify must not block.
func (s *Suspicions) Subscribe(notify func()) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.subscribers = append(s.subscribers, notify)
}
