// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	chaosv1 "github.com/fairlead-dev/fairlead/api/chaos/v1"
	"github.com/fairlead-dev/fairlead/controllers/internal/requestcount"
)

// Decision is the result of Decide.
type Decision struct {
	// Status is the new status, with its conditions. It must be stored before any of Actions is done.
	Status chaosv1.ChaosPodStatus
	// Actions to do once Status is stored, in order.
	Actions []Action
	// Messages are about what happened, in order, each once.
	Messages []Message
	// RequeueAt is when to decide again without a change; zero for never.
	RequeueAt time.Time
	// WaitsForOthers means that a run waits for a slot of the cluster, or for workloads that other objects disrupt,
	// which are in WaitsFor.
	WaitsForOthers bool
	WaitsFor       []types.UID
}

// Verb names the operation of an Action.
type Verb string

// The verbs of an Action.
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

// Outcome is the outcome of an Action.
type Outcome string

// The outcomes of an Action.
const (
	// Done means that the API server accepted it.
	Done Outcome = "Done"
	// Blocked was refused by a disruption budget.
	Blocked Outcome = "Blocked"
	// Misconfigured cannot be decided by the API server, as for a pod with two disruption budgets.
	Misconfigured Outcome = "Misconfigured"
	// Refused is not allowed to us, or refused by admission or as invalid.
	Refused Outcome = "Refused"
	// Gone means that no pod of that name has that UID.
	Gone Outcome = "Gone"
	// Retry failed for now, or its result is unknown. The next decision repeats it.
	Retry Outcome = "Again"
)

// Result is the result of an Action.
type Result struct {
	Action  Action
	Outcome Outcome
	// Budget names the PodDisruptionBudget that blocked an eviction. It is empty if unknown.
	Budget string
	// Reason of Refused, as of the condition Ready. Defaults to Forbidden.
	Reason string
}

// Message is the content of an event about the ChaosPod, and about the pod and its owner where it names them.
type Message struct {
	// Reason is the reason of the Event.
	Reason  string
	Warning bool
	// Victim of the event, with its owner; nil for none.
	Victim *chaosv1.Victim
	Text   string
	// Ended is set for a run that has ended, for metrics.
	Ended *chaosv1.Run
}

// Observation is the input of Decide besides metadata, spec and status.
type Observation struct {
	// Now is the time. Status holds whole seconds; Now need not.
	Now time.Time
	// Schedule is the parsed schedule of the spec, from ScheduleOf. If nil, Decide parses the spec.
	Schedule *Schedule
	// BlockedBy is why nothing may be done for this object at all: the reason is InvalidSpec or
	// Forbidden. It is zero when normal. A run under way is still verified.
	BlockedBy Obstacle
	// Refused is why an action was refused that is tried again: conditions keep it meanwhile. It is zero when normal.
	Refused Obstacle
	// Missing is why there is no target, as the text of a message such as "Deployment api does not
	// exist". It is empty where the target exists, and for target.template.
	Missing string
	// Unknown is why the target cannot be read, as the text of a message: nothing is killed. Owners may
	// then lack some.
	Unknown string
	// Cached means that it was read from a cache, which lacks facts of pods: they are taken for what allows a kill. The
	// decision shows only whether to observe from the API server; no action of it is done.
	Cached bool
	// Suspect means that so many checks fail at once that the operator itself is probably at fault.
	Suspect bool
	// Owners are the owners of the target's pods, each once: the Deployment itself and not its
	// ReplicaSet. Those of the victims of the run under way belong here too, whether the spec still
	// names them or not. It is empty for target.template.
	Owners []Owner
	// Canary is the pod of target.template; nil for other targets.
	Canary *Canary
	// Others are the disruptions outside this object that count.
	Others Others
	// Requests are those of verification.probes for the run under way, as far as they are observed.
	Requests []requestcount.Requests
	// WithoutProbes means that no request may be sent: the ChaosPod is invalid or has no approval. A run under way is then
	// verified without.
	WithoutProbes bool
}

// Obstacle is a reason and a message of a condition.
type Obstacle struct{ Reason, Message string }

// Others summarizes the disruptions of other objects in the ledger.
type Others struct {
	// Free is how many more workloads the cluster and the namespace may have disrupted; what this object claims has
	// been subtracted already.
	Free int
	// Full is why there is no room, as the text of a message.
	Full string
	// Disrupted are the workloads that a RebootPolicy or another ChaosPod disrupts.
	Disrupted map[types.UID]bool
}

// Owner is the owner of pods. No run kills two pods of one owner.
type Owner struct {
	Kind string
	Name string
	UID  types.UID
	// Desired is how many pods it should have.
	Desired int32
	// Unstable is why it is not stable, as the text of a message such as "rolls out"; empty while its
	// controller has seen its latest spec and every pod is of the latest revision.
	Unstable string
	// Fault is which fault is injected on purpose into what it depends on, as the text of a message;
	// empty for none.
	Fault string
	// Mistake is a sentence about an invalid dependency annotation. It is empty if there is none.
	Mistake string
	// MinReady is how long a pod must be ready to count as available.
	MinReady time.Duration
	// Unknown is why something about it cannot be read, as the text of a message: none of its pods
	// is killed, and it does not count as recovered.
	Unknown string
	// Pods are all that it has, and that have not finished. Those of pending victims must be as the
	// API server has them, not as a cache does.
	Pods []Pod
}

// Pod is one pod of an owner.
type Pod struct {
	Name   string
	UID    types.UID
	Node   string
	Labels map[string]string
	// Created is the pod's creationTimestamp.
	Created time.Time
	// Running means that its phase is Running.
	Running bool
	// ReadySince is when it last became ready; zero while it is not.
	ReadySince time.Time
	// Terminating means that it is being deleted, and Ends when its grace period is over. Finalizer is the first of its finalizers then:
	// it exists until they are gone.
	Terminating bool
	Ends        time.Time
	Finalizer   string
	// Selected means that the target takes it: target.selector need not match all pods of an owner.
	Selected bool
	// Protected: it must not be killed, such as a static or mirror pod.
	Protected Fact
	// Cordoned: its node is cordoned, or is being emptied.
	Cordoned Fact
	// Covered: a PodDisruptionBudget covers it.
	Covered Fact
}

// Fact is a boolean that may be unknown.
type Fact int8

// The values of a Fact. What is Unknown is never killed for.
const (
	Unknown Fact = iota
	True
	False
)

// FactOf returns a fact that is known.
func FactOf(is bool) Fact {
	if is {
		return True
	}
	return False
}

// Canary is the pod that has the canary's name.
type Canary struct {
	// Unknown is why it cannot be read, as the text of a message; nothing is done then.
	Unknown string
	// Pod is nil where there is none.
	Pod *Pod
	// Foreign means that the ChaosPod does not control it.
	Foreign bool
	// Hash is the value of TemplateHashLabel.
	Hash string
	// Unschedulable is why no node takes it, in the words of the scheduler; empty if one does.
	Unschedulable string
	// Finished means that its phase is Succeeded or Failed.
	Finished bool
}
