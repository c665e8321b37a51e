// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package restart

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
)

// request is what the signals of one target ask for.
type request struct {
	// triggers that fire, in order; blind are those of which nothing can be seen, settled those of
	// which something can.
	triggers       []string
	blind, settled map[string]bool
	// lasting says that one with memory is among them, level one without, now RestartNow.
	lasting, level, now bool
	// undated says that one with memory fires, and when it was written means nothing.
	undated bool
	// dated are those with memory, and written is the latest time that one of them was written.
	// fingerprint stands for all of them.
	dated       []*Signal
	written     time.Time
	fingerprint string
	// urgent is when the restart may start outside of windows; zero for never.
	urgent time.Time
	// expired are signals that have given up.
	expired []*Signal
}

func (r *run) ask(t *target) request {
	q := request{blind: map[string]bool{}, settled: map[string]bool{}}
	for _, s := range t.signals {
		if s.Unknown != "" {
			q.blind[s.Trigger] = true
			continue
		}
		q.settled[s.Trigger] = true
		if s.Level {
			if !s.Firing {
				r.look(s.Again)
				continue
			}
			q.level = true
		} else {
			b := t.baseline(s)
			if b == nil || b.Fingerprint == s.fingerprint() || s.withdrawn() {
				continue
			}
			if !s.Deadline.IsZero() {
				if !r.now.Before(s.Deadline) {
					q.expired = append(q.expired, s)
					continue
				}
				r.look(s.Deadline)
			}
			q.lasting = true
			q.now = q.now || s.Trigger == autorebootv1.RestartNowTrigger
			q.dated = append(q.dated, s)
			if at := s.urgent(b); !at.IsZero() && (q.urgent.IsZero() || at.Before(q.urgent)) {
				q.urgent = at
			}
		}
		if !slices.Contains(q.triggers, s.Trigger) {
			q.triggers = append(q.triggers, s.Trigger)
		}
	}
	t.date(&q)
	return q
}

// date finds when what differs was written. A process that has just begun does not know that of a source
// from which a key may have been removed: it is what an earlier one stored, if nothing has changed since;
// else what the source records, if that is later than what it recorded when its baseline was taken.
func (t *target) date(q *request) {
	var all []string
	for _, s := range q.dated {
		all = append(all, s.Trigger+"\x00"+s.Source+"\x00"+s.fingerprint())
	}
	q.fingerprint = digest(all)
	stored := time.Time{}
	if t.Pending != nil && t.Pending.Fingerprint == q.fingerprint {
		stored = timeOf(t.Pending.WrittenTime)
	}
	for i, s := range q.dated {
		if at := s.written(t.baseline(s), stored); !at.Equal(s.Written) {
			dated := *s
			dated.Written = at
			q.dated[i] = &dated
			s = &dated
		}
		q.undated = q.undated || s.Written.IsZero()
		if s.Written.After(q.written) {
			q.written = s.Written.UTC().Truncate(time.Second)
		}
	}
}

func (s *Signal) written(b *autorebootv1.Baseline, stored time.Time) time.Time {
	recorded := timeOf(b.WrittenTime)
	switch {
	case !s.FirstSeen:
		return s.Written
	case !stored.IsZero():
		return stored
	case !s.ValuesWritten.IsZero() && (b.Fingerprint == "" || b.Keys != "" && b.Keys == s.Keys):
		return s.ValuesWritten // no key was removed
	case !recorded.IsZero() && s.Recorded.After(recorded):
		return s.Recorded
	}
	return s.Written
}

// urgent is when the certificate that the pods hold is near its end.
func (s *Signal) urgent(b *autorebootv1.Baseline) time.Time {
	if s.Urgent <= 0 || b.Expires == nil {
		return time.Time{}
	}
	return b.Expires.Add(-s.Urgent)
}

// sense turns the signals of those that are not in flight into events.
func (r *run) sense() {
	for i := range r.targets {
		t := &r.targets[i]
		if t.workload.Unselected || r.flight(t.id()) != nil {
			continue
		}
		t.asks = r.ask(t)
		r.senseOne(t, t.asks)
		if p := t.Pending; p != nil {
			p.Fingerprint, p.WrittenTime = "", nil
			if !t.asks.written.IsZero() {
				written := metav1.NewTime(t.asks.written)
				p.Fingerprint, p.WrittenTime = t.asks.fingerprint, &written
			}
		}
	}
}

func (r *run) senseOne(t *target, q request) {
	for _, s := range q.expired {
		r.accept(t, s)
	}
	wanted := r.wanted(t, q)
	if len(wanted) == 0 {
		switch {
		case len(q.expired) > 0:
			o := occurrence{event: Expired, reason: autorebootv1.ReasonStartingDeadline}
			for _, s := range q.expired {
				o.triggers = append(o.triggers, s.Trigger)
			}
			o.triggers = slices.Compact(o.triggers)
			r.apply(t, o)
		case t.Pending != nil:
			r.apply(t, occurrence{event: Recovered, lost: t.lost(wanted, q)})
		default:
			r.rest(t)
		}
		return
	}
	o := occurrence{event: Fired, triggers: wanted, changed: q.written}
	if t.Pending == nil {
		if r.stateOf(t) == GivenUp && !q.lasting {
			return
		}
		o.news = wanted
		r.apply(t, o)
		return
	}
	for _, name := range wanted {
		if !slices.Contains(t.Pending.Triggers, name) {
			o.news = append(o.news, name)
		}
	}
	o.lost = t.lost(wanted, q)
	switch {
	case len(o.news) > 0 || q.written.After(t.Pending.Changed.Time):
		r.apply(t, o)
	case !slices.Equal(wanted, t.Pending.Triggers):
		o.event = Eased
		r.apply(t, o)
	}
}

// wanted are the triggers that ask, with those that a failed restart still owes: only a trigger
// without memory can say that it is not needed any more, since for all others the baseline has
// moved already.
func (r *run) wanted(t *target, q request) []string {
	wanted := slices.Clone(q.triggers)
	if t.owed() {
		for _, name := range t.Pending.Triggers {
			_, specified := r.order[name]
			if !specified || slices.Contains(wanted, name) || (r.level(name) && q.settled[name]) {
				continue
			}
			wanted = append(wanted, name)
		}
	}
	slices.SortFunc(wanted, func(a, b string) int { return r.order[a] - r.order[b] })
	return wanted
}

// lost are the pending triggers that have gone quiet, as opposed to those that cannot be seen.
func (t *target) lost(wanted []string, q request) []string {
	var lost []string
	for _, name := range t.Pending.Triggers {
		expired := slices.ContainsFunc(q.expired, func(s *Signal) bool { return s.Trigger == name })
		if !slices.Contains(wanted, name) && !q.blind[name] && !expired {
			lost = append(lost, name)
		}
	}
	return lost
}

// rest lets a target forget its failures once it has been left in peace for long enough and is
// healthy. How long it has been healthy is not remembered: that no trigger has asked since its
// latest restart, and that it is healthy at the end, stands for it.
func (r *run) rest(t *target) {
	if t.Attempts == 0 || !t.workload.Available || r.stateOf(t) == Halted {
		return
	}
	if t.LastRestartTime != nil {
		if at := t.LastRestartTime.Add(r.resetAfter); at.After(r.now) {
			r.look(at)
			return
		}
	}
	r.apply(t, occurrence{event: Rested})
}
