// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package restart

import (
	"slices"
	"time"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/internal/text"
)

// keepRequest has what a target asked for that could not be read be asked for still. A trigger that nothing else observes is
// Unknown.
func (r *run) keepRequest(t *target) {
	t.requested.unobservable = map[string]bool{}
	if t.Pending != nil {
		for _, name := range t.Pending.Triggers {
			t.requested.unobservable[name] = true
		}
	}
	for i := range r.policy.Spec.Triggers {
		if name := r.policy.Spec.Triggers[i].Name; r.unobservable[name] == "" && !r.isObserved(name) {
			r.unobservable[name] = autorebootv1.ReasonUnknown
		}
	}
}

// keepRequests stores the first failures that are too many of a restart whose workload could not be read.
func (r *run) keepRequests(t *target) {
	if f := r.inFlight(t.id()); f != nil {
		if counts := r.requests(f); counts.Exceeded() != "" && !counts.IsExceededIn(f.Probes) {
			r.countRequests(f)
		}
	}
}

// isObserved reports whether a trigger sees something of a target.
func (r *run) isObserved(trigger string) bool {
	return slices.ContainsFunc(r.targets, func(t target) bool {
		return !t.workload.Unselected && slices.ContainsFunc(t.signals, func(s *Signal) bool { return s.Trigger == trigger && s.Unknown == "" })
	})
}

// sinceRead returns the end of a period that may have partly passed while the target could not be read. The target has at least
// a minute of it again, or all of it if that is less.
func (r *run) sinceRead(w *Workload, until time.Time, all time.Duration) time.Time {
	if w == nil || w.ReadSince.IsZero() {
		return until
	}
	return latest(until, w.ReadSince.Add(min(all, time.Minute)))
}

// mayOweRestartNow reports whether a target that could not be read is to restart for the annotation once it is.
func (r *run) mayOweRestartNow(t *target) bool {
	token := text.Truncate(r.policy.Annotations[autorebootv1.RestartNowAnnotation], maxFingerprint)
	b := t.baseline(&Signal{Trigger: autorebootv1.RestartNowTrigger})
	return t.workload.Unread != "" && !t.workload.Unselected && b != nil && token != "" && b.Fingerprint != token
}

// checkUnread holds a restart of what could not be read: whether it is still needed is not known.
func (r *run) checkUnread(t *target) (admission, bool) {
	return held(autorebootv1.ReasonUnknown, t.workload.Unread), t.workload.Unread != ""
}

// checkUnchecked holds a restart before which something could not be read.
func (r *run) checkUnchecked(t *target) (admission, bool) {
	return held(autorebootv1.ReasonUnknown, t.workload.Unchecked), t.workload.Unchecked != ""
}
