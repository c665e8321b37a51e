// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	chaosv1 "github.com/fairlead-dev/fairlead/api/chaos/v1"
	"github.com/fairlead-dev/fairlead/internal/text"
)

// The bounds of what the status holds.
const (
	maxToken   = 256
	maxMessage = 512
	maxName    = 253
	// maxNamed is how many names one message lists.
	maxNamed = 3
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
	p.Status.DeepCopyInto(&r.status)
	if ahead := r.correctFutureTimes(); ahead > 0 {
		r.addMessage(Message{Reason: "ClockSkew", Warning: true, Text: fmt.Sprintf(
			"a time in the status is %s in the future, and counts as now: the clock of this replica is behind that of an earlier one, or was set back", ahead.Round(time.Second))})
	}
	r.countDay()
	return r
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

// Record adds the results of actions to the status. p has the status that was stored before they were done; it is not
// changed. RequeueAt is when something is to be tried again, besides that of Decide.
//
// Results that are not recorded, because the process ended or the write failed, are found again by Decide, from the
// pods that are left.
func Record(p *chaosv1.ChaosPod, results []Result, now time.Time) Decision {
	return newRun(p, Observation{Now: now}).recordAll(results)
}

func (r *run) recordAll(results []Result) Decision {
	for _, result := range results {
		if result.Outcome == Retry || result.Action.RunID == "" && result.Outcome != Done {
			r.requeueAt(r.now.Add(retryInterval))
			continue
		}
		c := r.status.CurrentRun
		if c == nil || c.ID != result.Action.RunID {
			continue
		}
		i := slices.IndexFunc(c.Victims, func(v chaosv1.Victim) bool {
			return v.UID == result.Action.UID && v.Outcome == chaosv1.VictimPending
		})
		if i >= 0 {
			r.recordOne(&c.Victims[i], result)
			r.apply(occurrence{event: Answered})
		}
	}
	if state := r.state(); state == Planned || state == Killing {
		if o, ok := r.nextKillEvent(); ok && r.missingVictims() <= 0 {
			r.apply(o)
		} else {
			r.requeueAt(r.now.Add(retryInterval))
		}
	}
	r.setRunConditions()
	return r.decision()
}

func (r *run) recordOne(v *chaosv1.Victim, result Result) {
	switch result.Outcome {
	case Done:
		outcome, reason := chaosv1.VictimEvicted, "PodEvicted"
		if result.Action.Verb == Delete {
			outcome, reason = chaosv1.VictimDeleted, "PodDeleted"
		}
		if result.Action.DryRun {
			v.Outcome = chaosv1.VictimDryRun
			return
		}
		r.recordDeath(v, outcome)
		r.addMessage(Message{Reason: reason, Victim: v.DeepCopy(), Text: "run " + result.Action.RunID + " killed pod " + v.Name + " on node " + v.Node})
	case Gone:
		r.recordDeath(v, chaosv1.VictimGone)
	case Blocked:
		v.Outcome, v.BlockedBy = chaosv1.VictimSkippedDisruptionBudget, text.Truncate(result.Budget, maxName)
		message := "a PodDisruptionBudget keeps pod " + v.Name + " alive"
		if v.BlockedBy != "" {
			message = "PodDisruptionBudget " + v.BlockedBy + " keeps pod " + v.Name + " alive"
		}
		r.addMessage(Message{Reason: "ChaosBlockedByBudget", Victim: v.DeepCopy(), Text: message})
	case Misconfigured:
		v.Outcome, v.Reason = chaosv1.VictimFailed, chaosv1.ReasonEvictionMisconfigured
	case Forbidden:
		v.Outcome, v.Reason = chaosv1.VictimFailed, cmp.Or(result.Reason, chaosv1.ReasonForbidden)
	}
}

// stampOf returns a time as the status holds it.
func stampOf(t time.Time) metav1.Time { return metav1.NewTime(t.UTC().Truncate(time.Second)) }
