// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Bounds of the lists in the status; a controller that has more to say leaves out the oldest runs
// and the surplus victims.
const (
	MaxStatusRuns    = 20
	MaxStatusVictims = 100
)

// ChaosPodStatus is what was last observed and done.
type ChaosPodStatus struct {
	// observedGeneration is the generation of the spec that the status speaks of.
	//
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// conditions are Ready, Running, Survived, Held, Stalled and Suspended.
	//
	// +kubebuilder:validation:MaxItems=16
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// nextRunTime is when the next run is due; absent while none is.
	//
	// +optional
	NextRunTime *metav1.Time `json:"nextRunTime,omitempty"`

	// lastRunTime is when the last run began.
	//
	// +optional
	LastRunTime *metav1.Time `json:"lastRunTime,omitempty"`

	// lastSuccessfulRunTime is when the last run began that the target survived.
	//
	// +optional
	LastSuccessfulRunTime *metav1.Time `json:"lastSuccessfulRunTime,omitempty"`

	// currentRun is the run under way. It is written before the first pod dies, so that a
	// restarted operator kills nobody twice.
	//
	// +optional
	CurrentRun *CurrentRun `json:"currentRun,omitempty"`

	// runs are the latest runs, newest first.
	//
	// +kubebuilder:validation:MaxItems=20
	// +listType=map
	// +listMapKey=id
	// +optional
	Runs []Run `json:"runs,omitempty"`

	// killedToday is how many pods have died since the last midnight of UTC before lastRunTime.
	//
	// +kubebuilder:validation:Minimum=0
	// +optional
	KilledToday int32 `json:"killedToday,omitempty"`
}

// RunPhase is how far a run has come.
//
// +kubebuilder:validation:Enum=Planned;Killing;Verifying
type RunPhase string

// The phases of a run.
const (
	RunPlanned   RunPhase = "Planned"
	RunKilling   RunPhase = "Killing"
	RunVerifying RunPhase = "Verifying"
)

// CurrentRun is a run under way.
type CurrentRun struct {
	// id names the run; it is the time at which the run was due.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	ID string `json:"id"`

	// phase is how far the run has come.
	Phase RunPhase `json:"phase"`

	// scheduledTime is when the run was due.
	//
	// +optional
	ScheduledTime *metav1.Time `json:"scheduledTime,omitempty"`

	// victims are the pods chosen, at most 100.
	//
	// +kubebuilder:validation:MaxItems=100
	// +listType=atomic
	// +optional
	Victims []Victim `json:"victims,omitempty"`
}

// VictimOutcome is what became of a chosen pod.
//
// +kubebuilder:validation:Enum=Pending;Evicted;Deleted;SkippedDisruptionBudget;Gone;Failed
type VictimOutcome string

// What becomes of a chosen pod.
const (
	VictimPending                 VictimOutcome = "Pending"
	VictimEvicted                 VictimOutcome = "Evicted"
	VictimDeleted                 VictimOutcome = "Deleted"
	VictimSkippedDisruptionBudget VictimOutcome = "SkippedDisruptionBudget"
	VictimGone                    VictimOutcome = "Gone"
	VictimFailed                  VictimOutcome = "Failed"
)

// Victim is a pod chosen to die.
type Victim struct {
	// name is the pod's name.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`

	// uid is the pod's UID, which the kill demands: its successor of the same name is safe.
	//
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=64
	UID types.UID `json:"uid"`

	// node is the node that the pod ran on.
	//
	// +kubebuilder:validation:MaxLength=253
	// +optional
	Node string `json:"node,omitempty"`

	// outcome is what became of the pod.
	//
	// +optional
	Outcome VictimOutcome `json:"outcome,omitempty"`
}

// RunOutcome is the verdict on a finished run.
//
// +kubebuilder:validation:Enum=Survived;RecoveryFailed;DryRun;NoVictim;Failed
type RunOutcome string

// The verdicts on a run.
const (
	RunSurvived       RunOutcome = "Survived"
	RunRecoveryFailed RunOutcome = "RecoveryFailed"
	RunDryRun         RunOutcome = "DryRun"
	RunNoVictim       RunOutcome = "NoVictim"
	RunFailed         RunOutcome = "Failed"
)

// Run is a finished run.
type Run struct {
	// id names the run; it is the time at which the run was due.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	ID string `json:"id"`

	// outcome is the verdict.
	Outcome RunOutcome `json:"outcome"`

	// recoverySeconds is how long the target took to recover, in seconds.
	//
	// +kubebuilder:validation:Minimum=0
	// +optional
	RecoverySeconds *int64 `json:"recoverySeconds,omitempty"`
}
