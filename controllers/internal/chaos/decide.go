// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"slices"
	"strconv"
	"time"
	"unicode/utf8"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	chaosv1 "github.com/fairlead-dev/fairlead/api/chaos/v1"
)

// Decide says what follows from what was observed. p is the stored object, whose status is the memory; it
// is not changed. The same facts give the same bytes.
func Decide(p *chaosv1.ChaosPod, o Observation) Decision { return newRun(p, o).decide() }

// ClaimsOf are the owners that a status says are being disrupted. A dry run disrupts none. An owner of
// which a budget kept a pod alive is claimed until no other can take its place.
func ClaimsOf(status *chaosv1.ChaosPodStatus) []types.UID {
	if status.CurrentRun == nil || status.CurrentRun.DryRun {
		return nil
	}
	var claims []types.UID
	for i := range status.CurrentRun.Victims {
		v := &status.CurrentRun.Victims[i]
		replaced := v.Outcome == chaosv1.VictimSkippedDisruptionBudget && status.CurrentRun.Phase != chaosv1.RunVerifying
		if v.Owner != nil && (v.Outcome == chaosv1.VictimPending || fatal(v.Outcome) || replaced) && !slices.Contains(claims, v.Owner.UID) {
			claims = append(claims, v.Owner.UID)
		}
	}
	return claims
}

func (r *run) decide() Decision {
	r.adopt()
	r.begin()
	r.resume()
	r.advance()
	r.start()
	r.strike()
	r.keep()
	r.forecast()
	r.report()
	return r.decision()
}

// adopt makes an owner of the canary: it is one of its own.
func (r *run) adopt() {
	r.owners = r.seen.Owners
	if r.template == nil {
		return
	}
	owner := Owner{Kind: "ChaosPod", Name: r.p.Name, UID: r.p.UID, Wanted: 1}
	switch c := r.seen.Canary; {
	case c == nil:
		owner.Unknown = "the canary was not looked at"
	case c.Unknown != "":
		owner.Unknown = c.Unknown
	case c.Pod != nil && !c.Foreign:
		pod := *c.Pod
		pod.Selected = c.Hash == TemplateHash(r.template) && !c.Finished
		pod.Running = pod.Running && !c.Finished
		owner.Pods = []Pod{pod}
	}
	r.owners = []Owner{owner}
}

// begin takes up a spec. What was due before it was seen is not started, unless it is the time of at: it
// was most likely meant to be now. A token that was there before the object was first seen asks for
// nothing.
func (r *run) begin() {
	st := &r.status
	if st.DueAfter != nil && st.ObservedGeneration == r.p.Generation {
		return
	}
	if st.DueAfter == nil {
		if token, ok := r.token(); ok {
			st.LastRunNow = token
		}
	}
	after := r.at()
	if at := r.times.at; !at.IsZero() && !at.After(r.now) && r.now.Before(at.Add(r.startingDeadline)) && (st.DueAfter == nil || at.After(st.DueAfter.Time)) {
		after = &metav1.Time{Time: at.Add(-time.Second)}
	}
	if st.DueAfter == nil || after.After(st.DueAfter.Time) {
		st.DueAfter = after
	}
	st.ObservedGeneration = r.p.Generation
}

// token is what the annotation run-now holds, where it asks for anything.
func (r *run) token() (string, bool) {
	token := r.p.Annotations[chaosv1.RunNowAnnotation]
	return token, token != "" && utf8.RuneCountInString(token) <= maxToken && token != r.status.LastRunNow
}

// resume clears a halt after which a human has acted. A time still to come counts once it has come.
func (r *run) resume() {
	halt := r.status.Halt
	if halt == nil || r.state() != Halted {
		return
	}
	if halt.Generation == r.p.Generation {
		at, err := time.Parse(time.RFC3339, r.p.Annotations[chaosv1.ResumeAnnotation])
		if err != nil || !at.After(halt.Time.Time) {
			return
		}
		if at.After(r.now) {
			r.look(at)
			return
		}
	}
	r.apply(occurrence{event: Resumed})
}

// start begins a run that is due, unless something forbids it.
func (r *run) start() {
	if r.state() != Idle || r.suspend || r.deleting() || r.seen.Barred.Reason != "" || r.broken() != "" {
		return
	}
	s := r.times.latest(r.now)
	due := !s.due.IsZero() && s.due.After(r.status.DueAfter.Time) && !r.used(nameOf(s))
	ends := s.due.Add(r.startingDeadline)
	late := due && !r.now.Before(ends)
	_, asked := r.token()
	if !due && !asked {
		return
	}
	id := nameOf(s)
	if !due || late {
		s, id = slot{}, r.nameNow()
	}
	o, held := r.judge(id)
	switch {
	case late && !asked:
		r.missed(r.times.latest(r.now), held)
	case held != nil:
		r.holdBack(held)
		if due && !late {
			r.look(ends)
		}
	default:
		o.id, o.slot, o.asked = id, s, asked
		r.apply(o)
	}
}

// missed is about a run that is due no more. While windows, blackouts or the day's limit still hold what
// they held then, that is said; a run that was held for another reason leaves a record; one that was due
// while nothing looked leaves nothing.
func (r *run) missed(s slot, held *hold) {
	if held != nil && r.lasts(held, s) {
		r.holdBack(held)
		return
	}
	if reason, message, was := r.wasHeld(); was && !calendars(reason) {
		r.apply(occurrence{event: Passed, reason: reason, message: "held until its starting deadline: " + message, slot: s})
	}
}

// lasts says whether what holds now has done so since a run was due.
func (r *run) lasts(held *hold, s slot) bool {
	if held.reason == chaosv1.ReasonDailyLimit {
		return true
	}
	if !calendars(held.reason) {
		return false
	}
	open := r.times.calendar.NextOpen(s.due)
	return open.IsZero() || open.After(r.now)
}

// calendars says whether a reason is one that the next run takes into account: it is told as long as it
// lasts, and leaves no record.
func calendars(reason string) bool {
	return reason == chaosv1.ReasonOutsideWindow || reason == chaosv1.ReasonBlackout || reason == chaosv1.ReasonDailyLimit
}

// used says whether a run had that name already: after the clock was set back, a time comes twice.
func (r *run) used(id string) bool {
	for i := range r.status.Runs {
		if r.status.Runs[i].ID == id {
			return true
		}
	}
	return false
}

// nameNow names a run that run-now asked for.
func (r *run) nameNow() string {
	base := r.stamp.UTC().Format(time.RFC3339) + "-now"
	id := base
	for n := 2; r.used(id); n++ {
		id = base + "-" + strconv.Itoa(n)
	}
	return id
}

func nameOf(s slot) string { return s.at.UTC().Format(time.RFC3339) }

// forecast says when the next run is due.
func (r *run) forecast() {
	r.status.NextRunTime = nil
	if r.suspend || r.deleting() || r.status.Halt != nil || r.broken() != "" || r.seen.Barred.Reason != "" {
		return
	}
	after, from := r.status.DueAfter.Time, r.now
	if r.room() == 0 {
		from = r.tomorrow()
	}
	s := r.times.latest(r.now)
	switch waits := r.state() == Idle && s.due.After(after) && !r.used(nameOf(s)) && r.now.Before(s.due.Add(r.startingDeadline)); {
	case waits && r.room() > 0 && r.times.calendar.At(r.now).Open():
		r.status.NextRunTime = &metav1.Time{Time: s.due.UTC()}
		return
	case waits:
		after = s.due.Add(-time.Second)
	case r.now.After(after):
		after = r.now
	}
	if next := r.times.begins(after, from, r.startingDeadline); !next.IsZero() {
		r.status.NextRunTime = &metav1.Time{Time: next}
		r.look(next)
	}
}

// broken is what in the spec cannot be read; nothing starts then.
func (r *run) broken() string {
	if r.unreadable != "" {
		return r.unreadable
	}
	return r.times.broken
}
