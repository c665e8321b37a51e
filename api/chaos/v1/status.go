// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-dev/fairlead/api/common"
)

// MaxStatusVictims bounds the victims of a run, since the status lists all of them.
const MaxStatusVictims = 100

// ChaosPodStatus is the observed state, and the record of the runs.
type ChaosPodStatus struct {
	// conditions are Ready, Waiting, Progressing, Survived and Suspended, which are present from the first reconcile on, and
	// Stalled, which is absent when normal.
	//
	// +kubebuilder:validation:MaxItems=16
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// observedGeneration is the most recent generation that the operator has reconciled. It is -1 until the
	// object is reconciled for the first time.
	//
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// nextRunTime is when the next run is due, by schedule, windows, blackouts and safety.maxPerDay. It is absent if none
	// is due.
	//
	// +optional
	NextRunTime *metav1.Time `json:"nextRunTime,omitempty"`

	// lastRunTime is when the last run began.
	//
	// +optional
	LastRunTime *metav1.Time `json:"lastRunTime,omitempty"`

	// lastSuccessfulRunTime is when the last run that the target survived began.
	//
	// +optional
	LastSuccessfulRunTime *metav1.Time `json:"lastSuccessfulRunTime,omitempty"`

	// currentRun is the run under way. The operator stores it before it kills the first pod, so that it kills no pod
	// twice after a restart.
	//
	// +optional
	CurrentRun *CurrentRun `json:"currentRun,omitempty"`

	// history holds the runs that have ended, the latest first, at most historyLimit.
	//
	// +kubebuilder:validation:MaxItems=50
	// +listType=atomic
	// +optional
	History []Run `json:"history,omitempty"`

	// blocked are the workloads whose disruption budgets refused every eviction in the last run that chose victims. It is
	// empty if a pod died in that run, since that death uses up a budget.
	//
	// +kubebuilder:validation:MaxItems=100
	// +listType=atomic
	// +optional
	Blocked []BlockedWorkload `json:"blocked,omitempty"`

	// killedToday is how many pods have died on killedDay. It is absent if none has. A pod that disappeared before its
	// kill was confirmed counts.
	//
	// +kubebuilder:validation:Minimum=1
	// +optional
	KilledToday int32 `json:"killedToday,omitempty"`

	// killedDay is the day of killedToday in UTC, such as 2026-03-02. On a later day, killedToday does not count.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=10
	// +optional
	KilledDay string `json:"killedDay,omitempty"`

	// handledRunNow is the token of the annotation chaos.fairlead.dev/run-now that was handled last. Either a run began
	// for it, or the ChaosPod already had it when it was first observed.
	//
	// +optional
	HandledRunNow common.Token `json:"handledRunNow,omitempty"`

	// handledRetry is the token of the annotation chaos.fairlead.dev/retry that was handled last. Either it ended a
	// halt, or the ChaosPod already had it when a halt began.
	//
	// +optional
	HandledRetry common.Token `json:"handledRetry,omitempty"`

	// halt is present while no run begins until a user changes the spec or sets the retry annotation. Its reason is
	// RecoveryFailed, ProbesFailed or EvictionMisconfigured.
	//
	// +optional
	Halt *common.Halt `json:"halt,omitempty"`

	// internal is the memory of the operator between runs. Do not rely on it: its fields may change with any release.
	//
	// +optional
	ChaosPodInternals `json:"internal,omitzero"`
}

// ChaosPodInternals is the part of the status of a ChaosPod that only the operator reads.
type ChaosPodInternals struct {
	// verifiedTarget is a digest of spec.target, with defaults, as it was in the last verified run. If spec.target has
	// changed since, the condition Survived and lastSuccessfulRunTime are not about the current target.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	// +optional
	VerifiedTarget string `json:"verifiedTarget,omitempty"`

	// dueAfterTime is the time up to which due runs are settled: only runs that are due later can begin. It moves forward
	// when a run begins, ends or is missed, and when the spec changes.
	//
	// +optional
	DueAfterTime *metav1.Time `json:"dueAfterTime,omitempty"`
}

// RunPhase is how far a run has come.
//
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=64
type RunPhase string

// The phases of a run.
const (
	// RunPlanned means that the victims are stored, and that the operator may have begun to kill them.
	RunPlanned RunPhase = "Planned"
	// RunKilling means that the result of at least one victim is known.
	RunKilling RunPhase = "Killing"
	// RunVerifying means that no more victims are killed, and that the operator waits for their workloads to recover.
	RunVerifying RunPhase = "Verifying"
)

// CurrentRun is a run under way.
type CurrentRun struct {
	// id is the time at which the run was due, before jitter. For a run that run-now requested, it is the time at which
	// the run began, followed by -now.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	// +required
	ID string `json:"id,omitempty"`

	// phase is how far the run has come.
	//
	// +required
	Phase RunPhase `json:"phase,omitempty"`

	// scheduledTime is when the run was due, jitter included. It is absent for a run that run-now requested.
	//
	// +optional
	ScheduledTime *metav1.Time `json:"scheduledTime,omitempty"`

	// startTime is when the victims were chosen.
	//
	// +optional
	StartTime *metav1.Time `json:"startTime,omitempty"`

	// dryRun is true if the run kills nothing.
	//
	// +optional
	DryRun bool `json:"dryRun,omitempty"`

	// count is how many pods the run is to kill. It is absent if there is none.
	//
	// +kubebuilder:validation:Minimum=1
	// +optional
	Count int32 `json:"count,omitempty"`

	// seed is the only randomness of the choice. Owners are ranked by SHA-256(seed "/" UID of the owner). The pods of
	// each owner are ranked by SHA-256(seed "/" UID of the pod). The lowest digests come first.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	// +optional
	Seed string `json:"seed,omitempty"`

	// candidates is how many pods there were to choose from. It is absent if there was none.
	//
	// +kubebuilder:validation:Minimum=1
	// +optional
	Candidates int32 `json:"candidates,omitempty"`

	// candidatesDigest is the SHA-256, in hex, of the UIDs of the candidates. They are sorted by their bytes, and a line
	// feed follows each.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	// +optional
	CandidatesDigest string `json:"candidatesDigest,omitempty"`

	// victims are the pods that were chosen, at most 100. Pods that replaced other victims are among them.
	//
	// +kubebuilder:validation:MaxItems=100
	// +listType=atomic
	// +optional
	Victims []Victim `json:"victims,omitempty"`

	// internal is the memory of the operator about the run. Do not rely on it: its fields may change with any release.
	//
	// +optional
	RunInternals `json:"internal,omitzero"`
}

// RunInternals is the part of a CurrentRun that only the operator reads.
type RunInternals struct {
	// killingTime is when the operator began to kill the victims. It tries for two minutes, and then leaves the others
	// alive. It is absent while the run is held, and starts again after that.
	//
	// +optional
	KillingTime *metav1.Time `json:"killingTime,omitempty"`

	// killedTime is when the last victim is known to have died. The time to recover counts from it.
	//
	// +optional
	KilledTime *metav1.Time `json:"killedTime,omitempty"`

	// readyTime is since when every owner has at least as many ready pods as before the run. verification.soak counts
	// from it. It is absent while an owner has fewer.
	//
	// +optional
	ReadyTime *metav1.Time `json:"readyTime,omitempty"`

	// generation is the generation of the spec by which the victims were chosen. If the spec changes, no more victims are
	// killed.
	//
	// +kubebuilder:validation:Minimum=1
	// +optional
	Generation int64 `json:"generation,omitempty"`

	// targetDigest is a digest of spec.target, with defaults, by which the victims were chosen.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	// +optional
	TargetDigest string `json:"targetDigest,omitempty"`

	// probes count the requests of verification.probes from the start of the run to the start of its current phase. After
	// one failure too many, they count to that failure.
	//
	// +kubebuilder:validation:MaxItems=4
	// +listType=atomic
	// +optional
	Probes []common.ProbeRequests `json:"probes,omitempty"`
}

// Results of a run (status.history[].result).
const (
	// ResultSurvived means that every owner recovered in time.
	ResultSurvived = "Survived"
	// ResultRecoveryFailed means that an owner did not recover in time.
	ResultRecoveryFailed = "RecoveryFailed"
	// ResultProbesFailed means that every owner recovered, and that too many requests of verification.probes failed
	// meanwhile.
	ResultProbesFailed = "ProbesFailed"
	// ResultDryRun means that the run was a dry run, which kills nothing.
	ResultDryRun = "DryRun"
	// ResultNoVictim means that the run killed nothing: no pod was eligible, or every kill was refused or given up.
	ResultNoVictim = "NoVictim"
	// ResultFailed means that the run could not be carried out or verified.
	ResultFailed = "Failed"
)

// Run is a run that has ended, with the result Survived, RecoveryFailed, ProbesFailed, DryRun, NoVictim or Failed. Its
// id is that of currentRun. Its startTime is when the victims were chosen, and its message names up to three of them.
type Run struct {
	common.Record `json:",inline"`

	// killed is how many pods died. It is absent if none did.
	//
	// +kubebuilder:validation:Minimum=1
	// +optional
	Killed int32 `json:"killed,omitempty"`

	// seed is that of currentRun. With candidates, candidatesDigest and the pods of that time, it reproduces the choice.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	// +optional
	Seed string `json:"seed,omitempty"`

	// candidates is that of currentRun.
	//
	// +kubebuilder:validation:Minimum=1
	// +optional
	Candidates int32 `json:"candidates,omitempty"`

	// candidatesDigest is that of currentRun.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	// +optional
	CandidatesDigest string `json:"candidatesDigest,omitempty"`

	// recoveryDuration is how long the target took to recover, in whole seconds. verification.soak does not count.
	//
	// +optional
	RecoveryDuration *common.Duration `json:"recoveryDuration,omitempty"`

	// requests count those of all verification.probes, from the start of the run to its end. It is absent without probes.
	//
	// +optional
	Requests *common.RequestCounts `json:"requests,omitempty"`
}
