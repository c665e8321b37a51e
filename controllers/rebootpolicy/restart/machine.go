// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package restart

// State is where one target stands. It is read off the status, never stored.
type State string

// The states of a target.
const (
	// Idle has nothing to restart for.
	Idle State = "Idle"
	// Pending has, and waits until it may.
	Pending State = "Pending"
	// BackingOff waits for the retry of a restart that failed.
	BackingOff State = "BackingOff"
	// Planned is stored, and the workload may or may not have been touched.
	Planned State = "Planned"
	// RollingOut waits for the workload's controller.
	RollingOut State = "RollingOut"
	// Evicting replaces pod after pod.
	Evicting State = "Evicting"
	// Soaking is watched for a while.
	Soaking State = "Soaking"
	// GivenUp has failed too often, and is left alone until its triggers change.
	GivenUp State = "GivenUp"
	// Halted has halted the policy, until a human acts.
	Halted State = "Halted"
)

// Event is what happens to a target.
type Event string

// The events of a target.
const (
	// Fired says that a trigger asks for a restart that did not before, or asks again.
	Fired Event = "Fired"
	// Eased says that some of the triggers do not ask any more, Recovered that none does.
	Eased     Event = "Eased"
	Recovered Event = "Recovered"
	// Expired says that the last trigger that asked has given up.
	Expired Event = "Expired"
	// Superseded says that all pods are newer than what they would be restarted for.
	Superseded Event = "Superseded"
	// Held says that the reason to wait is another than before.
	Held Event = "Held"
	// Start says that nothing stands against the restart.
	Start Event = "Start"
	// OverLimit says that one more restart would be too many.
	OverLimit Event = "OverLimit"
	// Annotated says that the pod template carries the restart's id.
	Annotated Event = "Annotated"
	// EvictionBegun says that evictions were asked for.
	EvictionBegun Event = "EvictionBegun"
	// Renewed says that every pod is new and available.
	Renewed Event = "Renewed"
	// Verified says that the soak is over.
	Verified Event = "Verified"
	// Failed says that the restart was not verified, and will be tried again.
	Failed Event = "Failed"
	// Abandoned is the last failure with onFailure Continue, FailedForGood the one that halts.
	Abandoned     Event = "Abandoned"
	FailedForGood Event = "FailedForGood"
	// Reverted says that the workload's owner has taken the restart back.
	Reverted Event = "Reverted"
	// Vanished says that the workload is gone, or another one of its name.
	Vanished Event = "Vanished"
	// Rested says that the target was healthy for long enough to forget its failures.
	Rested Event = "Rested"
	// Resumed says that a human acted. ResumedOwing is the same where a failed restart is still
	// owed, and ResumedIdle where nothing is asked for.
	Resumed      Event = "Resumed"
	ResumedOwing Event = "ResumedOwing"
	ResumedIdle  Event = "ResumedIdle"
)

// Stay in place of Transition.To leaves the state as it was.
const Stay State = ""

// Transition is one row of the table.
type Transition struct {
	From  []State
	Event Event
	To    State
	do    func(*run, *target, occurrence)
}

// Transitions is the life of a target's restarts: whatever is not here does not happen.
func Transitions() []Transition {
	inFlight := []State{Planned, RollingOut, Evicting, Soaking}
	return []Transition{
		{[]State{Idle, GivenUp}, Fired, Pending, (*run).fire},
		{[]State{Pending, BackingOff, Halted}, Fired, Stay, (*run).fire},
		{[]State{Pending, BackingOff, Halted}, Eased, Stay, (*run).ease},
		{[]State{Pending, BackingOff}, Recovered, Idle, (*run).recovered},
		{[]State{Halted}, Recovered, Stay, (*run).recovered},
		{[]State{Idle, Pending, BackingOff}, Expired, Idle, (*run).expire},
		{[]State{GivenUp, Halted}, Expired, Stay, (*run).expire},
		{[]State{Pending, BackingOff}, Superseded, Idle, (*run).supersede},
		{[]State{Pending, BackingOff, Halted}, Held, Stay, (*run).hold},
		{[]State{Pending, BackingOff}, OverLimit, Halted, (*run).overLimit},
		{[]State{Pending, BackingOff}, Start, Planned, (*run).plan},

		{[]State{Planned}, Annotated, RollingOut, (*run).annotated},
		{[]State{Planned}, EvictionBegun, Evicting, (*run).evicting},
		{[]State{RollingOut, Evicting}, Renewed, Soaking, (*run).soak},
		{[]State{Soaking}, Verified, Idle, (*run).verified},

		{inFlight, Failed, BackingOff, (*run).failed},
		{inFlight, Abandoned, GivenUp, (*run).abandoned},
		{inFlight, FailedForGood, Halted, (*run).failedForGood},
		{[]State{RollingOut, Soaking}, Reverted, Halted, (*run).reverted},
		{inFlight, Vanished, Idle, (*run).vanished},

		{[]State{Idle, GivenUp}, Rested, Idle, (*run).rested},
		{[]State{Halted}, Resumed, Pending, (*run).resumed},
		{[]State{Halted}, ResumedOwing, BackingOff, (*run).resumed},
		{[]State{Halted}, ResumedIdle, Idle, (*run).resumed},
	}
}
