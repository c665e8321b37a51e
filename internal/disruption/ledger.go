// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package disruption

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// The kinds of holder.
const (
	RebootPolicy = "RebootPolicy"
	ChaosPod     = "ChaosPod"
)

// defaultMaxDisrupted is used where Options.MaxDisrupted is not positive.
const defaultMaxDisrupted = 10

// Options of a Ledger.
type Options struct {
	// MaxDisrupted is how many slots the cluster has: how many workloads may be disrupted at once, without those whose
	// slot has lapsed. A namespace may have as many disrupted, with those. Defaults to 10.
	MaxDisrupted int
	// SlotTimeout is how long a disruption has its slot whatever its namespace has: see Ledger.lapse. Defaults to 2m.
	SlotTimeout time.Duration
	// Wake is called for a holder that waits, to try again. It is called without a lock held, must not block,
	// and may be called for one that does not wait any more. Defaults to nil: a holder that waits
	// must then try by itself.
	Wake func(Holder)
	// Now measures how long a slot has been held. Defaults to time.Now.
	Now func() time.Time
	// AfterFunc calls a function once a time has passed, unless it is stopped before. Defaults to time.AfterFunc.
	AfterFunc func(after time.Duration, call func()) (stop func() bool)
}

// Holder is an object that disrupts workloads.
type Holder struct {
	Kind string // RebootPolicy or ChaosPod
	types.NamespacedName
}

// Claim is a workload that a holder disrupts.
type Claim struct {
	UID types.UID
	// Soaking means that the workload has recovered and is observed: no other holder may disrupt it, and it takes no
	// slot.
	Soaking bool
}

// groupKey names a group; groups of two namespaces have nothing in common.
type groupKey struct{ namespace, name string }

// account holds the claims of one holder.
type account struct {
	group  groupKey
	claims map[types.UID]*claim
}

// count returns how many claims do not soak, and how many have a slot; none for a nil account.
func (a *account) count() (disrupted, slots int) {
	if a == nil {
		return 0, 0
	}
	for _, c := range a.claims {
		disrupted += number(!c.soaking)
		slots += number(c.hasSlot())
	}
	return disrupted, slots
}

// Ledger keeps the claims. All methods may be called from anywhere, but not from within Do.
type Ledger struct {
	options Options

	mu       sync.Mutex
	accounts map[Holder]*account
	// claimants count the holders of each workload: after Restore there may be two.
	claimants  map[types.UID]int
	groups     map[groupKey]int
	namespaces map[string]*tally
	held       int // slots of all namespaces
	queue      waitQueue
	stopTimer  func() bool // of scheduleLapse; nil while no slot is waited for
}

// New makes an empty Ledger.
func New(o Options) *Ledger {
	if o.MaxDisrupted <= 0 {
		o.MaxDisrupted = defaultMaxDisrupted
	}
	if o.SlotTimeout <= 0 {
		o.SlotTimeout = defaultSlotTimeout
	}
	if o.Wake == nil {
		o.Wake = func(Holder) {}
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.AfterFunc == nil {
		o.AfterFunc = func(after time.Duration, call func()) func() bool { return time.AfterFunc(after, call).Stop }
	}
	return &Ledger{
		options:    o,
		accounts:   map[Holder]*account{},
		claimants:  map[types.UID]int{},
		groups:     map[groupKey]int{},
		namespaces: map[string]*tally{},
		queue:      newWaitQueue(),
	}
}

// Do lets h decide what it disrupts: f is called once, with the ledger held for it alone, and what
// it returns are h's claims from then on, all of them. f must be quick, and must not call the
// ledger. What it claims beyond the view is taken all the same: a disruption that is under way is a
// fact.
func (l *Ledger) Do(h Holder, group string, f func(View) []Claim) {
	for _, next := range l.do(h, keyOf(h, group), f) {
		l.options.Wake(next)
	}
}

func (l *Ledger) do(h Holder, key groupKey, f func(View) []Claim) []Holder {
	l.mu.Lock()
	defer l.mu.Unlock()
	next := l.wake(l.lapse()) // before h looks: those that wait for the slots of others come first
	woken := l.queue.endWake(h)
	before := l.claims(h)
	w := &waiter{holder: h, group: key}
	v := l.view(h, key, w)
	freed := l.set(h, key, f(v))
	if w.workloads == nil {
		l.queue.remove(h)
	} else {
		// What it gives back in the same breath it has not seen as free.
		more := max(l.claims(h)-before, 0)
		w.needsSlot = v.Free <= more
		l.queue.add(w, more > 0)
	}
	// The slot that was kept for one that was woken is free for the next, if it was not taken.
	freed.slot = freed.slot || woken
	return append(next, l.wake(freed)...)
}

// Restore sets the claims of h as they were before the process began, whatever the limits are.
func (l *Ledger) Restore(h Holder, group string, claims []Claim) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.set(h, keyOf(h, group), claims)
}

// Forget drops h and its claims: its object is gone, or does not act any more.
func (l *Ledger) Forget(h Holder) {
	for _, next := range l.forget(h) {
		l.options.Wake(next)
	}
}

func (l *Ledger) forget(h Holder) []Holder {
	l.mu.Lock()
	defer l.mu.Unlock()
	woken := l.queue.endWake(h)
	l.queue.remove(h)
	freed := l.set(h, groupKey{}, nil)
	freed.slot = freed.slot || woken
	return l.wake(freed)
}

// wake marks those who may have a use for what became free, and returns those who are to be woken.
func (l *Ledger) wake(f freed) []Holder {
	if f.slot || len(f.workloads) > 0 || f.group.name != "" {
		l.queue.markReady(f)
	}
	next := l.queue.wakeNext(l.free(), l.roomOf)
	l.scheduleLapse()
	return next
}

// free is how many slots are neither held nor promised to a holder that was woken.
func (l *Ledger) free() int { return l.options.MaxDisrupted - l.held - l.queue.woken }

// share is View.Share of h. The least alone would have a holder whose claims all end at once give up all slots while
// another waits without any, and wait for its turn itself; equal parts leave enough for each.
func (l *Ledger) share(h Holder) int {
	least, holders := l.options.MaxDisrupted, len(l.accounts)
	if l.accounts[h] == nil && l.queue.byHolder[h] == nil {
		holders++
	}
	for _, w := range l.queue.order {
		if w.needsSlot && w.holder != h {
			_, slots := l.accounts[w.holder].count()
			least = min(least, slots)
		}
		if l.accounts[w.holder] == nil {
			holders++
		}
	}
	return max(least, l.options.MaxDisrupted/holders)
}

func (l *Ledger) claims(h Holder) int {
	if a := l.accounts[h]; a != nil {
		return len(a.claims)
	}
	return 0
}

func keyOf(h Holder, group string) groupKey {
	if group == "" {
		return groupKey{}
	}
	return groupKey{h.Namespace, group}
}

// set makes claims those of h, and returns what became free by that.
func (l *Ledger) set(h Holder, key groupKey, claims []Claim) freed {
	old := l.accounts[h]
	next := l.account(old, key, claims)
	l.add(h.Namespace, old, -1)
	l.add(h.Namespace, next, 1)
	var freed freed
	if old != nil {
		disrupted, slots := old.count()
		nowDisrupted, nowSlots := next.count()
		if old.group != key || nowDisrupted < disrupted {
			freed.group = old.group
		}
		freed.slot = nowSlots < slots || nowDisrupted < disrupted
		for uid := range old.claims {
			if next.claims[uid] == nil {
				freed.workloads = append(freed.workloads, uid)
			}
		}
	}
	delete(l.accounts, h)
	if len(next.claims) > 0 {
		l.accounts[h] = next
	}
	return freed
}

// account returns what a holder has with some claims. One that it had already keeps its slot for as long as before.
func (l *Ledger) account(old *account, key groupKey, claims []Claim) *account {
	next := &account{group: key, claims: make(map[types.UID]*claim, len(claims))}
	for _, c := range claims {
		made := &claim{since: l.options.Now(), soaking: c.Soaking}
		if old != nil && old.claims[c.UID] != nil {
			made.since, made.lapsed = old.claims[c.UID].since, old.claims[c.UID].lapsed
		}
		if other := next.claims[c.UID]; other != nil {
			made.soaking = made.soaking && other.soaking
		}
		next.claims[c.UID] = made
	}
	return next
}

// add adds an account to all sums, or takes it out of them.
func (l *Ledger) add(namespace string, a *account, sign int) {
	if a == nil || len(a.claims) == 0 {
		return
	}
	t := l.namespaces[namespace]
	if t == nil {
		t = &tally{}
		l.namespaces[namespace] = t
	}
	for uid, c := range a.claims {
		t.claims += sign
		t.disrupted += sign * number(!c.soaking)
		t.slots += sign * number(c.hasSlot())
		l.held += sign * number(c.hasSlot())
		if l.claimants[uid] += sign; l.claimants[uid] == 0 {
			delete(l.claimants, uid)
		}
	}
	if t.claims == 0 {
		delete(l.namespaces, namespace)
	}
	if a.group.name == "" {
		return
	}
	disrupted, _ := a.count()
	if l.groups[a.group] += sign * disrupted; l.groups[a.group] == 0 {
		delete(l.groups, a.group)
	}
}

func number(yes bool) int {
	if yes {
		return 1
	}
	return 0
}
