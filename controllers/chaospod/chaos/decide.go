// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	chaosv1 "github.com/fairlead-dev/fairlead/api/chaos/v1"
	"github.com/fairlead-dev/fairlead/api/common"
	"github.com/fairlead-dev/fairlead/controllers/internal/requests"
	"github.com/fairlead-dev/fairlead/internal/disruption"
	rules "github.com/fairlead-dev/fairlead/internal/rules/chaospod"
)

// Decide returns what follows from an observation. p is the stored object; it is not changed. The same arguments give
// the same bytes.
func Decide(p *chaosv1.ChaosPod, o Observation) Decision { return newRun(p, o).decide() }

// ClaimsOf returns the claims of a status on the owners that it disrupts.
func ClaimsOf(status *chaosv1.ChaosPodStatus) []disruption.Claim {
	var claims []disruption.Claim
	for _, owner := range rules.DisruptedOwners(status) {
		c := status.CurrentRun
		claims = append(claims, disruption.Claim{UID: owner.UID, Soaking: c.Phase == chaosv1.RunVerifying && c.ReadyTime != nil})
	}
	return claims
}

func (r *run) decide() Decision {
	r.setOwners()
	r.adoptTarget()
	r.trackSpec()
	r.endHalt()
	r.advance()
	r.start()
	r.addKills()
	r.keepCanary()
	r.setNextRun()
	r.setConditions()
	return r.decision()
}

// setOwners sets the owners in an order of their own: that of a cache differs from one look to the next. A canary is
// its own owner.
func (r *run) setOwners() {
	if r.template == nil {
		byName := func(a, b Owner) int { return strings.Compare(ownerText(&a), ownerText(&b)) }
		r.owners = slices.SortedFunc(slices.Values(r.observed.Owners), byName)
		return
	}
	owner := Owner{Kind: "ChaosPod", Name: r.p.Name, UID: r.p.UID, Desired: 1}
	switch c := r.observed.Canary; {
	case c == nil:
		owner.Unknown = "the canary was not read"
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

// trackSpec records a new spec. Runs that were due before it was observed do not start, except that of schedule.at,
// which was probably meant to be now.
func (r *run) trackSpec() {
	st := &r.status
	if st.DueAfterTime != nil && st.ObservedGeneration == r.p.Generation {
		return
	}
	if st.DueAfterTime == nil {
		if token := r.runNow(); token != "" {
			st.HandledRunNow = token
			r.addMessage(Message{Reason: common.EventRequestIgnored, Text: requests.Ignored(chaosv1.RunNowAnnotation, token)})
		}
	} else if reason, _, held := r.wasHeld(); held && st.CurrentRun == nil && !isCalendarReason(reason) {
		if r.runNow() == "" {
			text := "the held run (" + reason + ") is skipped: the spec was changed"
			r.addMessage(Message{Reason: chaosv1.EventChaosMissed, Text: text})
		}
	}
	after := r.timestampPtr()
	if at := r.schedule.at; !at.IsZero() && !at.After(r.now) && r.now.Before(at.Add(r.startingDeadline)) &&
		(st.DueAfterTime == nil || at.After(st.DueAfterTime.Time)) {
		after = &metav1.Time{Time: at.Add(-time.Second)}
	}
	if st.DueAfterTime == nil || after.After(st.DueAfterTime.Time) {
		st.DueAfterTime = after
	}
	st.ObservedGeneration = r.p.Generation
}

// adoptTarget records the target of a verdict, and of a run, that an earlier version of the operator has stored. If the
// spec was changed since, it may be another one.
func (r *run) adoptTarget() {
	st := &r.status
	switch {
	case st.VerifiedTarget != "" || !rules.IsVerified(st):
	case st.ObservedGeneration == r.p.Generation:
		st.VerifiedTarget = r.targetDigest
	default:
		st.VerifiedTarget = "unknown"
	}
	if c := st.CurrentRun; c != nil && c.TargetDigest == "" && c.Generation == r.p.Generation {
		c.TargetDigest = r.targetDigest
	}
}

// start starts a run that is due, unless something holds it.
func (r *run) start() {
	if r.state() != Idle || r.suspend || r.isDeleting() || r.observed.BlockedBy.Reason != "" || r.invalid() != "" {
		return
	}
	s := r.schedule.latestDue(r.now)
	due := !s.due.IsZero() && s.due.After(r.status.DueAfterTime.Time) && !r.isUsedID(slotID(s))
	ends := s.due.Add(r.startingDeadline)
	late := due && !r.now.Before(ends)
	asked := r.runNow() != ""
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
		if asked && (!due || late) { // it waits as long as the hold lasts
			held.message += "; to withdraw the request, remove annotation " + chaosv1.RunNowAnnotation
		}
		r.hold(held)
		if due && !late {
			r.requeueAt(ends)
		}
	default:
		o.id, o.slot, o.asked = id, s, asked
		r.apply(o)
	}
}

// recordMissed handles a run whose starting deadline has passed. If windows, blackouts or the daily limit have held it
// since it was due, it is still held; if another reason did, a record is added; if there was no reconcile, nothing.
func (r *run) recordMissed(s slot, held *hold) {
	if held != nil && r.heldSinceDue(held, s) {
		r.hold(held)
		return
	}
	if reason, message, was := r.wasHeld(); was && !isCalendarReason(reason) {
		r.apply(occurrence{event: Skipped, reason: reason, message: "held until its starting deadline: " + message, slot: s})
	}
}

// heldSinceDue reports whether a hold has lasted since a run was due.
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

// isCalendarReason reports whether status.nextRunTime accounts for a reason: it is reported while it lasts, and leaves
// no record.
func isCalendarReason(reason string) bool {
	return reason == chaosv1.ReasonOutsideWindow || reason == chaosv1.ReasonBlackout || reason == chaosv1.ReasonDailyLimit
}

// isUsedID reports whether a run had that ID already: after the clock was set back, a time comes twice.
func (r *run) isUsedID(id string) bool {
	for i := range r.status.History {
		if r.status.History[i].ID == id {
			return true
		}
	}
	return false
}

// runNowID returns the ID of a run that run-now asked for.
func (r *run) runNowID() string {
	base := r.timestamp.UTC().Format(time.RFC3339) + "-now"
	id := base
	for n := 2; r.isUsedID(id); n++ {
		id = base + "-" + strconv.Itoa(n)
	}
	return id
}

func slotID(s slot) string { return s.at.UTC().Format(time.RFC3339) }

// setNextRun sets when the next run is due.
func (r *run) setNextRun() {
	r.status.NextRunTime = nil
	if r.suspend || r.isDeleting() || r.status.Halt != nil || r.invalid() != "" || r.observed.BlockedBy.Reason != "" {
		return
	}
	after, from := r.status.DueAfterTime.Time, r.now
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

// invalid returns what in the spec is invalid; nothing starts then.
func (r *run) invalid() string {
	if r.unreadable != "" {
		return r.unreadable
	}
	return r.schedule.invalid
}

// canaryRetry is how old a canary that has finished must be before it is replaced.
const canaryRetry = 10 * time.Second

// TemplateHash returns the value of TemplateHashLabel for a template.
func TemplateHash(template *corev1.PodTemplateSpec) string { return rules.Digest(template) }

// keepCanary adds actions that create the canary, and replace one of another template or that has finished. A pod that
// the ChaosPod does not control is left alone. The canary is kept while runs are suspended.
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
