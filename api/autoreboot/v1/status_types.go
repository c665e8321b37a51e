// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-dev/fairlead/api/common"
)

// RebootPolicyStatus says what was observed and done. It is the policy's only memory: what is
// recorded here survives a restart of the operator and a change of leader.
type RebootPolicyStatus struct {
	// conditions are Ready, Waiting, Progressing, Verified, DisruptionBudgetBlocks and Suspended, which are present from the
	// first reconcile on, and Stalled, which is absent when normal.
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

	// nextAllowedTime is when a restart may start next, as far as windows and blackouts go. It is
	// absent while one may start at any time, and where none ever may: the conditions Ready and Waiting then say so.
	//
	// +optional
	NextAllowedTime *metav1.Time `json:"nextAllowedTime,omitempty"`

	// lastRestartTime is when the latest restart of any target ended.
	//
	// +optional
	LastRestartTime *metav1.Time `json:"lastRestartTime,omitempty"`

	// handledRestartNow is the token of the annotation autoreboot.fairlead.dev/restart-now that was handled last: a restart
	// for it was planned or not needed, or the policy had it when it was first observed.
	//
	// +optional
	HandledRestartNow common.Token `json:"handledRestartNow,omitempty"`

	// verifiedRestartNow is the token of that annotation once each target's restart for it was verified or was not needed. It
	// is what a pipeline waits for; a restart that fails leaves it as it was.
	//
	// +optional
	VerifiedRestartNow common.Token `json:"verifiedRestartNow,omitempty"`

	// handledResume is the token of the annotation autoreboot.fairlead.dev/resume that was handled last: it ended a halt, or
	// the policy had it when a halt began.
	//
	// +optional
	HandledResume common.Token `json:"handledResume,omitempty"`

	// pendingApproval identifies the restarts that wait for a person to approve them, where a gate has the type Approval. The
	// annotation autoreboot.fairlead.dev/approve with this value approves exactly these: another one that becomes due has
	// another value.
	//
	// +optional
	PendingApproval common.Token `json:"pendingApproval,omitempty"`

	// handledApprove is the token of that annotation that was handled last: it has approved restarts, or what it is for did
	// not wait any more.
	//
	// +optional
	HandledApprove common.Token `json:"handledApprove,omitempty"`

	// halt says why the policy starts no restart until a person changes the spec or sets the resume annotation.
	// It is absent when normal.
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

	// inFlight are the restarts that have been decided on and have not ended.
	//
	// +kubebuilder:validation:MaxItems=100
	// +listType=map
	// +listMapKey=id
	// +optional
	InFlight []InFlightRestart `json:"inFlight,omitempty"`

	// targets are the workloads that the policy watches, at most 100: what each was last restarted
	// for, and what it waits for.
	//
	// +kubebuilder:validation:MaxItems=100
	// +listType=map
	// +listMapKey=kind
	// +listMapKey=name
	// +optional
	Targets []TargetStatus `json:"targets,omitempty"`

	// unselectedTargets are workloads that the policy watched and does not select any more, while they exist: what each
	// was last restarted for, and the restart that it is owed. Both count where the policy selects the workload again.
	//
	// +kubebuilder:validation:MaxItems=100
	// +listType=map
	// +listMapKey=kind
	// +listMapKey=name
	// +optional
	UnselectedTargets []TargetStatus `json:"unselectedTargets,omitempty"`

	// history holds the restarts that have ended, the latest first, at most historyLimit.
	//
	// +kubebuilder:validation:MaxItems=50
	// +listType=atomic
	// +optional
	History []RestartRecord `json:"history,omitempty"`
}

// Halt says why a policy starts no more restarts. Its reason is VerificationFailed, LimitReached or TargetReverted.
type Halt struct {
	common.Halt `json:",inline"`

	// target is the workload that halted the policy.
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
	// TriggerIdle has nothing to act on.
	TriggerIdle TriggerState = "Idle"
	// TriggerPending has fired, and its restart has not ended.
	TriggerPending TriggerState = "Pending"
	// TriggerUnknown cannot be observed, such as a source that may not be read.
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

	// fingerprint is a digest of what the targets were last restarted for, keyed with a secret of the
	// installation, so that it reveals nothing about the content.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	// +optional
	Fingerprint string `json:"fingerprint,omitempty"`

	// lastObservedTime is when a change of what the trigger watches was last observed.
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

	// reason is one word for a state of Unknown, such as SourceNotFound; Settling goes with Pending where
	// addresses have changed, and count once they have stayed for a while.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	// +optional
	Reason string `json:"reason,omitempty"`
}

// RestartPhase is how far a restart has come.
//
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=64
type RestartPhase string

const (
	// PhasePlanned is recorded before the workload is touched, so that no restart happens twice.
	PhasePlanned RestartPhase = "Planned"
	// PhaseRollingOut waits for the workload's controller to finish the rollout.
	PhaseRollingOut RestartPhase = "RollingOut"
	// PhaseEvicting evicts pods and waits for their successors.
	PhaseEvicting RestartPhase = "Evicting"
	// PhaseSoaking watches the workload for the time of verification.soak.
	PhaseSoaking RestartPhase = "Soaking"
)

// InFlightRestart is a restart that has been decided on and has not ended.
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

	// uid of the workload: a successor of the same name is not what was restarted.
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

	// startTime is when the restart was decided on.
	//
	// +optional
	StartTime *metav1.Time `json:"startTime,omitempty"`

	// podCutoffTime is when the restart was decided on, by the clock of the API server, or a second after the newest pod was
	// created: the restart replaces the pods that were created before.
	//
	// +optional
	PodCutoffTime *metav1.Time `json:"podCutoffTime,omitempty"`

	// generation of the workload that has this restart. Where a later one does not, the owner of the workload
	// has reverted the restart.
	//
	// +kubebuilder:validation:Minimum=1
	// +optional
	Generation int64 `json:"generation,omitempty"`

	// phaseTime is when the phase began.
	//
	// +optional
	PhaseTime *metav1.Time `json:"phaseTime,omitempty"`

	// blockedTime is since when a disruption budget has refused every eviction of this restart.
	//
	// +optional
	BlockedTime *metav1.Time `json:"blockedTime,omitempty"`

	// blockedBy is the disruption budget that refused the latest eviction.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +optional
	BlockedBy string `json:"blockedBy,omitempty"`

	// desired is how many pods the workload should have had when the soak began: those that are added
	// later are not what was restarted.
	//
	// +kubebuilder:validation:Minimum=0
	// +optional
	Desired *int32 `json:"desired,omitempty"`

	// partition is how many pods the workload's partition kept as they were when the restart was decided on. More than
	// these are not kept by a partition that is raised later: the restart is not verified without them.
	//
	// +kubebuilder:validation:Minimum=0
	// +optional
	Partition *int32 `json:"partition,omitempty"`

	// template is a digest of the pod template when the restart was decided on, without the annotations of a
	// restart. Where the template is that one again, the owner of the workload has reverted the restart; any
	// other template is a new revision.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=32
	// +optional
	Template string `json:"template,omitempty"`

	// containerRestarts is how often containers of the new pods had restarted when the soak began, as far as that may have been
	// before their pods were first ready: those are forgiven. Absent where none had.
	//
	// +kubebuilder:validation:Minimum=1
	// +optional
	ContainerRestarts int32 `json:"containerRestarts,omitempty"`

	// refusal is why the API server refused the latest eviction, other than for a disruption budget, or the latest try to
	// begin the restart. Until evictions are allowed, verification.timeout does not pass. It is absent when normal.
	//
	// +optional
	Refusal *Refusal `json:"refusal,omitempty"`

	// message is what its record is to say besides how it ended, such as that it is for new content after a failure. It is
	// absent where there is nothing to say.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	// +optional
	Message string `json:"message,omitempty"`

	// unavailableTime is since when fewer pods are available in the soak. It is absent when normal.
	//
	// +optional
	UnavailableTime *metav1.Time `json:"unavailableTime,omitempty"`

	// triggers are the names of the triggers that fired for it. RestartNow is the annotation.
	//
	// +kubebuilder:validation:MaxItems=17
	// +kubebuilder:validation:items:MaxLength=63
	// +listType=atomic
	// +optional
	Triggers []string `json:"triggers,omitempty"`

	// probes count the requests of verification.probes from the start of the restart to the start of its phase, or to the
	// first that failed and may not.
	//
	// +kubebuilder:validation:MaxItems=4
	// +listType=atomic
	// +optional
	Probes []common.ProbeRequests `json:"probes,omitempty"`
}

// Refusal is a request that the API server refused, such as by a policy, a webhook, a quota or a missing right.
type Refusal struct {
	// lastAttemptTime is when it was refused. It is tried again a minute later.
	//
	// +required
	LastAttemptTime metav1.Time `json:"lastAttemptTime,omitzero"`

	// reason is Forbidden, or WriteRefused for every other refusal.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	// +optional
	Reason string `json:"reason,omitempty"`

	// message says what was refused, in the words of the API server.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	// +optional
	Message string `json:"message,omitempty"`
}
