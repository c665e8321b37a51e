// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package restart

// State is the state of one target. It is derived from the status, never stored.
type State string

// The states of a target.
const (
	// Idle: nothing asks for a restart.
	Idle State = "Idle"
	// Pending: a restart is asked for, and waits until it is admitted.
	Pending State = "Pending"
	// BackingOff: a restart failed, and waits for its retry.
	BackingOff State = "BackingOff"
	// Planned: the restart is stored in the status; the workload may or may not have been changed.
	Planned State = "Planned"
	// RollingOut: the workload's controller replaces the pods.
	RollingOut State = "RollingOut"
	// Evicting: pods are evicted one after the other.
	Evicting State = "Evicting"
	// Soaking: the restarted workload is observed for verification.soak.
	Soaking State = "Soaking"
	// GivenUp: restarts failed too often; none starts until a trigger fires again.
	GivenUp State = "GivenUp"
	// Halted: the target halted the policy until a user acts, or its content changes.
	Halted State = "Halted"
)

// Event is a cause of a target's transition from one state to another.
type Event string

// The events of a target.
const (
	// Fired: a trigger asks for a restart that did not before, or asks again.
	Fired Event = "Fired"
	// PartlyRecovered: some of the triggers do not ask any more. Recovered: none does.
	PartlyRecovered Event = "PartlyRecovered"
	Recovered       Event = "Recovered"
	// Expired: the last trigger that asked has passed its deadline.
	Expired Event = "Expired"
	// Superseded: all pods are newer than what they would be restarted for.
	Superseded Event = "Superseded"
	// Held: the reason to wait is another than before.
	Held Event = "Held"
	// Start: every check admits the restart.
	Start Event = "Start"
	// OverLimit: one more restart would exceed spec.limit.
	OverLimit Event = "OverLimit"
	// Annotated: the pod template carries the restart's id.
	Annotated Event = "Annotated"
	// EvictionStarted: evictions were requested.
	EvictionStarted Event = "EvictionStarted"
	// StartRefused: the API server refused to begin the restart. RetryRefused: the same of the retry of a failed restart.
	StartRefused Event = "StartRefused"
	RetryRefused Event = "RetryRefused"
	// PodsReplaced: every pod is new and available.
	PodsReplaced Event = "PodsReplaced"
	// Verified: the soak is over.
	Verified Event = "Verified"
	// Failed: the restart was not verified, and is tried again.
	Failed Event = "Failed"
	// FailedAndGivenUp is the last failure with onFailure Continue, FailedAndHalted the one with Halt.
	FailedAndGivenUp Event = "FailedAndGivenUp"
	FailedAndHalted  Event = "FailedAndHalted"
	// ProbesFailed: too many requests failed, and all pods are new: it is not tried again. ProbesFailedAndHalted is the same
	// with onFailure Halt.
	ProbesFailed          Event = "ProbesFailed"
	ProbesFailedAndHalted Event = "ProbesFailedAndHalted"
	// NodeLost: the rollout waits for nothing but pods that can neither become ready nor end.
	NodeLost Event = "NodeLost"
	// Reverted: the workload's owner removed the annotation.
	Reverted Event = "Reverted"
	// TargetGone: the workload is deleted, or another one has its name.
	TargetGone Event = "TargetGone"
	// Unselected: the policy does not select the workload any more, and its restart was not done or has timed out.
	Unselected Event = "Unselected"
	// Corrected: what the target is owed is other content than that for which its restart failed. CorrectedAnew: the same where
	// that restart is not tried again.
	Corrected     Event = "Corrected"
	CorrectedAnew Event = "CorrectedAnew"
	// AttemptsReset: the target was healthy for long enough that its failures do not count any more.
	AttemptsReset Event = "AttemptsReset"
	// HaltEnded: a user ended the halt. HaltEndedRetry: the same while the retry of a failed restart is
	// pending. HaltEndedIdle: the same without a trigger that asks for a restart.
	HaltEnded      Event = "HaltEnded"
	HaltEndedRetry Event = "HaltEndedRetry"
	HaltEndedIdle  Event = "HaltEndedIdle"
)

// Stay as Transition.To leaves the state as it is.
const Stay State = ""

// Transition is one row of the table.
type Transition struct {
	From  []State
	Event Event
	To    State
	do    func(*run, *target, occurrence)
}

// Transitions returns all transitions: an event that has no row for a state does nothing in it.
func Transitions() []Transition {
	inFlight := []State{Planned, RollingOut, Evicting, Soaking}
	return []Transition{
		{[]State{Idle, GivenUp}, Fired, Pending, (*run).fire},
		{[]State{Pending, BackingOff, Halted}, Fired, Stay, (*run).fire},
		{[]State{Pending, BackingOff, Halted}, PartlyRecovered, Stay, (*run).partlyRecovered},
		{[]State{Pending, BackingOff}, Recovered, Idle, (*run).recovered},
		{[]State{Halted}, Recovered, Stay, (*run).recovered},
		{[]State{Idle, Pending, BackingOff}, Expired, Idle, (*run).expire},
		{[]State{GivenUp, Halted}, Expired, Stay, (*run).expire},
		{[]State{Pending, BackingOff}, Superseded, Idle, (*run).supersede},
		{[]State{Pending, BackingOff, Halted}, Held, Stay, (*run).hold},
		{[]State{Pending, BackingOff}, OverLimit, Halted, (*run).overLimit},
		{[]State{Pending, BackingOff}, Start, Planned, (*run).plan},

		{[]State{Planned}, Annotated, RollingOut, (*run).annotated},
		{[]State{Planned}, EvictionStarted, Evicting, (*run).evicting},
		{[]State{Planned}, StartRefused, Pending, (*run).refused},
		{[]State{Planned}, RetryRefused, BackingOff, (*run).refused},
		{[]State{RollingOut, Evicting}, PodsReplaced, Soaking, (*run).soak},
		{[]State{Soaking}, Verified, Idle, (*run).verified},

		{inFlight, Failed, BackingOff, (*run).failed},
		{inFlight, FailedAndGivenUp, GivenUp, (*run).failedAndGivenUp},
		{inFlight, FailedAndHalted, Halted, (*run).failedAndHalted},
		{[]State{Soaking}, ProbesFailed, Idle, (*run).ended},
		{[]State{Soaking}, ProbesFailedAndHalted, Halted, (*run).endedAndHalted},
		{[]State{RollingOut}, NodeLost, Idle, (*run).ended},
		{[]State{RollingOut, Soaking}, Reverted, Halted, (*run).reverted},
		{inFlight, TargetGone, Idle, (*run).targetGone},
		{[]State{Planned, RollingOut, Evicting}, Unselected, BackingOff, (*run).unselected},

		{[]State{BackingOff}, Corrected, Stay, (*run).corrected},
		{[]State{Halted}, Corrected, BackingOff, (*run).corrected},
		{[]State{Halted}, CorrectedAnew, Pending, (*run).corrected},

		{[]State{Idle, GivenUp}, AttemptsReset, Idle, (*run).attemptsReset},
		{[]State{Halted}, HaltEnded, Pending, (*run).haltEnded},
		{[]State{Halted}, HaltEndedRetry, BackingOff, (*run).haltEnded},
		{[]State{Halted}, HaltEndedIdle, Idle, (*run).haltEnded},
	}
}
