// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-dev/fairlead/api/common"
)

// RebootPolicyStatus reports what was observed and done. It is the only memory of the policy: it survives a restart of
// the operator and a change of the leader.
type RebootPolicyStatus struct {
	// conditions are Ready, Waiting, Progressing, Verified, DisruptionBudgetBlocks and Suspended, which are present from
	// the first reconcile on. Stalled is absent while all is normal.
	//
	// +kubebuilder:validation:MaxItems=16
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// observedGeneration is the most recent generation that the operator has reconciled. It is -1 until the
	// policy is reconciled for the first time.
	//
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// watchedTargets is how many workloads the policy watches.
	//
	// +kubebuilder:validation:Minimum=0
	// +optional
	WatchedTargets *int32 `json:"watchedTargets,omitempty"`

	// nextAllowedTime is when windows and blackouts next allow a restart. It is absent while they allow one, and if they
	// never do: Ready and Waiting then say so.
	//
	// +optional
	NextAllowedTime *metav1.Time `json:"nextAllowedTime,omitempty"`

	// lastRestartTime is when the latest restart of any target ended.
	//
	// +optional
	LastRestartTime *metav1.Time `json:"lastRestartTime,omitempty"`

	// handledRestartNow is the token of the annotation autoreboot.fairlead.dev/restart-now that was handled last. Either
	// a restart for it was planned or not needed, or the policy already had it when it was first observed.
	//
	// +optional
	HandledRestartNow common.Token `json:"handledRestartNow,omitempty"`

	// verifiedRestartNow is the last such token for which the restart of each target was verified or not needed. A
	// pipeline can wait for it. It does not change if a restart fails.
	//
	// +optional
	VerifiedRestartNow common.Token `json:"verifiedRestartNow,omitempty"`

	// handledRetry is the token of the annotation autoreboot.fairlead.dev/retry that was handled last. Either it ended
	// a halt, or the policy already had it when a halt began.
	//
	// +optional
	HandledRetry common.Token `json:"handledRetry,omitempty"`

	// pendingApproval identifies the restarts that wait for an approval, if a gate has the type Approval. The annotation
	// autoreboot.fairlead.dev/approve with this value approves exactly these. When another restart becomes due, the value
	// changes.
	//
	// +optional
	PendingApproval common.Token `json:"pendingApproval,omitempty"`

	// handledApprove is the token of that annotation that was handled last. Either it approved restarts, or those that it
	// identifies no longer waited.
	//
	// +optional
	HandledApprove common.Token `json:"handledApprove,omitempty"`

	// halt is present while the policy starts no restart until a user changes the spec or sets the retry annotation.
	//
	// +optional
	Halt *Halt `json:"halt,omitempty"`

	// triggers are the observed states of the triggers, by name.
	//
	// +kubebuilder:validation:MaxItems=16
	// +listType=map
	// +listMapKey=name
	// +optional
	Triggers []TriggerStatus `json:"triggers,omitempty"`

	// inFlight are the restarts that are planned or have begun, and have not ended.
	//
	// +kubebuilder:validation:MaxItems=100
	// +listType=map
	// +listMapKey=id
	// +optional
	InFlight []InFlightRestart `json:"inFlight,omitempty"`

	// targets are the workloads that the policy watches, at most 100: what each was last restarted for, and what it waits
	// for.
	//
	// +kubebuilder:validation:MaxItems=100
	// +listType=map
	// +listMapKey=kind
	// +listMapKey=name
	// +optional
	Targets []TargetStatus `json:"targets,omitempty"`

	// history holds the restarts that have ended, the latest first, at most historyLimit.
	//
	// +kubebuilder:validation:MaxItems=50
	// +listType=atomic
	// +optional
	History []RestartRecord `json:"history,omitempty"`

	// internal is the memory of the operator about workloads that the policy no longer selects. Do not rely on it: its
	// fields may change with any release.
	//
	// +optional
	PolicyInternals `json:"internal,omitzero"`
}

// PolicyInternals is the part of the status of a RebootPolicy that only the operator reads.
type PolicyInternals struct {
	// unselectedTargets are existing workloads that the policy watched and no longer selects. They keep what each was
	// last restarted for, and the restart that is due. Both apply again once the policy selects the workload.
	//
	// +kubebuilder:validation:MaxItems=100
	// +listType=map
	// +listMapKey=kind
	// +listMapKey=name
	// +optional
	UnselectedTargets []TargetStatus `json:"unselectedTargets,omitempty"`
}

// Halt explains why a policy starts no more restarts. Its reason is VerificationFailed, LimitReached or TargetReverted.
type Halt struct {
	common.Halt `json:",inline"`

	// target is the workload whose restart halted the policy.
	//
	// +required
	Target common.WorkloadReference `json:"target,omitzero"`
}

// TriggerState is the state of a trigger.
//
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=64
type TriggerState string

const (
	// TriggerIdle means that nothing asks for a restart.
	TriggerIdle TriggerState = "Idle"
	// TriggerPending means that the trigger has fired, and that its restart has not ended.
	TriggerPending TriggerState = "Pending"
	// TriggerUnknown means that what the trigger watches cannot be observed, such as a source that may not be read.
	TriggerUnknown TriggerState = "Unknown"
)

// TriggerStatus is the observed state of one trigger.
type TriggerStatus struct {
	// name of the trigger in the spec.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +required
	Name string `json:"name,omitempty"`

	// lastObservedTime is when the operator last observed a change of what the trigger watches.
	//
	// +optional
	LastObservedTime *metav1.Time `json:"lastObservedTime,omitempty"`

	// lastFiredTime is when the trigger last fired.
	//
	// +optional
	LastFiredTime *metav1.Time `json:"lastFiredTime,omitempty"`

	// state is Idle, Pending or Unknown.
	//
	// +optional
	State TriggerState `json:"state,omitempty"`

	// reason explains the state Unknown in one word, such as SourceNotFound. With the state Pending, Settling means that
	// addresses have changed, and that they count once they have stayed for a while.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	// +optional
	Reason string `json:"reason,omitempty"`

	// internal is the memory of the operator about what the trigger watches. Do not rely on it: its fields may change with
	// any release.
	//
	// +optional
	TriggerInternals `json:"internal,omitzero"`
}

// TriggerInternals is the part of a TriggerStatus that only the operator reads.
type TriggerInternals struct {
	// fingerprint is a digest of what the targets were last restarted for. It is keyed with a secret of the installation,
	// so that it reveals nothing about the content.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	// +optional
	Fingerprint string `json:"fingerprint,omitempty"`
}

// RestartPhase is how far a restart has come.
//
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=64
type RestartPhase string

const (
	// PhasePlanned means that the restart is stored and that the workload is not touched yet, so that no restart happens
	// twice.
	PhasePlanned RestartPhase = "Planned"
	// PhaseRollingOut means that the operator waits for the workload's controller to finish the rollout.
	PhaseRollingOut RestartPhase = "RollingOut"
	// PhaseEvicting means that the operator evicts pods and waits for their replacements.
	PhaseEvicting RestartPhase = "Evicting"
	// PhaseSoaking means that the operator watches the new pods for verification.soak.
	PhaseSoaking RestartPhase = "Soaking"
)

// InFlightRestart is a restart that is planned or has begun, and has not ended.
type InFlightRestart struct {
	// id of the restart, unique in the policy.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +required
	ID string `json:"id,omitempty"`

	// kind of the workload, with its group unless that is apps or argoproj.io.
	//
	// +required
	Kind common.WorkloadKind `json:"kind,omitempty"`

	// name of the workload.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +required
	Name string `json:"name,omitempty"`

	// uid of the workload. A new workload of the same name was not restarted.
	//
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MinLength=1
	// +optional
	UID types.UID `json:"uid,omitempty"`

	// phase is Planned, RollingOut, Evicting or Soaking.
	//
	// +required
	Phase RestartPhase `json:"phase,omitempty"`

	// firstRequestTime is when the first of its triggers fired.
	//
	// +optional
	FirstRequestTime *metav1.Time `json:"firstRequestTime,omitempty"`

	// startTime is when the restart was planned.
	//
	// +optional
	StartTime *metav1.Time `json:"startTime,omitempty"`

	// phaseTime is when the phase began.
	//
	// +optional
	PhaseTime *metav1.Time `json:"phaseTime,omitempty"`

	// blockedTime is when the first of an unbroken series of evictions was refused by a disruption budget.
	//
	// +optional
	BlockedTime *metav1.Time `json:"blockedTime,omitempty"`

	// blockedBy is the disruption budget that refused the latest eviction.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +optional
	BlockedBy string `json:"blockedBy,omitempty"`

	// refusal is why the API server refused the latest eviction, or the latest attempt to begin the restart, other than
	// for a disruption budget. Until evictions are allowed, verification.timeout does not elapse.
	//
	// +optional
	Refusal *Refusal `json:"refusal,omitempty"`

	// message is the record's message so far, such as that the restart is for new content. It is absent if there is nothing to
	// say.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	// +optional
	Message string `json:"message,omitempty"`

	// triggers are the names of the triggers that fired for it. RestartNow means the annotation.
	//
	// +kubebuilder:validation:MaxItems=17
	// +kubebuilder:validation:items:MaxLength=63
	// +listType=atomic
	// +optional
	Triggers []string `json:"triggers,omitempty"`

	// internal is the memory of the operator about the restart. Do not rely on it: its fields may change with any release.
	//
	// +optional
	RestartInternals `json:"internal,omitzero"`
}

// RestartInternals is the part of an InFlightRestart that only the operator reads.
type RestartInternals struct {
	// podCutoffTime is the time before which the pods to replace were created, by the clock of the API server. It is when
	// the restart was planned, or a second after the newest pod was created.
	//
	// +optional
	PodCutoffTime *metav1.Time `json:"podCutoffTime,omitempty"`

	// generation is the generation of the workload that has this restart. If a later generation lacks the restart, the
	// owner of the workload has reverted it.
	//
	// +kubebuilder:validation:Minimum=1
	// +optional
	Generation int64 `json:"generation,omitempty"`

	// desired is how many pods the workload should have had when the soak began. Pods that are added later were not
	// restarted.
	//
	// +kubebuilder:validation:Minimum=0
	// +optional
	Desired *int32 `json:"desired,omitempty"`

	// partition is how many pods the partition of the workload kept unchanged when the restart was planned. If the
	// partition is raised later, the restart is not verified without the further pods.
	//
	// +kubebuilder:validation:Minimum=0
	// +optional
	Partition *int32 `json:"partition,omitempty"`

	// template is a digest of the pod template when the restart was planned, without the annotations of a restart. If the
	// workload has this template again, its owner has reverted the restart. Any other template is a new revision.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=32
	// +optional
	Template string `json:"template,omitempty"`

	// containerRestarts is how many restarts of containers the new pods had before they were first ready. They do not
	// count against verification.maxContainerRestarts. It is absent if there was none.
	//
	// +kubebuilder:validation:Minimum=1
	// +optional
	ContainerRestarts int32 `json:"containerRestarts,omitempty"`

	// unavailableTime is since when fewer pods than desired are available in the soak. It is absent while all are.
	//
	// +optional
	UnavailableTime *metav1.Time `json:"unavailableTime,omitempty"`

	// probes count the requests of verification.probes from the start of the restart to the start of its current phase.
	// After one failure too many, they count to that failure.
	//
	// +kubebuilder:validation:MaxItems=4
	// +listType=atomic
	// +optional
	Probes []common.ProbeRequests `json:"probes,omitempty"`
}

// Refusal is a request that the API server refused, such as for a policy, a webhook, a quota or a missing right.
type Refusal struct {
	// lastAttemptTime is when the request was refused. It is repeated a minute later.
	//
	// +required
	LastAttemptTime metav1.Time `json:"lastAttemptTime,omitzero"`

	// reason is Forbidden, or WriteRefused for every other refusal.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	// +optional
	Reason string `json:"reason,omitempty"`

	// message is the message of the API server.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	// +optional
	Message string `json:"message,omitempty"`
}
