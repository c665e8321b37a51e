// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package restart

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
)

func (r *run) requestOf(t *target) request {
	q := request{unobservable: map[string]bool{}, observed: map[string]bool{}}
	for _, s := range t.signals {
		if s.Unknown != "" {
			q.unobservable[s.Trigger] = true
			continue
		}
		q.observed[s.Trigger] = true
		if s.Level && !s.Firing {
			r.requeueAt(s.RequeueAt)
			continue
		}
		if !s.Level && !r.requestChange(&q, t, s) {
			continue
		}
		q.level = q.level || s.Level
		if !slices.Contains(q.triggers, s.Trigger) {
			q.triggers = append(q.triggers, s.Trigger)
		}
	}
	t.date(&q)
	return q
}

// immutableText names the immutable sources that were created again; empty for none.
func (q *request) immutableText() string {
	var names []string
	for _, s := range q.dated {
		if s.Immutable && !slices.Contains(names, s.Source) {
			names = append(names, s.Source)
		}
	}
	if len(names) == 0 {
		return ""
	}
	return firstNames(names) + " is immutable and was recreated: a node may give its previous content to new pods. Use a new name for new content"
}

// requestChange adds a source that differs from its baseline to a request, and reports whether that asks for a restart now.
func (r *run) requestChange(q *request, t *target, s *Signal) bool {
	b := t.baseline(s)
	switch {
	case b == nil || b.Fingerprint == s.fingerprint() || s.isWithdrawn():
		return false
	case (r.suspend || r.dryRun) && r.types[s.Trigger] == autorebootv1.TriggerSchedule && !t.isPendingFor(s.Trigger):
		q.skipped = append(q.skipped, s)
		return false
	case !s.Deadline.IsZero() && !r.now.Before(s.Deadline):
		q.expired = append(q.expired, s)
		return false
	}
	r.requeueAt(s.Deadline)
	q.edge = true
	q.content = q.content || r.isContent(s)
	q.now = q.now || s.Trigger == autorebootv1.RestartNowTrigger
	q.dated = append(q.dated, s)
	if at := s.urgentFrom(b); !at.IsZero() && (q.urgent.IsZero() || at.Before(q.urgent)) {
		q.urgent = at
	}
	return true
}

// date sets when the sources that changed were written. A new process does not know that of a source from which a key
// may have been removed. It is the time in the status, if the fingerprints are the same; otherwise the time that the
// source records, if that is later than the one of its baseline.
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
		if at := s.writtenTime(t.baseline(s), stored); !at.Equal(s.Written) {
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

func (s *Signal) writtenTime(b *autorebootv1.Baseline, stored time.Time) time.Time {
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

// urgentFrom returns when a restart is urgent because the certificate of the baseline expires; zero for never.
func (s *Signal) urgentFrom(b *autorebootv1.Baseline) time.Time {
	if s.Urgent <= 0 || b.ExpirationTime == nil {
		return time.Time{}
	}
	return b.ExpirationTime.Add(-s.Urgent)
}

// evaluateTriggers applies the events of the triggers to targets that are not in flight.
func (r *run) evaluateTriggers() {
	for i := range r.targets {
		t := &r.targets[i]
		if t.workload.Unselected || r.inFlight(t.id()) != nil {
			continue
		}
		if t.workload.Unread != "" {
			r.keepRequest(t)
			continue
		}
		t.requested = r.requestOf(t)
		r.evaluateTarget(t, t.requested)
		r.correct(t)
		if p := t.Pending; p != nil {
			p.Fingerprint, p.WrittenTime = "", nil
			if !t.requested.written.IsZero() {
				written := metav1.NewTime(t.requested.written)
				p.Fingerprint, p.WrittenTime = t.requested.fingerprint, &written
			}
		}
	}
}

func (r *run) evaluateTarget(t *target, q request) {
	for _, s := range slices.Concat(q.expired, q.skipped) {
		r.setBaselines(t, s)
	}
	if len(q.skipped) > 0 {
		r.skip(t, q.skipped)
	}
	wanted := r.wantedTriggers(t, q)
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
			r.apply(t, occurrence{event: Recovered, removed: t.removedTriggers(wanted, q)})
		}
		r.resetAttempts(t)
		return
	}
	o := occurrence{event: Fired, triggers: wanted, changed: q.written, message: q.immutableText()}
	if t.Pending == nil {
		if r.stateOf(t) == GivenUp && !q.edge {
			return
		}
		o.added = wanted
		r.apply(t, o)
		return
	}
	for _, name := range wanted {
		if !slices.Contains(t.Pending.Triggers, name) {
			o.added = append(o.added, name)
		}
	}
	o.removed = t.removedTriggers(wanted, q)
	switch {
	case len(o.added) > 0 || q.written.After(latest(t.Pending.LastRequestTime.Time, timeOf(t.Pending.WrittenTime))):
		r.apply(t, o)
	case !slices.Equal(wanted, t.Pending.Triggers):
		o.event = PartlyRecovered
		r.apply(t, o)
	}
}

// wantedTriggers returns the triggers that ask, those that asked and cannot be observed, and those of a restart that failed
// or was refused: its baselines have moved already, so that only a level trigger can recover.
func (r *run) wantedTriggers(t *target, q request) []string {
	wanted := slices.Clone(q.triggers)
	if t.Pending != nil {
		for _, name := range t.Pending.Triggers {
			_, specified := r.order[name]
			owed := t.isOwed() && (!r.isLevel(name) || !q.observed[name])
			specified = specified || owed && t.hasUnknownSource() // it may have another name now
			if specified && !slices.Contains(wanted, name) && (owed || q.unobservable[name]) {
				wanted = append(wanted, name)
			}
		}
	}
	slices.SortFunc(wanted, func(a, b string) int { return r.order[a] - r.order[b] })
	return wanted
}

// removedTriggers returns the pending triggers that recovered, as opposed to those that cannot be observed.
func (t *target) removedTriggers(wanted []string, q request) []string {
	var removed []string
	for _, name := range t.Pending.Triggers {
		expired := slices.ContainsFunc(q.expired, func(s *Signal) bool { return s.Trigger == name })
		if !slices.Contains(wanted, name) && !q.unobservable[name] && !expired {
			removed = append(removed, name)
		}
	}
	return removed
}

// resetAttempts clears the failures of a target that is available, after no trigger asked for an hour since
// its latest restart. How long it was available is not stored.
func (r *run) resetAttempts(t *target) {
	if t.Attempts == 0 || !t.workload.Available || r.stateOf(t) == Halted {
		return
	}
	if t.LastRestartTime != nil {
		if at := t.LastRestartTime.Add(resetAfter); at.After(r.now) {
			r.requeueAt(at)
			return
		}
	}
	r.apply(t, occurrence{event: AttemptsReset})
}
