// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package disruption

import (
	"slices"

	"k8s.io/apimachinery/pkg/types"
)

// waiter is a holder that would claim more.
type waiter struct {
	holder Holder
	group  groupKey
	// workloads that it waits for; none means that anything that becomes free may help.
	workloads map[types.UID]bool
	// needsSlot means that the cluster had no room for it, whatever else it waits for.
	needsSlot bool
	// ready means that something became free since its last Do, and woken that Wake was called. A slot of the cluster is
	// kept for a holder that is woken until its next Do.
	ready, woken bool
}

// waitQueue has the holders that wait, in order.
type waitQueue struct {
	order    []*waiter
	byHolder map[Holder]*waiter
	woken    int
}

func newWaitQueue() waitQueue { return waitQueue{byHolder: map[Holder]*waiter{}} }

func (q *waitQueue) len() int { return len(q.order) }

// endWake ends the wake-up of h, and reports whether it had one.
func (q *waitQueue) endWake(h Holder) bool {
	w := q.byHolder[h]
	if w == nil {
		return false
	}
	woken := w.woken
	if woken {
		q.woken--
	}
	w.ready, w.woken = false, false
	return woken
}

// add lets w wait. It keeps its place unless it got something since: otherwise a holder that asks for
// more than there is would be overtaken for ever.
func (q *waitQueue) add(w *waiter, progressed bool) {
	old := q.byHolder[w.holder]
	if old != nil && !progressed {
		*old = *w
		return
	}
	if old != nil {
		q.remove(w.holder)
	}
	q.order = append(q.order, w)
	q.byHolder[w.holder] = w
}

func (q *waitQueue) remove(h Holder) {
	w := q.byHolder[h]
	if w == nil {
		return
	}
	delete(q.byHolder, h)
	q.order = slices.DeleteFunc(q.order, func(other *waiter) bool { return other == w })
}

// markReady marks those who may have a use for what became free.
func (q *waitQueue) markReady(f freed) {
	for _, w := range q.order {
		switch {
		case w.ready:
		case f.slot && w.needsSlot:
			w.ready = true
		case f.group.name != "" && f.group == w.group:
			w.ready = true
		case len(w.workloads) == 0:
			w.ready = w.ready || len(f.workloads) > 0
		default:
			w.ready = slices.ContainsFunc(f.workloads, func(uid types.UID) bool { return w.workloads[uid] })
		}
	}
}

// wakeNext returns those that are ready and to be woken, as many as there are slots: always the one whose namespace has
// the fewest slots, those that were woken included, and among several the one that has waited longest. roomOf returns how
// many more workloads of a namespace may be disrupted, and how many slots it has.
func (q *waitQueue) wakeNext(slots int, roomOf func(namespace string) (room, slots int)) []Holder {
	if slots <= 0 {
		return nil
	}
	promised := map[string]int{}
	for _, w := range q.order {
		promised[w.holder.Namespace] += number(w.woken)
	}
	var next []Holder
	for ; slots > 0; slots-- {
		var first *waiter
		fewest := 0
		for _, w := range q.order {
			if !w.ready || w.woken {
				continue
			}
			room, has := roomOf(w.holder.Namespace)
			if has += promised[w.holder.Namespace]; room > promised[w.holder.Namespace] && (first == nil || has < fewest) {
				first, fewest = w, has
			}
		}
		if first == nil {
			break
		}
		first.woken = true
		q.woken++
		promised[first.holder.Namespace]++
		next = append(next, first.holder)
	}
	return next
}

// needsSlot reports whether a holder waits for a slot of the cluster.
func (q *waitQueue) needsSlot() bool {
	return slices.ContainsFunc(q.order, func(w *waiter) bool { return w.needsSlot })
}

// freed lists the slot, group and workloads that one change released.
type freed struct {
	slot      bool
	group     groupKey
	workloads []types.UID
}
