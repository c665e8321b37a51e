// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package restart

import (
	"cmp"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/internal/text"
)

// The limits of the status in the schema.
const (
	maxTargets   = 100
	maxBaselines = 64
	// maxPolicyBaselines is how many all workloads of a policy may have, those that it does not select any more included.
	maxPolicyBaselines = 1000
	maxRecent          = 100
	maxHistory         = 50
	maxFingerprint     = 128
	maxToken           = 256
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
	workloads map[autorebootv1.RestartTarget]*Workload

	messages []Message
	requeue  time.Time
	// started is how many restarts have begun, and released how many slots of the cluster were given back.
	started, released int
	waitsForOthers    bool
	// restartNowDone means that a restart which RestartNow asked for was verified, or not needed.
	restartNowDone bool
	// fired and moved are the triggers that asked for a restart, and those whose sources changed.
	fired, changed map[string]bool
	// settlesAt is when what a trigger has seen counts.
	settlesAt map[string]time.Time
	// unobservable returns in one word why a trigger cannot be observed.
	unobservable   map[string]string
	longestPending longestPending
	// clockSkew is a message about times of the status that were in the future.
	clockSkew string
}

// target is a target of the status, and its workload if it exists.
type target struct {
	*autorebootv1.TargetStatus
	workload *Workload
	// signals of the workload that count, in order.
	signals []*Signal
	// requested is what they ask for, where it is not in flight.
	requested request
	// isNew means that it was not in the status before, isBack that it was there as one that is not selected.
	isNew, isBack bool
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
		workloads: map[autorebootv1.RestartTarget]*Workload{},
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

func targetOf(kind autorebootv1.TargetKind, name string) autorebootv1.RestartTarget {
	return autorebootv1.RestartTarget{Kind: kind, Name: name}
}

func (t *target) id() autorebootv1.RestartTarget { return targetOf(t.Kind, t.Name) }

// retryPending reports whether the pending restart is the retry of one that failed: it was asked for before the
// latest one ended.
func (t *target) retryPending() bool {
	return t.Pending != nil && t.LastRestartTime != nil && !t.Pending.Since.After(t.LastRestartTime.Time)
}

// isRetry is retryPending of a restart in flight.
func isRetry(t *target, f *autorebootv1.InFlightRestart) bool {
	if f.Since == nil { // stored by a version without this field
		return t.Attempts > 0
	}
	return t.LastRestartTime != nil && !f.Since.After(t.LastRestartTime.Time)
}

// isOwed reports whether the baselines have moved already to what the pending restart is for: it failed, or was refused.
func (t *target) isOwed() bool {
	return t.retryPending() || t.Pending != nil && t.Pending.Refusal != nil
}

// owedSince returns after when a pod that is created holds what the pending restart is owed for.
func (t *target) owedSince() time.Time {
	if t.Pending != nil && t.Pending.PodsCreatedBefore != nil {
		return t.Pending.PodsCreatedBefore.Time
	}
	var since time.Time // as a version without this field stored it
	if t.retryPending() {
		since = t.LastRestartTime.Time
	}
	if t.Pending != nil && t.Pending.Refusal != nil {
		since = latest(since, t.Pending.Refusal.Time.Time)
	}
	return since
}

// hasPriority reports whether other targets wait for this one, whatever their wave: it failed, and is tried again
// before anything else is restarted.
func (r *run) hasPriority(t *target) bool { return r.haltOnFailure && t.retryPending() }

func (r *run) inFlight(id autorebootv1.RestartTarget) *autorebootv1.InFlightRestart {
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

func (r *run) addMessage(n Message) { r.messages = append(r.messages, n) }

func (r *run) decision() Decision {
	return Decision{Status: r.status, Messages: r.messages, RequeueAt: r.requeue, WaitsForOthers: r.waitsForOthers, ClockSkew: r.clockSkew}
}

// Record adds the results of actions to the status. p has the status that was stored before they were done; it is not
// changed. RequeueAt is when something is to be tried again, besides that of Decide.
//
// Results that are not recorded, because the process ended or the write failed, are found again by Decide, from the
// annotation on the workload and from the pods that are left.
func Record(p *autorebootv1.RebootPolicy, results []Result, now time.Time) Decision {
	return newRun(p, Observation{Now: now}).recordAll(results)
}

func (r *run) recordAll(results []Result) Decision {
	r.targets = make([]target, len(r.status.Targets))
	for i := range r.status.Targets {
		r.targets[i] = target{TargetStatus: &r.status.Targets[i]}
	}
	for _, result := range inOrder(results) {
		if t, f := r.find(result.Action.ID); f != nil {
			r.recordOne(t, f, result, func(outcome Outcome) bool {
				return slices.ContainsFunc(results, func(other Result) bool {
					return other.Action.ID == result.Action.ID && other.Action.Verb == Evict && other.Outcome == outcome
				})
			})
		}
	}
	r.status.State = policyState(&r.status)
	return r.decision()
}

// inOrder returns first the results of what was done: a restart that has begun cannot be refused any more.
func inOrder(results []Result) []Result {
	ordered := slices.Clone(results)
	slices.SortStableFunc(ordered, func(a, b Result) int {
		switch {
		case a.Outcome == b.Outcome || a.Outcome != Done && b.Outcome != Done:
			return 0
		case a.Outcome == Done:
			return -1
		}
		return 1
	})
	return ordered
}

// recordOne records one result. Others reports whether an eviction of the same restart had an outcome.
func (r *run) recordOne(t *target, f *autorebootv1.InFlightRestart, result Result, others func(Outcome) bool) {
	annotate := result.Action.Verb == Annotate
	switch result.Outcome {
	case Done:
		if annotate {
			generation := result.Generation
			if generation == 0 && result.Action.Workload != nil {
				generation = result.Action.Workload.Generation
			}
			r.apply(t, occurrence{event: Annotated, generation: generation})
			return
		}
		r.apply(t, occurrence{event: EvictionStarted})
		f.BlockedTime, f.BlockedBy = nil, ""
		if f.Refusal != nil && !others(Refused) {
			f.Refusal, f.PhaseTime = nil, r.timestampPtr() // verification.timeout goes on
		}
	case Blocked:
		if annotate {
			r.requeueAt(r.now.Add(retryInterval))
			return
		}
		r.apply(t, occurrence{event: EvictionStarted})
		if f.BlockedTime == nil && !others(Done) {
			f.BlockedTime = r.timestampPtr()
		}
		if f.BlockedTime != nil && result.Budget != "" {
			f.BlockedBy = text.Truncate(result.Budget, maxName)
		}
		r.requeueAt(r.now.Add(blockedInterval))
	case Misconfigured:
		r.apply(t, r.failure(t, autorebootv1.ReasonEvictionMisconfigured))
	case Gone:
		r.apply(t, occurrence{event: TargetGone, reason: autorebootv1.ReasonTargetGone})
	case Refused:
		r.recordRefusal(t, f, result)
	case Retry:
		r.requeueAt(r.now.Add(retryInterval))
	}
}

// recordRefusal has a restart that was not begun wait again, so that it holds no other and no attempt counts. One whose
// first pods are evicted goes on once the API server allows it.
func (r *run) recordRefusal(t *target, f *autorebootv1.InFlightRestart, result Result) {
	o := occurrence{event: StartRefused, reason: cmp.Or(result.Reason, autorebootv1.ReasonWriteRefused), message: result.Message}
	if f.Phase == autorebootv1.PhasePlanned {
		if isRetry(t, f) {
			o.event = RetryRefused
		}
		r.apply(t, o)
	} else {
		r.addRefusedMessage(t, f.Refusal, o)
		f.Refusal, f.BlockedTime, f.BlockedBy = r.refusalOf(o), nil, ""
	}
	r.requeueAt(r.now.Add(refusedInterval))
}

func (r *run) find(id string) (*target, *autorebootv1.InFlightRestart) {
	for i := range r.status.InFlight {
		f := &r.status.InFlight[i]
		if f.ID != id {
			continue
		}
		for j := range r.targets {
			if r.targets[j].id() == targetOf(f.Kind, f.Name) {
				return &r.targets[j], f
			}
		}
		return &target{TargetStatus: &autorebootv1.TargetStatus{Kind: f.Kind, Name: f.Name}}, f
	}
	return nil, nil
}
