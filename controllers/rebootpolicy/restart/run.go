// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package restart

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
)

// The bounds of the status' schema.
const (
	maxTargets     = 100
	maxBaselines   = 64
	maxRecent      = 100
	maxHistory     = 50
	maxFingerprint = 128
	maxToken       = 256
	maxRecord      = 512
	maxName        = 253
)

// maxNamed is how many things of a kind one message names.
const maxNamed = 3

// run is one decision in the making.
type run struct {
	settings
	policy *autorebootv1.RebootPolicy
	seen   Observation
	now    time.Time
	stamp  metav1.Time
	table  []Transition
	// passed is told of each transition, in tests.
	passed func(*run, *target, State, Event, State)

	status    autorebootv1.RebootPolicyStatus
	targets   []target
	workloads map[autorebootv1.RestartTarget]*Workload

	notices []Notice
	again   time.Time
	started int
	waits   bool
	// answered says that a restart which RestartNow had asked for was verified, or not needed.
	answered bool
	// fired and moved are the triggers that asked for a restart, and those whose sources changed.
	fired, moved map[string]bool
	// settles is when what a trigger has seen counts.
	settles map[string]time.Time
	// blind says in one word why a trigger cannot be observed.
	blind   map[string]string
	waiting waiting
}

// target is a workload's place in the status, and the workload where it exists.
type target struct {
	*autorebootv1.TargetStatus
	workload *Workload
	// signals of the workload that count, in order.
	signals []*Signal
	// asks is what they ask for, where it is not in flight.
	asks request
	// fresh says that it is seen for the first time.
	fresh bool
}

// occurrence is an event with what there is to say about it.
type occurrence struct {
	event    Event
	reason   string
	message  string
	triggers []string
	// news are triggers that did not ask before, lost those that do not ask any more.
	news, lost []string
	// changed is when one last asked again.
	changed    time.Time
	generation int64
}

func newRun(p *autorebootv1.RebootPolicy, o Observation) *run {
	r := &run{
		settings: settingsOf(p), policy: p, seen: o, now: o.Now,
		stamp: metav1.NewTime(o.Now.UTC().Truncate(time.Second)), table: Transitions(),
		workloads: map[autorebootv1.RestartTarget]*Workload{},
		fired:     map[string]bool{}, moved: map[string]bool{}, blind: map[string]string{},
		settles: map[string]time.Time{},
	}
	p.Status.DeepCopyInto(&r.status)
	for i := range o.Workloads[:min(len(o.Workloads), maxTargets)] {
		w := &o.Workloads[i]
		r.workloads[nameOf(w.Kind, w.Name)] = w
	}
	return r
}

func nameOf(kind autorebootv1.TargetKind, name string) autorebootv1.RestartTarget {
	return autorebootv1.RestartTarget{Kind: kind, Name: name}
}

func (t *target) id() autorebootv1.RestartTarget { return nameOf(t.Kind, t.Name) }

// owed says that the pending restart is the retry of one that failed: it was asked for before the
// latest one ended. What asks later is a new request.
func (t *target) owed() bool {
	return t.Pending != nil && t.LastRestartTime != nil && !t.Pending.Since.After(t.LastRestartTime.Time)
}

// first says that others wait for this one, whatever their wave: it failed, and is to be tried again
// before anything else is risked.
func (r *run) first(t *target) bool { return r.haltOnFailure && t.owed() }

func (r *run) flight(id autorebootv1.RestartTarget) *autorebootv1.InFlightRestart {
	for i := range r.status.InFlight {
		if f := &r.status.InFlight[i]; nameOf(f.Kind, f.Name) == id {
			return f
		}
	}
	return nil
}

func (r *run) stateOf(t *target) State {
	if f := r.flight(t.id()); f != nil {
		return State(f.Phase)
	}
	switch {
	case r.status.Halt != nil && r.status.Halt.Target == t.id():
		return Halted
	case t.owed():
		return BackingOff
	case t.Pending != nil:
		return Pending
	case t.Attempts > r.maxAttempts:
		return GivenUp
	default:
		return Idle
	}
}

// apply does what the table says, and nothing where it says nothing.
func (r *run) apply(t *target, o occurrence) {
	from := r.stateOf(t)
	for _, row := range r.table {
		if row.Event != o.event || !slices.Contains(row.From, from) {
			continue
		}
		row.do(r, t, o)
		if r.passed != nil {
			r.passed(r, t, from, o.event, row.To)
		}
		return
	}
}

func (r *run) look(at time.Time) {
	if at.After(r.now) && (r.again.IsZero() || at.Before(r.again)) {
		r.again = at
	}
}

func (r *run) tell(n Notice) { r.notices = append(r.notices, n) }

func (r *run) decision() Decision {
	return Decision{Status: r.status, Notices: r.notices, Again: r.again, Waits: r.waits}
}
