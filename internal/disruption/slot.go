// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package disruption

import (
	"cmp"
	"slices"
	"time"
)

const (
	// defaultSlotTimeout is long enough for most restarts and kills, and short enough to wait for.
	defaultSlotTimeout = 2 * time.Minute
	// longestSlot is after how long a slot lapses even within the share of its namespace: a disruption that cannot end,
	// such as one whose writes are refused, must not hold up others for ever, in however many namespaces it is.
	longestSlot = time.Hour
	// shareOfNamespace is which part of the slots a namespace keeps for disruptions that are older than SlotTimeout: a
	// quarter, rounded down. As long as few namespaces have stuck disruptions, they count as they should.
	shareOfNamespace = 4
)

// claim is one workload of an account.
type claim struct {
	since           time.Time
	soaking, lapsed bool
}

func (c *claim) hasSlot() bool { return !c.soaking && !c.lapsed }

// tally counts the claims of one namespace.
type tally struct {
	claims int
	// disrupted are the claims that do not soak, and slots those of them whose slot has not lapsed.
	disrupted, slots int
}

// lapse takes back the slots of disruptions that are older than SlotTimeout: in each namespace, those beyond its share,
// the oldest first, and all that are older than longestSlot. The clock is this process's own, so that a new leader
// counts again.
func (l *Ledger) lapse() freed {
	now, share := l.options.Now(), l.options.MaxDisrupted/shareOfNamespace
	standing := map[string][]*claim{}
	for h, a := range l.accounts {
		for _, c := range a.claims {
			if c.hasSlot() && now.Sub(c.since) >= l.options.SlotTimeout {
				standing[h.Namespace] = append(standing[h.Namespace], c)
			}
		}
	}
	var freed freed
	for namespace, all := range standing {
		slices.SortFunc(all, func(a, b *claim) int { return cmp.Compare(a.since.UnixNano(), b.since.UnixNano()) })
		for i, c := range all {
			if len(all)-i > share || now.Sub(c.since) >= longestSlot {
				c.lapsed, freed.slot = true, true
				l.namespaces[namespace].slots--
				l.held--
			}
		}
	}
	return freed
}

// scheduleLapse has those that wait for a slot woken once the next one may lapse. There is a timer only while a holder
// waits for a slot.
func (l *Ledger) scheduleLapse() {
	if l.stopTimer != nil {
		l.stopTimer()
		l.stopTimer = nil
	}
	if !l.queue.needsSlot() {
		return
	}
	now := l.options.Now()
	var next time.Duration
	for _, a := range l.accounts {
		for _, c := range a.claims {
			for _, after := range []time.Duration{l.options.SlotTimeout, longestSlot} {
				if left := after - now.Sub(c.since); c.hasSlot() && left > 0 && (next == 0 || left < next) {
					next = left
				}
			}
		}
	}
	if next > 0 {
		l.stopTimer = l.options.AfterFunc(next, l.lapseAndWake)
	}
}

func (l *Ledger) lapseAndWake() {
	l.mu.Lock()
	next := l.wake(l.lapse())
	l.mu.Unlock()
	for _, h := range next {
		l.options.Wake(h)
	}
}

// roomOf returns how many more workloads of a namespace may be disrupted, and how many slots it has.
func (l *Ledger) roomOf(namespace string) (room, slots int) {
	if t := l.namespaces[namespace]; t != nil {
		return l.options.MaxDisrupted - t.disrupted, t.slots
	}
	return l.options.MaxDisrupted, 0
}
