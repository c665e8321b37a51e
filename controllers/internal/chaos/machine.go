// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package chaos

// State is how far a ChaosPod has come. It is read off the status, never stored.
type State string

// The states of a ChaosPod.
const (
	// Idle has no run under way.
	Idle State = "Idle"
	// Planned has a run whose victims are stored, and may or may not have been touched.
	Planned State = "Planned"
	// Killing has an answer for some of them.
	Killing State = "Killing"
	// Verifying waits for the owners of those that died.
	Verifying State = "Verifying"
	// Halted starts no run until a human acts.
	Halted State = "Halted"
)

// Event is what happens to a ChaosPod.
type Event string

// The events of a ChaosPod.
const (
	// Start says that a run is due, that nothing forbids it, and that there is a pod to kill.
	Start Event = "Start"
	// Passed says that a run was due and that no pod could be chosen.
	Passed Event = "Passed"
	// Answered says that the API server has decided on some victim.
	Answered Event = "Answered"
	// Struck says that every victim is decided on, and that some died. Unharmed says that none did, and
	// Failed that this was not for want of victims.
	Struck   Event = "Struck"
	Unharmed Event = "Unharmed"
	Failed   Event = "Failed"
	// Rehearsed says that all victims of a dry run are decided on.
	Rehearsed Event = "Rehearsed"
	// Confused says that the eviction API could not decide: the run is over, and the ChaosPod halts.
	Confused Event = "Confused"
	// Recovered says that all owners have as many ready pods as before.
	Recovered Event = "Recovered"
	// TimedOut says that one has not, in time, with onFailure Suspend; Tolerated with Continue.
	TimedOut  Event = "TimedOut"
	Tolerated Event = "Tolerated"
	// Vanished says that an owner is gone, so that nothing is proven.
	Vanished Event = "Vanished"
	// Resumed says that a human acted.
	Resumed Event = "Resumed"
)

// Transition is one row of the table.
type Transition struct {
	From  []State
	Event Event
	To    State
	do    func(*run, occurrence)
}

// Transitions is the life of runs: what is not here does not happen.
func Transitions() []Transition {
	open := []State{Planned, Killing}
	return []Transition{
		{[]State{Idle}, Start, Planned, (*run).plan},
		{[]State{Idle}, Passed, Idle, (*run).passed},

		{[]State{Planned}, Answered, Killing, (*run).answered},
		{open, Struck, Verifying, (*run).struck},
		{open, Unharmed, Idle, (*run).unharmed},
		{open, Failed, Idle, (*run).failed},
		{open, Rehearsed, Idle, (*run).rehearsed},
		{[]State{Killing, Verifying}, Confused, Halted, (*run).confused},

		{[]State{Verifying}, Recovered, Idle, (*run).recovered},
		{[]State{Verifying}, TimedOut, Halted, (*run).timedOut},
		{[]State{Verifying}, Tolerated, Idle, (*run).unrecovered},
		{[]State{Verifying}, Vanished, Idle, (*run).vanished},

		{[]State{Halted}, Resumed, Idle, (*run).resumed},
	}
}
