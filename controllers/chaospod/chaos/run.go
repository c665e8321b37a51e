// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	chaosv1 "github.com/fairlead-dev/fairlead/api/chaos/v1"
	"github.com/fairlead-dev/fairlead/api/common"
	"github.com/fairlead-dev/fairlead/internal/events"
	rules "github.com/fairlead-dev/fairlead/internal/rules/chaospod"
)

// The bounds of what the status holds.
const (
	maxMessage = 512
	maxName    = 253
	// maxNamed is how many names one message lists.
	maxNamed = 3
)

const (
	// killTimeout is how long it is tried to kill a victim. One whose owner cannot be read by then may have been
	// killed, and counts as dead.
	killTimeout = 2 * time.Minute
	// maxHold is how long a run that has started is held at most: it keeps others from its workloads.
	maxHold = 10 * time.Minute
	// heldInterval is how often a run that is held is looked at again: some holds end without an event, such as that of
	// a node which was uncordoned.
	heldInterval = 30 * time.Second
	// retryInterval is the time until something is tried again that no event reports.
	retryInterval = time.Second
	// stepsAtOnce bounds how many phases a run passes in one decision.
	stepsAtOnce = 4
)

// run is the state of one call of Decide or Record.
type run struct {
	settings
	p         *chaosv1.ChaosPod
	observed  Observation
	schedule  *Schedule
	now       time.Time
	timestamp metav1.Time
	table     []Transition
	// onTransition is called with each transition in tests.
	onTransition func(*run, State, Event, State)

	status chaosv1.ChaosPodStatus
	owners []Owner
	// day is the current day in UTC, and killedToday how many pods were killed on it.
	day         string
	killedToday int32

	held *hold
	// unread are the owners that a run which is verified waits for since they cannot be read.
	unread         []string
	actions        []Action
	messages       []Message
	requeue        time.Time
	waitsForOthers bool
	waitsFor       []Owner
}

// hold is why a run that is due may not start, and until when; zero if that is not known.
type hold struct {
	reason, message string
	until           time.Time
}

// choice is which pods a run kills, and from how many they were chosen.
type choice struct {
	seed    string
	victims []chaosv1.Victim
	count   int
	// candidates and digest are the number and a hash of all eligible pods.
	candidates int
	digest     string
}

// occurrence is an event with its details.
type occurrence struct {
	event           Event
	reason, message string
	// id is the run's. slot is that of the schedule, zero for a run that run-now alone asked for; asked
	// says that it did.
	id     string
	slot   slot
	asked  bool
	chosen choice
}

func newRun(p *chaosv1.ChaosPod, o Observation) *run {
	r := &run{
		settings: settingsOf(p), p: p, observed: o, schedule: o.Schedule, now: o.Now,
		timestamp: metav1.NewTime(o.Now.UTC().Truncate(time.Second)), table: Transitions(),
	}
	if r.schedule == nil {
		r.schedule = ScheduleOf(p)
	}
	if o.WithoutProbes {
		r.verificationProbes = nil
	}
	p.Status.DeepCopyInto(&r.status)
	r.completeStoredRun()
	if ahead := r.correctFutureTimes(); ahead > 0 {
		r.addMessage(Message{Reason: common.EventClockSkew, Warning: true, Text: fmt.Sprintf(
			"a time in the status is %s in the future, and counts as now: the clock of this replica is behind that of an earlier one, or was set back", common.DurationOf(ahead.Round(time.Second)))})
	}
	r.countDay()
	return r
}

// completeStoredRun adds what each run has that was decided on here, and that the schema does not require: anyone may have
// written the status who has the right to.
func (r *run) completeStoredRun() {
	c := r.status.CurrentRun
	if c == nil {
		return
	}
	if c.StartTime == nil {
		c.StartTime = r.timestampPtr()
	}
	if c.KilledTime == nil && c.Phase == chaosv1.RunVerifying {
		c.KilledTime = r.timestampPtr()
	}
	for i := range c.Victims {
		if c.Victims[i].Owner == nil {
			c.Victims[i].Owner = &chaosv1.VictimOwner{} // of no workload that there is
		}
	}
}

func (r *run) state() State {
	switch {
	case r.status.CurrentRun != nil:
		return State(r.status.CurrentRun.Phase)
	case r.status.Halt != nil:
		return Halted
	default:
		return Idle
	}
}

// apply applies the transition of an event, if the table has one.
func (r *run) apply(o occurrence) {
	from := r.state()
	for _, row := range r.table {
		if row.Event != o.event || !slices.Contains(row.From, from) {
			continue
		}
		row.do(r, o)
		if r.onTransition != nil {
			r.onTransition(r, from, o.event, row.To)
		}
		return
	}
}

func (r *run) timestampPtr() *metav1.Time { stamp := r.timestamp; return &stamp }

func (r *run) requeueAt(at time.Time) {
	if at.After(r.now) && (r.requeue.IsZero() || at.Before(r.requeue)) {
		r.requeue = at
	}
}

func (r *run) addMessage(n Message) { r.messages = append(r.messages, n) }

func (r *run) decision() Decision {
	d := Decision{Status: r.status, Actions: r.actions, Messages: r.messages, RequeueAt: r.requeue, WaitsForOthers: r.waitsForOthers}
	for i := range r.waitsFor {
		d.WaitsFor = append(d.WaitsFor, r.waitsFor[i].UID)
	}
	return d
}

func (r *run) isDeleting() bool { return !r.p.DeletionTimestamp.IsZero() }

// owner returns the owner of a victim; nil if it is gone.
func (r *run) owner(v *chaosv1.Victim) *Owner {
	for i := range r.owners {
		if v.Owner != nil && r.owners[i].UID == v.Owner.UID {
			return &r.owners[i]
		}
	}
	return nil
}

// isUnknown reports whether a victim's owner could not be read.
func (r *run) isUnknown(owner *Owner) bool {
	if owner == nil {
		return r.observed.Unknown != ""
	}
	return owner.Unknown != ""
}

// stampOf returns a time as the status holds it.
func stampOf(t time.Time) metav1.Time { return metav1.NewTime(t.UTC().Truncate(time.Second)) }

// firstDead returns a victim that was killed, with its owner.
func (r *run) firstDead() *chaosv1.Victim {
	for i := range r.status.CurrentRun.Victims {
		if v := &r.status.CurrentRun.Victims[i]; rules.IsDead(v.Outcome) {
			return v.DeepCopy()
		}
	}
	return nil
}

// victimsText names the victims with their outcomes.
func (r *run) victimsText() string {
	var all []string
	for i := range r.status.CurrentRun.Victims {
		v := &r.status.CurrentRun.Victims[i]
		text := "pod " + v.Name + " of " + v.Owner.Kind + " " + v.Owner.Name
		switch {
		case v.Outcome == chaosv1.VictimDryRun:
			text += " (would die)"
		case v.Outcome == chaosv1.VictimPending:
		case v.Reason != "":
			text += " (" + string(v.Outcome) + ": " + v.Reason + ")"
		case v.BlockedBy != "":
			text += " (" + string(v.Outcome) + ": " + v.BlockedBy + ")"
		default:
			text += " (" + string(v.Outcome) + ")"
		}
		all = append(all, text)
	}
	return events.Summarize(all)
}

// misconfiguredText names the pods that the eviction API could not decide about.
func (r *run) misconfiguredText() string {
	var names []string
	for _, v := range r.status.CurrentRun.Victims {
		if isMisconfigured(v) {
			names = append(names, v.Name)
		}
	}
	return "the eviction API cannot decide about pod " + strings.Join(names[:min(len(names), maxNamed)], ", ") + ": more than one PodDisruptionBudget matches"
}

// deadCount returns how many victims were killed.
func (r *run) deadCount() int {
	n := 0
	for i := range r.status.CurrentRun.Victims {
		if rules.IsDead(r.status.CurrentRun.Victims[i].Outcome) {
			n++
		}
	}
	return n
}

func isPending(v chaosv1.Victim) bool { return v.Outcome == chaosv1.VictimPending }

func isMisconfigured(v chaosv1.Victim) bool {
	return v.Reason == chaosv1.ReasonEvictionMisconfigured && v.Outcome == chaosv1.VictimFailed
}
