// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	chaosv1 "github.com/fairlead-dev/fairlead/api/chaos/v1"
)

// The bounds of what the status holds.
const (
	maxToken   = 256
	maxMessage = 512
	maxName    = 253
	// maxNamed is how many things of a kind one message names.
	maxNamed = 3
)

// run is one decision in the making.
type run struct {
	settings
	p         *chaosv1.ChaosPod
	observed  Observation
	schedule  *Schedule
	now       time.Time
	timestamp metav1.Time
	table     []Transition
	// onTransition is told of each transition, in tests.
	onTransition func(*run, State, Event, State)

	status chaosv1.ChaosPodStatus
	owners []Owner
	// day is the day of UTC that counts, and killed how many have died on it.
	day         string
	killedToday int32

	held           *hold
	actions        []Action
	messages       []Message
	requeue        time.Time
	waitsForOthers bool
	waitsFor       []Owner
}

// hold is why a run that is due may not begin, and until when; zero for not known.
type hold struct {
	reason, message string
	until           time.Time
}

// occurrence is an event with what there is to say about it.
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
	r.correctFutureTimes()
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

// apply does what the table says, and nothing where it says nothing.
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

// owner finds one by what a victim remembers; nil where it is gone.
func (r *run) owner(v *chaosv1.Victim) *Owner {
	for i := range r.owners {
		if v.Owner != nil && r.owners[i].UID == v.Owner.UID {
			return &r.owners[i]
		}
	}
	return nil
}

// isUnknown says that nothing is known of a victim's owner.
func (r *run) isUnknown(owner *Owner) bool {
	if owner == nil {
		return r.observed.Unknown != ""
	}
	return owner.Unknown != ""
}

func clip(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most-3], "") + "..."
}
