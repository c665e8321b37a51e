// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package chaos

// State is the state of a ChaosPod. It is derived from the status, never stored.
type State string

// The states of a ChaosPod.
const (
	// Idle: no run is under way.
	Idle State = "Idle"
	// Planned: the victims of a run are stored in the status; none may have been killed yet.
	Planned State = "Planned"
	// Killing: the API server has answered for some of the victims.
	Killing State = "Killing"
	// Verifying: the owners of the killed pods must recover.
	Verifying State = "Verifying"
	// Halted: no run starts until a user acts.
	Halted State = "Halted"
)

// Event is a cause of a ChaosPod's transition from one state to another.
type Event string

// The events of a ChaosPod.
const (
	// Start: a run is due, nothing holds it, and there is a pod to kill.
	Start Event = "Start"
	// Skipped: a run was due and no pod could be chosen.
	Skipped Event = "Skipped"
	// Answered: the API server has decided about some victim.
	Answered Event = "Answered"
	// Killed: every victim is decided, and some were killed. NoneKilled: none was. Failed: none was,
	// though there were victims.
	Killed     Event = "Killed"
	NoneKilled Event = "NoneKilled"
	Failed     Event = "Failed"
	// DryRunEnded: all victims of a dry run are decided.
	DryRunEnded Event = "DryRunEnded"
	// EvictionMisconfigured: the eviction API can decide about no workload of the target. The run ends, and the
	// ChaosPod halts.
	EvictionMisconfigured Event = "EvictionMisconfigured"
	// Recovered: all owners have as many ready pods as before.
	Recovered Event = "Recovered"
	// TimedOut: an owner has not recovered in time, with onFailure Halt; TimedOutTolerated: with
	// Continue.
	TimedOut          Event = "TimedOut"
	TimedOutTolerated Event = "TimedOutTolerated"
	// ProbesFailed: the owners have recovered, and too many requests of verification.probes failed, with onFailure Halt;
	// ProbesFailedTolerated: with Continue.
	ProbesFailed          Event = "ProbesFailed"
	ProbesFailedTolerated Event = "ProbesFailedTolerated"
	// TargetGone: an owner is deleted or scaled down, so that the run proves nothing.
	TargetGone Event = "TargetGone"
	// HaltEnded: a user ended the halt.
	HaltEnded Event = "HaltEnded"
)

// Transition is one row of the table.
type Transition struct {
	From  []State
	Event Event
	To    State
	do    func(*run, occurrence)
}

// Transitions returns all transitions: an event that has no row for a state does nothing in it.
func Transitions() []Transition {
	open := []State{Planned, Killing}
	return []Transition{
		{[]State{Idle}, Start, Planned, (*run).plan},
		{[]State{Idle}, Skipped, Idle, (*run).skipped},

		{[]State{Planned}, Answered, Killing, (*run).answered},
		{open, Killed, Verifying, (*run).killed},
		{open, NoneKilled, Idle, (*run).noneKilled},
		{open, Failed, Idle, (*run).failed},
		{open, DryRunEnded, Idle, (*run).dryRunEnded},
		{[]State{Killing}, EvictionMisconfigured, Halted, (*run).evictionMisconfigured},

		{[]State{Verifying}, Recovered, Idle, (*run).recovered},
		{[]State{Verifying}, TimedOut, Halted, (*run).timedOut},
		{[]State{Verifying}, TimedOutTolerated, Idle, (*run).unrecovered},
		{[]State{Verifying}, ProbesFailed, Halted, (*run).probesFailedAndHalted},
		{[]State{Verifying}, ProbesFailedTolerated, Idle, (*run).endedByProbes},
		{[]State{Verifying}, TargetGone, Idle, (*run).failed},

		{[]State{Halted}, HaltEnded, Idle, (*run).haltEnded},
	}
}
