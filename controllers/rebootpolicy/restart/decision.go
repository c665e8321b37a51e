// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package restart

import (
	"time"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
)

// Decision is what follows from an Observation.
type Decision struct {
	// Status is the new status. Its conditions, observedGeneration and nextAllowedTime are as they
	// were: the caller sets them. It must be stored before any of Actions is done.
	Status autorebootv1.RebootPolicyStatus
	// Actions to do once Status is stored, in order.
	Actions []Action
	// Messages tell people what happened, in order. Each is told once.
	Messages []Message
	// RequeueAt is when to decide again though nothing changed; zero for never.
	RequeueAt time.Time
	// PendingMessage is a sentence on the restart that waits longest, for the condition RestartPending; its
	// reason is the one in Status. It is empty while none waits.
	PendingMessage string
	// WaitsForOthers says that a restart waits for a slot of the group or the cluster, or for a workload that
	// another actor disrupts, and for nothing else.
	WaitsForOthers bool
}

// Verb is what an Action does.
type Verb string

// What an Action does.
const (
	// Annotate puts the restart's id on the pod template. It may be done any number of times.
	Annotate Verb = "Annotate"
	// Evict asks for the eviction of one pod.
	Evict Verb = "Evict"
)

// Action is one thing to do to one workload.
type Action struct {
	Verb     Verb
	ID       string
	Workload *Workload
	Started  time.Time // of the restart, whole seconds
	Pod      *Pod      // to evict
}

// Message is something that people are told, as an event about the policy and the workload.
type Message struct {
	// Reason is one of RestartPlanned, RestartHeld, RestartStarted, RestartVerified, RestartFailed,
	// RestartSuperseded, TriggerFired, TriggerRecovered, TargetReverted, LimitReached.
	Reason  string
	Warning bool
	// Target that it is about.
	Target autorebootv1.RestartTarget
	// Text is our own words, and the names of triggers and workloads: nothing of a source.
	Text string
	// Ended is set for a restart that has ended: it goes into the metrics.
	Ended *autorebootv1.RestartRecord
}

// Outcome is what came of an Action.
type Outcome string

// What comes of an Action.
const (
	// Done also says that there was nothing left to do.
	Done Outcome = "Done"
	// Blocked was refused by a disruption budget.
	Blocked Outcome = "Blocked"
	// Misconfigured cannot be decided by the API server, as for a pod with two disruption budgets.
	Misconfigured Outcome = "Misconfigured"
	// Forbidden is not allowed to us.
	Forbidden Outcome = "Forbidden"
	// Gone says that the workload is not the one that was meant.
	Gone Outcome = "Gone"
	// Retry failed for now, such as by a conflict: the next decision repeats it.
	Retry Outcome = "Again"
)

// Result is an Action that was tried.
type Result struct {
	Action  Action
	Outcome Outcome
	// Generation of the workload after Annotate was Done.
	Generation int64
	// Budget is the PodDisruptionBudget that Blocked an eviction; empty where it is not known.
	Budget string
}
