// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package restart

import (
	"slices"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/api/common"
)

// The limits of the status in the schema.
const (
	maxTargets   = 100
	maxBaselines = 64
	// maxPolicyBaselines is how many all workloads of a policy may have, those that it does not select any more included.
	maxPolicyBaselines = 1000
	maxRecent          = 100
	maxFingerprint     = 128
	maxRecord          = 512
	maxName            = 253
)

// maxNamed is how many names one message lists.
const maxNamed = 3

// run is the state of one call of Decide or Record.
type run struct {
	settings
	policy    *autorebootv1.RebootPolicy
	observed  Observation
	now       time.Time
	timestamp metav1.Time
	table     []Transition
	// onTransition is called with each transition in tests.
	onTransition func(*run, *target, State, Event, State)

	status    autorebootv1.RebootPolicyStatus
	targets   []target
	workloads map[common.WorkloadReference]*Workload

	messages []Message
	requeue  time.Time
	// started is how many restarts have begun, and released how many slots of the cluster were given back.
	started, released int
	waitsForOthers    bool
	// ignoresRestartNow means that RestartNow is not asked for by the annotation, whatever the baselines are.
	ignoresRestartNow bool
	// restartNowDone means that a restart which RestartNow asked for was verified, or not needed.
	restartNowDone bool
	// fired and moved are the triggers that asked for a restart, and those whose sources changed.
	fired, changed map[string]bool
	// settlesAt is when what a trigger has seen counts.
	settlesAt map[string]time.Time
	// unobservable returns in one word why a trigger cannot be observed.
	unobservable map[string]string
	// pendingSince is the time from which the longest-waiting restart waits. pendingMessage describes the cause.
	pendingSince   time.Time
	pendingMessage string
	// clockSkew is a message about times of the status that were in the future.
	clockSkew string
}

// target is a target of the status, and its workload if it exists.
type target struct {
	*autorebootv1.TargetStatus
	workload *Workload
	// signals of the workload that count, in order.
	signals []*Signal
	// requested holds what the signals ask for and is not in flight.
	requested request
	// isBack means that it was in the status before as one that is not selected, and isNew that it was not in the status.
	isBack, isNew bool
	// unapproved means that its restart waits for a person.
	unapproved bool
}

// request holds what the signals of one target ask for.
type request struct {
	// triggers that fire, in order. unobservable are those whose source cannot be read, observed those that can.
	triggers               []string
	unobservable, observed map[string]bool
	// edge means that a trigger with a baseline is among them, level one without, now RestartNow. content means that sources
	// have other content than the baselines: neither a schedule nor a person asks for that.
	edge, level, now, content bool
	// undated means that a source without a time of its last write has changed.
	undated bool
	// dated are the signals with a baseline that fire, written is when the latest of them was written, and
	// fingerprint is a hash of all of them.
	dated       []*Signal
	written     time.Time
	fingerprint string
	// urgent is when the restart may start outside of windows; zero for never.
	urgent time.Time
	// expired are signals whose deadline has passed, skipped are times of a schedule in a suspension or a dry run: a change
	// is owed afterwards, and a time of a schedule is not.
	expired, skipped []*Signal
}

// occurrence is an event with its details.
type occurrence struct {
	event    Event
	reason   string
	message  string
	triggers []string
	// added are triggers that did not ask before, removed those that do not ask any more.
	added, removed []string
	// changed is when one last asked again.
	changed    time.Time
	generation int64
}

func newRun(p *autorebootv1.RebootPolicy, o Observation) *run {
	r := &run{
		settings: settingsOf(p), policy: p, observed: o, now: o.Now,
		timestamp: metav1.NewTime(o.Now.UTC().Truncate(time.Second)), table: Transitions(),
		workloads: map[common.WorkloadReference]*Workload{},
		fired:     map[string]bool{}, changed: map[string]bool{}, unobservable: map[string]string{},
		settlesAt: map[string]time.Time{},
	}
	p.Status.DeepCopyInto(&r.status)
	r.correctFutureTimes()
	for i := range o.Workloads[:min(len(o.Workloads), maxTargets)] {
		w := &o.Workloads[i]
		r.workloads[targetOf(w.Kind, w.Name)] = w
	}
	return r
}

func targetOf(kind common.WorkloadKind, name string) common.WorkloadReference {
	id := common.WorkloadReference{Kind: kind.Name(), Name: name}
	if group := kind.Group(); group != common.AppsGroup {
		id.Group = group
	}
	return id
}

func (t *target) id() common.WorkloadReference { return targetOf(t.Kind, t.Name) }

// retryPending reports whether the pending restart is the retry of one that failed: it was asked for before the
// latest one ended.
func (t *target) retryPending() bool {
	return t.Pending != nil && t.LastRestartTime != nil && !t.Pending.FirstRequestTime.After(t.LastRestartTime.Time)
}

// isPendingFor reports whether a trigger asks for the restart that is pending.
func (t *target) isPendingFor(trigger string) bool {
	return t.Pending != nil && slices.Contains(t.Pending.Triggers, trigger)
}

// isRetry is retryPending of a restart in flight.
func isRetry(t *target, f *autorebootv1.InFlightRestart) bool {
	if f.FirstRequestTime == nil { // stored by a version without this field
		return t.Attempts > 0
	}
	return t.LastRestartTime != nil && !f.FirstRequestTime.After(t.LastRestartTime.Time)
}

// isOwed reports whether the baselines have moved already to what the pending restart is for: it failed, or was refused.
func (t *target) isOwed() bool {
	return t.retryPending() || t.Pending != nil && t.Pending.Refusal != nil
}

// owedSince returns after when a pod that is created holds what the pending restart is owed for.
func (t *target) owedSince() time.Time {
	if t.Pending != nil && t.Pending.PodCutoffTime != nil {
		return t.Pending.PodCutoffTime.Time
	}
	var since time.Time // as a version without this field stored it
	if t.retryPending() {
		since = t.LastRestartTime.Time
	}
	if t.Pending != nil && t.Pending.Refusal != nil {
		since = latest(since, t.Pending.Refusal.LastAttemptTime.Time)
	}
	return since
}

// isUrgent reports whether an urgent trigger asks for a restart.
func (s *settings) isUrgent(triggers []string) bool {
	return slices.ContainsFunc(triggers, func(name string) bool { return s.urgent[name] })
}

// hasPriority reports whether other targets wait for this one, whatever their wave: it failed, and is tried again
// before anything else is restarted.
func (r *run) hasPriority(t *target) bool {
	return r.haltOnFailure && (t.retryPending() || t.isCorrected())
}

func (r *run) inFlight(id common.WorkloadReference) *autorebootv1.InFlightRestart {
	for i := range r.status.InFlight {
		if f := &r.status.InFlight[i]; targetOf(f.Kind, f.Name) == id {
			return f
		}
	}
	return nil
}

func (r *run) stateOf(t *target) State {
	if f := r.inFlight(t.id()); f != nil {
		return State(f.Phase)
	}
	switch {
	case r.status.Halt != nil && r.status.Halt.Target == t.id():
		return Halted
	case t.retryPending():
		return BackingOff
	case t.Pending != nil:
		return Pending
	case t.Attempts > r.maxAttempts:
		return GivenUp
	default:
		return Idle
	}
}

// apply applies the transition of an event, if the table has one.
func (r *run) apply(t *target, o occurrence) {
	from := r.stateOf(t)
	for _, row := range r.table {
		if row.Event != o.event || !slices.Contains(row.From, from) {
			continue
		}
		row.do(r, t, o)
		if r.onTransition != nil {
			r.onTransition(r, t, from, o.event, row.To)
		}
		return
	}
}

func (r *run) requeueAt(at time.Time) {
	if at.After(r.now) && (r.requeue.IsZero() || at.Before(r.requeue)) {
		r.requeue = at
	}
}

func (r *run) timestampPtr() *metav1.Time { stamp := r.timestamp; return &stamp }

func (r *run) addMessage(n Message) { r.messages = append(r.messages, n) }

func (r *run) decision() Decision {
	return Decision{Status: r.status, Messages: r.messages, RequeueAt: r.requeue, WaitsForOthers: r.waitsForOthers, ClockSkew: r.clockSkew}
}

func targetText(id common.WorkloadReference) string { return string(id.Kind) + " " + id.Name }

func triggersText(triggers []string) string {
	if len(triggers) == 1 {
		return "trigger " + triggers[0]
	}
	return "triggers " + strings.Join(triggers, ", ")
}

// firstNames joins the first names of a list, and adds how many more there are.
func firstNames(list []string) string {
	text := strings.Join(list[:min(len(list), maxNamed)], ", ")
	if more := len(list) - maxNamed; more > 0 {
		text += " and " + strconv.Itoa(more) + " more"
	}
	return text
}
