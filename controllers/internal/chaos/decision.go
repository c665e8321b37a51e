// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	chaosv1 "github.com/fairlead-dev/fairlead/api/chaos/v1"
)

// Decision is what follows from an Observation.
type Decision struct {
	// Status is the new status, with its conditions. It must be stored before any of Actions is done.
	Status chaosv1.ChaosPodStatus
	// Actions to do once Status is stored, in order.
	Actions []Action
	// Messages tell people what happened, in order. Each is told once.
	Messages []Message
	// RequeueAt is when to decide once more though nothing changed; zero for never.
	RequeueAt time.Time
	// WaitsForOthers says that a run waits for a slot of the cluster, or for workloads that others disrupt.
	// WaitsFor are the latter.
	WaitsForOthers bool
	WaitsFor       []types.UID
}

// Verb is what an Action does.
type Verb string

// What an Action does.
const (
	// Evict asks the eviction API, and Delete deletes the pod. Both demand the pod's UID.
	Evict  Verb = "Evict"
	Delete Verb = "Delete"
	// CreateCanary makes the pod of target.template, with Action.Hash as its TemplateHashLabel.
	CreateCanary Verb = "CreateCanary"
	// DeleteCanary deletes one that has finished, or that is of an older template. It demands the UID.
	DeleteCanary Verb = "DeleteCanary"
)

// Action is one thing to do.
type Action struct {
	Verb Verb
	// RunID is of the run; empty for the canary's.
	RunID string
	// Pod and UID are the pod's; empty for CreateCanary.
	Pod string
	UID types.UID
	// DryRun asks the API server whether it would, by dryRun=All.
	DryRun bool
	// GracePeriodSeconds is nil for the pod's own.
	GracePeriodSeconds *int64
	// Hash is the template's, for CreateCanary.
	Hash string
}

// Outcome is what came of an Action.
type Outcome string

// What comes of an Action.
const (
	// Done says that the API server accepted it.
	Done Outcome = "Done"
	// Blocked was refused by a disruption budget.
	Blocked Outcome = "Blocked"
	// Misconfigured cannot be decided by the API server, as for a pod with two disruption budgets.
	Misconfigured Outcome = "Misconfigured"
	// Forbidden is not allowed to us, or refused by admission.
	Forbidden Outcome = "Forbidden"
	// Gone says that no pod of that name has that UID.
	Gone Outcome = "Gone"
	// Retry failed for now, or it is not known whether it failed: the next decision repeats it.
	Retry Outcome = "Again"
)

// Result is an Action that was tried.
type Result struct {
	Action  Action
	Outcome Outcome
	// Budget is the PodDisruptionBudget that Blocked an eviction; empty where it is not known.
	Budget string
}

// Message is something that people are told, as an event about the ChaosPod, and about the pod and its
// owner where it names them.
type Message struct {
	// Reason is one of ChaosPlanned, ChaosHeld, ChaosMissed, ChaosBlockedByBudget, PodEvicted,
	// PodDeleted, ChaosDryRun, Recovered, RecoveryFailed, RunFailed, AutoSuspended, Resumed.
	Reason  string
	Warning bool
	// Victim that it is about, with its owner; nil where it is about none.
	Victim *chaosv1.Victim
	// Text is our own words, and names.
	Text string
	// Ended is set for a run that has ended: it goes into the metrics.
	Ended *chaosv1.Run
}
