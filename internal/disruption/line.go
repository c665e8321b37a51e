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
	// short says that the cluster had no room for it, whatever else it waits for.
	short bool
	// ready says that something became free since it last looked, and woken that it was told. One
	// that is woken has a slot of the cluster kept for it until it looks.
	ready, woken bool
}

// line is who waits, the first first.
type line struct {
	order    []*waiter
	byHolder map[Holder]*waiter
	woken    int
}

func newLine() line { return line{byHolder: map[Holder]*waiter{}} }

func (l *line) len() int { return len(l.order) }

// look ends the wake-up of h, if it has one, and says so.
func (l *line) look(h Holder) bool {
	w := l.byHolder[h]
	if w == nil {
		return false
	}
	woken := w.woken
	if woken {
		l.woken--
	}
	w.ready, w.woken = false, false
	return woken
}

// join lets w wait. It keeps its place unless it got something since: otherwise a holder that asks for
// more than there is would be overtaken for ever.
func (l *line) join(w *waiter, progressed bool) {
	old := l.byHolder[w.holder]
	if old != nil && !progressed {
		*old = *w
		return
	}
	if old != nil {
		l.leave(w.holder)
	}
	l.order = append(l.order, w)
	l.byHolder[w.holder] = w
}

func (l *line) leave(h Holder) {
	w := l.byHolder[h]
	if w == nil {
		return
	}
	delete(l.byHolder, h)
	l.order = slices.DeleteFunc(l.order, func(other *waiter) bool { return other == w })
}

// freed marks those who may have a use for what became free.
func (l *line) freed(f release) {
	for _, w := range l.order {
		switch {
		case w.ready:
		case f.slot && w.short:
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

// next are the first that are ready, as many as there are slots.
func (l *line) next(slots int) []Holder {
	var next []Holder
	for _, w := range l.order {
		if len(next) >= slots {
			break
		}
		if w.ready && !w.woken {
			w.woken = true
			l.woken++
			next = append(next, w.holder)
		}
	}
	return next
}

// release is what became free at once.
type release struct {
	slot      bool
	group     groupKey
	workloads []types.UID
}
