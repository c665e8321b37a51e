// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package restart

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/api/common"
	"github.com/fairlead-dev/fairlead/controllers/internal/requestcount"
	"github.com/fairlead-dev/fairlead/controllers/internal/workloads"
)

// Observation is the input of Decide besides spec and status.
type Observation struct {
	// Now is the time. Status holds whole seconds; Now need not.
	Now time.Time
	// Workloads are the targets that exist, each once, at most 100, ordered by wave, kind and name.
	Workloads []Workload
	// Unselected are workloads of the status that exist and that the policy does not select any more.
	Unselected map[types.UID]bool
	// Gates that are closed, as messages such as `gate db: ExternalService billing-db: condition Healthy is False`.
	Gates []string
	// Calendar of windows and blackouts.
	Calendar Calendar
	// Suspect means that so many checks fail at once that the operator itself is probably at fault.
	Suspect bool
	// Others are the restarts and disruptions of other objects.
	Others Others
	// Requests are those of verification.probes for each restart in flight, by its id, as far as they are observed.
	Requests map[string][]requestcount.Requests
}

// Calendar is the state of windows and blackouts at Observation.Now.
type Calendar struct {
	// Window: inside a window, or there is none.
	Window bool
	// Blackout is the name of one that holds; empty where none does.
	Blackout string
	// NextOpen is when a restart may start next; it is Now while open, and zero for never.
	NextOpen time.Time
	// NextWindow is the name of a window that is open then.
	NextWindow string
	// BlackoutEnds is when a restart that waits for no window may start next; it is Now outside of blackouts.
	BlackoutEnds time.Time
	// Cluster describes the cluster-wide blackout that holds and when it ends, or says why that is unknown. It is the text of a
	// message, and empty if none holds.
	Cluster string
	// Broken means that a window cannot be read: nothing starts.
	Broken bool
}

// Others summarizes the disruptions of other objects in the ledger.
type Others struct {
	// Group is how many restarts of other policies of the same concurrency group are in flight, and do not soak.
	Group int
	// Free is how many more restarts the cluster and the namespace allow; those that the policy has in flight, and that do
	// not soak, are subtracted already.
	Free int
	// Full is why there is no room, as the text of a message.
	Full string
	// Share is how many restarts the policy may have in flight by using the slots of those that end in the same
	// decision: others that wait for a slot of the cluster have no fewer.
	Share int
	// Disrupted are the workloads that another policy or a ChaosPod disrupts.
	Disrupted map[types.UID]bool
	// Lapsed are the workloads in flight that take no room any more: their end makes none.
	Lapsed map[types.UID]bool
}

// Workload is the observed state of one target.
type Workload struct {
	workloads.Workload
	Wave int32
	// Pause is for how long the rollout of a restart is paused, as the workload asks for: what changes meanwhile is rolled out with
	// it. Paused means that the policy has paused it.
	Pause  time.Duration
	Paused bool
	// Pods that the workload owns and that have not finished. Kept are those that a rollout leaves as
	// they are: the ones below a StatefulSet's partition.
	Pods, Kept []Pod
	// Fault is which fault is injected on purpose into what the workload declares that it needs, as a message; empty for
	// none.
	Fault string
	// Missing are the sources that do not exist and without which no new pod starts, such as
	// Secret/shared-creds, as far as anyone has looked.
	Missing []string
	// Signals of the triggers about this workload.
	Signals []Signal
	// Unselected means that the policy does not target the workload any more, and that it is here for
	// its restart in flight alone: without it that restart would end as TargetGone.
	Unselected bool
	// Unread is why the workload, its pods or sources could not be read, as the text of a message; empty where they were. Kind,
	// Name and UID are those of the status then, and what the status has of it stays: nothing starts, ends or is done. The
	// caller decides again once it is read.
	Unread string
	// ReadSince is the time from which it can be read again. It is zero if this process could always read it.
	ReadSince time.Time
	// Unchecked describes what a restart requires and could not be read, as the text of a message: the pods, or the
	// dependencies of new ones. It is empty if everything is known or was not looked for.
	Unchecked string
}

// Pod is one pod of a workload.
type Pod struct {
	Name    string
	UID     types.UID
	Created time.Time // whole seconds
	// Version is the pod's resourceVersion at its creation. AbsentAt is a version at which the pod did not exist yet, and
	// PresentAt one at which it existed. Each is empty if unknown.
	Version, AbsentAt, PresentAt string
	Ready                        bool
	// ReadyChanged is when the pod became ready or unready, by its node's clock. It is zero if unknown.
	ReadyChanged time.Time
	// Terminating means that it is being deleted, and Ends when its grace period is over.
	Terminating bool
	Ends        time.Time
	// Finalizer is the first of a pod that is being deleted: it exists until its finalizers are gone.
	Finalizer string
	// WaitsFor is why it is not ready, in the words of Kubernetes; empty where nothing says so.
	WaitsFor string
	// Node is the node of the pod. Lost describes why the pod can neither become ready nor end there, as the text of a message
	// such as "which is not ready". Lost is empty when normal.
	Node, Lost string
	// Restarts of its containers together, except those of init containers and those of a resize.
	// RestartsBeforeReady are those which may have been before the pod was first ready.
	Restarts, RestartsBeforeReady int32
}

// Signal is the state of one source for one workload, as one trigger sees it. A trigger of several sources has one Signal for
// each.
type Signal struct {
	// Trigger is its name, or autorebootv1.RestartNowTrigger.
	Trigger string
	// Source is such as "Secret/shared-creds"; it is empty where the trigger sees one thing alone.
	Source string

	// Level means that the signal has no memory: Firing is all (Probe, PodAge). Otherwise the trigger
	// fires while Fingerprint differs from the baseline. One with a Source, which is a check, has the Fingerprint while the
	// check succeeds, and a baseline once it has succeeded since the latest restart for it.
	Level  bool
	Firing bool

	// Fingerprint of what is there now, at most 128 characters; empty where there is no source.
	Fingerprint string
	// Unknown is, in one word, why nothing could be seen, such as Forbidden. The baseline then
	// stays, and nothing fires.
	Unknown string
	// Silent lists the changes that become the baseline without firing: a source that appears, or
	// one that goes away. Where Incomparable is set, any change does, unless a restart is owed.
	SilentCreate, SilentDelete, Incomparable bool
	// Ignored means that the source does not count now: whatever it has is the baseline, and nothing is owed for it.
	Ignored bool
	// Written is when the source was last written. It is zero if that means nothing. Pods created later have this content.
	// Version is the resourceVersion of that write or a later one. It orders writes within one second, and is empty if unknown.
	Written time.Time
	Version string
	// FirstSeen means that Written is merely when the process first saw the source: it may have been
	// written at any time before. ValuesWritten is when the values there now were written, or later, and
	// Recorded the latest write that is recorded; both are zero where nothing says so. What removes a
	// key alone may be later than either.
	FirstSeen               bool
	ValuesWritten, Recorded time.Time
	// Created is when the source was created, and Since since when at the latest it has had what it has now, as far as this
	// process has seen. Each is zero where that is not known.
	Created, Since time.Time
	// Writer is the field manager that wrote the content last, as far as managedFields say so.
	Writer string
	// Immutable means that the source changed by a deletion and a new creation: a kubelet with a pod that uses it may serve what it
	// had before, also to new pods (kubernetes/website#42359).
	Immutable bool
	// Keys is a hash of the names of the keys that the source has; empty where it has none.
	Keys string
	// Expires is when the certificate in the source expires.
	Expires *time.Time
	// Urgent is how long before the baseline's certificate expires the restart may start outside of
	// windows; zero for never.
	Urgent time.Duration
	// Deadline is when the trigger gives up on a restart that has not started; zero for never. What
	// it saw becomes the baseline then.
	Deadline time.Time
	// SettlesAt is when what changed counts if it stays until then; zero where nothing is on its way. Settling is the
	// Fingerprint of that: the pods of a restart that begins before have it.
	SettlesAt time.Time
	Settling  string
	// RequeueAt is when a signal without memory may fire by the mere passing of time; zero for never.
	RequeueAt time.Time
}

// Decision is the result of Decide.
type Decision struct {
	// Status is the next status. The caller sets its conditions and nextAllowedTime, and stores
	// it before it does any of Actions.
	Status autorebootv1.RebootPolicyStatus
	// Actions to do once Status is stored, in order.
	Actions []Action
	// Messages are about what happened, in order, each once.
	Messages []Message
	// RequeueAt is when to decide again without a change; zero for never.
	RequeueAt time.Time
	// PendingMessage is about the restart that waits longest, for the condition Waiting, whose reason is in
	// Status. It is empty while none waits.
	PendingMessage string
	// ClockSkew is a message about times of the status that are in the future; empty where none is.
	ClockSkew string
	// WaitsForOthers means that a restart waits only for a slot of the group or the cluster, or for a workload that
	// another object disrupts.
	WaitsForOthers bool
}

// Verb names the operation of an Action.
type Verb string

// The verbs of an Action.
const (
	// Annotate puts the restart's id on the pod template, or sets spec.restartAt of a Rollout to PodCutoff. It is idempotent.
	// Where the workload has a Pause, its rollout is paused before.
	Annotate Verb = "Annotate"
	// Resume ends the pause of a rollout. It is idempotent.
	Resume Verb = "Resume"
	// Evict requests the eviction of one pod.
	Evict Verb = "Evict"
)

// Action is one thing to do to one workload.
type Action struct {
	Verb     Verb
	ID       string
	Workload *Workload
	Started  time.Time // of the restart, whole seconds
	// PodCutoff is when the first pod of the restart may be created, and all that there are were earlier.
	PodCutoff time.Time
	Pod       *Pod // to evict
}

// TriggerFired is the reason of a message that is no Event: that of the restart names the triggers.
const TriggerFired = "TriggerFired"

// Message is the content of an event about the policy and the workload.
type Message struct {
	// Reason is the Event's reason, or TriggerFired.
	Reason  string
	Warning bool
	// Target of the event.
	Target common.WorkloadReference
	// Text has names of triggers and workloads, and nothing of a source.
	Text string
	// Ended is set for a restart that has ended, for metrics.
	Ended *autorebootv1.RestartRecord
}

// Outcome is the outcome of an Action.
type Outcome string

// The outcomes of an Action.
const (
	// Done: it was done, or there was nothing left to do.
	Done Outcome = "Done"
	// Blocked: a disruption budget refused it.
	Blocked Outcome = "Blocked"
	// Misconfigured: the API server cannot decide, as for a pod with two disruption budgets.
	Misconfigured Outcome = "Misconfigured"
	// Refused: a right is missing, or an admission policy, a webhook or a quota is against it.
	Refused Outcome = "Refused"
	// Gone: the workload does not exist, or is another one of its name.
	Gone Outcome = "Gone"
	// Retry: it failed for now, as with a conflict. The next decision repeats it.
	Retry Outcome = "Again"
)

// Result is the result of an Action.
type Result struct {
	Action  Action
	Outcome Outcome
	// Generation of the workload after Annotate was Done.
	Generation int64
	// Budget names the PodDisruptionBudget that blocked an eviction. It is empty if unknown.
	Budget string
	// Reason and Message explain Refused: Reason is Forbidden or WriteRefused, and Message is the API server's.
	Reason, Message string
}
