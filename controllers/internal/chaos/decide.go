// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"
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
		if v.Owner != nil && (v.Outcome == chaosv1.VictimPending || isDead(v.Outcome) || replaced) && !slices.Contains(claims, v.Owner.UID) {
			claims = append(claims, v.Owner.UID)
		}
	}
	return claims
}

func (r *run) decide() Decision {
	r.addCanaryOwner()
	r.trackSpec()
	r.resume()
	r.advance()
	r.start()
	r.addKills()
	r.keepCanary()
	r.setNextRun()
	r.setConditions()
	return r.decision()
}

// addCanaryOwner makes an owner of the canary: it is one of its own.
func (r *run) addCanaryOwner() {
	r.owners = r.observed.Owners
	if r.template == nil {
		return
	}
	owner := Owner{Kind: "ChaosPod", Name: r.p.Name, UID: r.p.UID, Desired: 1}
	switch c := r.observed.Canary; {
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

// trackSpec takes up a spec. What was due before it was seen is not started, unless it is the time of at: it
// was most likely meant to be now. A token that was there before the object was first seen asks for
// nothing.
func (r *run) trackSpec() {
	st := &r.status
	if st.DueAfter != nil && st.ObservedGeneration == r.p.Generation {
		return
	}
	if st.DueAfter == nil {
		if token, ok := r.runNowToken(); ok {
			st.LastRunNow = token
		}
	}
	after := r.timestampPtr()
	if at := r.schedule.at; !at.IsZero() && !at.After(r.now) && r.now.Before(at.Add(r.startingDeadline)) && (st.DueAfter == nil || at.After(st.DueAfter.Time)) {
		after = &metav1.Time{Time: at.Add(-time.Second)}
	}
	if st.DueAfter == nil || after.After(st.DueAfter.Time) {
		st.DueAfter = after
	}
	st.ObservedGeneration = r.p.Generation
}

// runNowToken is what the annotation run-now holds, where it asks for anything.
func (r *run) runNowToken() (string, bool) {
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
			r.requeueAt(at)
			return
		}
	}
	r.apply(occurrence{event: Resumed})
}

// start begins a run that is due, unless something forbids it.
func (r *run) start() {
	if r.state() != Idle || r.suspend || r.isDeleting() || r.observed.BlockedBy.Reason != "" || r.invalid() != "" {
		return
	}
	s := r.schedule.latestDue(r.now)
	due := !s.due.IsZero() && s.due.After(r.status.DueAfter.Time) && !r.isUsedID(slotID(s))
	ends := s.due.Add(r.startingDeadline)
	late := due && !r.now.Before(ends)
	_, asked := r.runNowToken()
	if !due && !asked {
		return
	}
	id := slotID(s)
	if !due || late {
		s, id = slot{}, r.runNowID()
	}
	o, held := r.admit(id)
	switch {
	case late && !asked:
		r.recordMissed(r.schedule.latestDue(r.now), held)
	case held != nil:
		r.hold(held)
		if due && !late {
			r.requeueAt(ends)
		}
	default:
		o.id, o.slot, o.asked = id, s, asked
		r.apply(o)
	}
}

// recordMissed is about a run that is due no more. While windows, blackouts or the day's limit still hold what
// they held then, that is said; a run that was held for another reason leaves a record; one that was due
// while nothing looked leaves nothing.
func (r *run) recordMissed(s slot, held *hold) {
	if held != nil && r.heldSinceDue(held, s) {
		r.hold(held)
		return
	}
	if reason, message, was := r.wasHeld(); was && !isCalendarReason(reason) {
		r.apply(occurrence{event: Skipped, reason: reason, message: "held until its starting deadline: " + message, slot: s})
	}
}

// heldSinceDue says whether what holds now has done so since a run was due.
func (r *run) heldSinceDue(held *hold, s slot) bool {
	if held.reason == chaosv1.ReasonDailyLimit {
		return true
	}
	if !isCalendarReason(held.reason) {
		return false
	}
	open := r.schedule.calendar.NextOpen(s.due)
	return open.IsZero() || open.After(r.now)
}

// isCalendarReason says whether a reason is one that the next run takes into account: it is told as long as it
// lasts, and leaves no record.
func isCalendarReason(reason string) bool {
	return reason == chaosv1.ReasonOutsideWindow || reason == chaosv1.ReasonBlackout || reason == chaosv1.ReasonDailyLimit
}

// isUsedID says whether a run had that name already: after the clock was set back, a time comes twice.
func (r *run) isUsedID(id string) bool {
	for i := range r.status.Runs {
		if r.status.Runs[i].ID == id {
			return true
		}
	}
	return false
}

// runNowID names a run that run-now asked for.
func (r *run) runNowID() string {
	base := r.timestamp.UTC().Format(time.RFC3339) + "-now"
	id := base
	for n := 2; r.isUsedID(id); n++ {
		id = base + "-" + strconv.Itoa(n)
	}
	return id
}

func slotID(s slot) string { return s.at.UTC().Format(time.RFC3339) }

// setNextRun says when the next run is due.
func (r *run) setNextRun() {
	r.status.NextRunTime = nil
	if r.suspend || r.isDeleting() || r.status.Halt != nil || r.invalid() != "" || r.observed.BlockedBy.Reason != "" {
		return
	}
	after, from := r.status.DueAfter.Time, r.now
	if r.remainingToday() == 0 {
		from = r.nextDay()
	}
	s := r.schedule.latestDue(r.now)
	switch waits := r.state() == Idle && s.due.After(after) && !r.isUsedID(slotID(s)) && r.now.Before(s.due.Add(r.startingDeadline)); {
	case waits && r.remainingToday() > 0 && r.schedule.calendar.At(r.now).Open():
		r.status.NextRunTime = &metav1.Time{Time: s.due.UTC()}
		return
	case waits:
		after = s.due.Add(-time.Second)
	case r.now.After(after):
		after = r.now
	}
	if next := r.schedule.nextStart(after, from, r.startingDeadline); !next.IsZero() {
		r.status.NextRunTime = &metav1.Time{Time: next}
		r.requeueAt(next)
	}
}

// invalid is what in the spec cannot be read; nothing starts then.
func (r *run) invalid() string {
	if r.unreadable != "" {
		return r.unreadable
	}
	return r.schedule.invalid
}

// canaryRetry is how old a canary is at least before one that has finished is made again.
const canaryRetry = 10 * time.Second

// TemplateHash stands for a template in TemplateHashLabel.
func TemplateHash(template *corev1.PodTemplateSpec) string {
	data, err := json.Marshal(template)
	if err != nil {
		return "unknown" // a template that was read from JSON always becomes some
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:8])
}

// keepCanary sees to the canary: there is one, of the present template, and it runs. A pod that is not the
// ChaosPod's is left alone. It goes on while runs are suspended: a canary is there to be looked at too.
func (r *run) keepCanary() {
	c := r.observed.Canary
	if r.template == nil || c == nil || c.Unknown != "" || c.Foreign && c.Pod != nil || r.isDeleting() || r.observed.BlockedBy.Reason != "" || r.invalid() != "" {
		return
	}
	hash := TemplateHash(r.template)
	switch pod := c.Pod; {
	case pod == nil:
		r.actions = append(r.actions, Action{Verb: CreateCanary, Hash: hash})
	case pod.Terminating:
	case c.Hash != hash, c.Finished:
		if again := pod.Created.Add(canaryRetry); c.Finished && again.After(r.now) && !again.After(r.now.Add(canaryRetry)) {
			r.requeueAt(again)
			return
		}
		r.actions = append(r.actions, Action{Verb: DeleteCanary, Pod: pod.Name, UID: pod.UID})
	}
}
