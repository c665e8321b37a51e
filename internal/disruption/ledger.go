// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package disruption

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// The kinds of holder.
const (
	RebootPolicy = "RebootPolicy"
	ChaosPod     = "ChaosPod"
)

// defaultMaxDisrupted is used where Options.Most is not positive.
const defaultMaxDisrupted = 10

// Options of a Ledger.
type Options struct {
	// MaxDisrupted is how many workloads of the cluster may be disrupted at once. Defaults to 10.
	MaxDisrupted int
	// Wake is called for a holder that waits, to try again. It is called without a lock held, must not block,
	// and may be called for one that does not wait any more. Defaults to nil: a holder that waits
	// must then try by itself.
	Wake func(Holder)
}

// Holder is an object that disrupts workloads.
type Holder struct {
	Kind string // RebootPolicy or ChaosPod
	types.NamespacedName
}

// Claim is a workload that a holder disrupts.
type Claim struct{ UID types.UID }

// View is what a holder may do. It is true until the function that it was given to returns.
type View struct {
	// Group is how many claims other holders have in the same namespace and group; 0 without a group.
	Group int
	// Free is how many claims the holder may add to its own. It is negative where what was restored
	// is more than the cluster may have.
	Free int
	// Share is how many claims the holder may have if it uses again the slots that it gives back: MaxDisrupted where
	// none waits for a slot of the cluster. Otherwise it is an equal part of MaxDisrupted for each that has claims or
	// waits, or the least that one has which waits, if that is more.
	Share int
	// Disrupted are the workloads that other holders claim. It must not be changed.
	Disrupted map[types.UID]bool

	own  int // claims that the holder has
	wait *waiter
}

// Beyond returns how many claims the holder may have beyond standing ones. It is more than Free where the
// holder has claimed in advance what it may not come to use, as when it decides a second time.
func (v View) Beyond(standing []Claim) int { return v.Free + v.own - len(distinct(standing)) }

func distinct(claims []Claim) map[types.UID]bool {
	found := make(map[types.UID]bool, len(claims))
	for _, c := range claims {
		found[c.UID] = true
	}
	return found
}

// Wait records that the holder would claim more if others held less: it is woken once they do, and
// must call Do or Forget then, since a slot of the cluster is kept for it until it does. If it
// still finds no room it says so again, and keeps its place in the line. Naming the workloads it
// waits for, beside slots of its group and the cluster, spares it from being woken for others.
func (v View) Wait(workloads ...types.UID) {
	if v.wait.workloads == nil {
		v.wait.workloads = make(map[types.UID]bool, len(workloads))
	}
	for _, uid := range workloads {
		v.wait.workloads[uid] = true
	}
}

// groupKey names a group; groups of two namespaces have nothing in common.
type groupKey struct{ namespace, name string }

// account is what one holder has.
type account struct {
	group  groupKey
	claims map[types.UID]bool
}

// Ledger keeps the claims. All methods may be called from anywhere, but not from within Do.
type Ledger struct {
	Options

	mu       sync.Mutex
	accounts map[Holder]*account
	// claimants count the holders of each workload: after Restore there may be two.
	claimants map[types.UID]int
	groups    map[groupKey]int
	held      int
	queue     waitQueue
}

// New makes an empty Ledger.
func New(o Options) *Ledger {
	if o.MaxDisrupted <= 0 {
		o.MaxDisrupted = defaultMaxDisrupted
	}
	if o.Wake == nil {
		o.Wake = func(Holder) {}
	}
	return &Ledger{
		Options:   o,
		accounts:  map[Holder]*account{},
		claimants: map[types.UID]int{},
		groups:    map[groupKey]int{},
		queue:     newWaitQueue(),
	}
}

// Do lets h decide what it disrupts: f is called once, with the ledger held for it alone, and what
// it returns are h's claims from then on, all of them. f must be quick, and must not call the
// ledger. What it claims beyond the view is taken all the same: a disruption that is under way is a
// fact.
func (l *Ledger) Do(h Holder, group string, f func(View) []Claim) {
	for _, next := range l.do(h, keyOf(h, group), f) {
		l.Wake(next)
	}
}

func (l *Ledger) do(h Holder, key groupKey, f func(View) []Claim) []Holder {
	l.mu.Lock()
	defer l.mu.Unlock()
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
	return l.wake(freed)
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
		l.Wake(next)
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

func (l *Ledger) wake(f freed) []Holder {
	if f.slot || len(f.workloads) > 0 || f.group.name != "" {
		l.queue.markReady(f)
	}
	return l.queue.wakeNext(l.free())
}

// free is how many claims are neither held nor promised to a holder that was woken.
func (l *Ledger) free() int { return l.MaxDisrupted - l.held - l.queue.woken }

// share is View.Share of h. The least alone would have a holder whose claims all end at once give up all slots while
// another waits without any, and wait for its turn itself; equal parts leave enough for each.
func (l *Ledger) share(h Holder) int {
	least, holders := l.MaxDisrupted, len(l.accounts)
	if l.accounts[h] == nil && l.queue.byHolder[h] == nil {
		holders++
	}
	for _, w := range l.queue.order {
		if w.needsSlot && w.holder != h {
			least = min(least, l.claims(w.holder))
		}
		if l.accounts[w.holder] == nil {
			holders++
		}
	}
	return max(least, l.MaxDisrupted/holders)
}

func (l *Ledger) claims(h Holder) int {
	if a := l.accounts[h]; a != nil {
		return len(a.claims)
	}
	return 0
}

// Snapshot is what a ledger holds.
type Snapshot struct {
	MaxDisrupted int
	Held         map[string]int // claims by kind of holder
	Waiting      int            // holders in line
}

// Snapshot counts, for metrics.
func (l *Ledger) Snapshot() Snapshot {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := Snapshot{MaxDisrupted: l.MaxDisrupted, Held: map[string]int{}, Waiting: l.queue.len()}
	for h, a := range l.accounts {
		s.Held[h.Kind] += len(a.claims)
	}
	return s
}

func keyOf(h Holder, group string) groupKey {
	if group == "" {
		return groupKey{}
	}
	return groupKey{h.Namespace, group}
}

func (l *Ledger) view(h Holder, key groupKey, w *waiter) View {
	v := View{Free: l.free(), Share: l.share(h), Disrupted: make(map[types.UID]bool, len(l.claimants)), own: l.claims(h), wait: w}
	own := l.accounts[h]
	for uid, n := range l.claimants {
		if own != nil && own.claims[uid] {
			n--
		}
		if n > 0 {
			v.Disrupted[uid] = true
		}
	}
	if key.name != "" {
		v.Group = l.groups[key]
		if own != nil && own.group == key {
			v.Group -= len(own.claims)
		}
	}
	return v
}

// set makes claims those of h, and returns what became free by that.
func (l *Ledger) set(h Holder, key groupKey, claims []Claim) freed {
	next := distinct(claims)
	var freed freed
	if old := l.accounts[h]; old != nil {
		l.held -= len(old.claims)
		if l.groups[old.group] -= len(old.claims); l.groups[old.group] <= 0 {
			delete(l.groups, old.group)
		}
		if old.group != key || len(next) < len(old.claims) {
			freed.group = old.group
		}
		freed.slot = len(next) < len(old.claims)
		for uid := range old.claims {
			if !next[uid] {
				freed.workloads = append(freed.workloads, uid)
			}
			if l.claimants[uid]--; l.claimants[uid] == 0 {
				delete(l.claimants, uid)
			}
		}
	}
	delete(l.accounts, h)
	if len(next) == 0 {
		return freed
	}
	l.accounts[h] = &account{group: key, claims: next}
	l.held += len(next)
	if key.name != "" {
		l.groups[key] += len(next)
	}
	for uid := range next {
		l.claimants[uid]++
	}
	return freed
}
