// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-dev/fairlead/api/common"
)

// MaxStatusVictims is the bound of the victims in the status; a controller leaves out the surplus ones.
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

	// nextRunTime is when the next run is due, as far as schedule, windows, blackouts and
	// safety.maxPerDay go; absent while none is.
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

	// verifiedTarget is a digest of spec.target in the last run that was verified, with defaults. The
	// condition Survived and lastSuccessfulRunTime show nothing about another target.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	// +optional
	VerifiedTarget string `json:"verifiedTarget,omitempty"`

	// currentRun is the run under way. It is written before the first pod dies, so that a
	// restarted operator deletes no pod twice.
	//
	// +optional
	CurrentRun *CurrentRun `json:"currentRun,omitempty"`

	// history holds the runs that have ended, the latest first, at most historyLimit.
	//
	// +kubebuilder:validation:MaxItems=50
	// +listType=atomic
	// +optional
	History []Run `json:"history,omitempty"`

	// blocked are the workloads of which a disruption budget let no pod go in the last run that chose
	// victims, if none of these died: what dies uses up a budget. It is empty once a run is not refused.
	//
	// +kubebuilder:validation:MaxItems=100
	// +listType=atomic
	// +optional
	Blocked []BlockedWorkload `json:"blocked,omitempty"`

	// killedToday is how many pods have died on killedDay, absent where none has. A pod that went away while it was to be
	// killed counts.
	//
	// +kubebuilder:validation:Minimum=1
	// +optional
	KilledToday int32 `json:"killedToday,omitempty"`

	// killedDay is the day of killedToday, in UTC, such as 2026-03-02. On a later day killedToday is not
	// counted.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=10
	// +optional
	KilledDay string `json:"killedDay,omitempty"`

	// dueAfterTime is the time up to which nothing that was due is started any more: the latest of when a
	// run began or ended, one was missed, and the spec changed.
	//
	// +optional
	DueAfterTime *metav1.Time `json:"dueAfterTime,omitempty"`

	// handledRunNow is the token of the annotation chaos.fairlead.dev/run-now that was handled last: a run began for it, or
	// the ChaosPod had it when it was first observed.
	//
	// +optional
	HandledRunNow common.Token `json:"handledRunNow,omitempty"`

	// handledResume is the token of the annotation chaos.fairlead.dev/resume that was handled last: it ended a halt, or the
	// ChaosPod had it when a halt began.
	//
	// +optional
	HandledResume common.Token `json:"handledResume,omitempty"`

	// halt says why no run begins until a person changes the spec or sets the resume annotation. Its reason is
	// RecoveryFailed, ProbesFailed or EvictionMisconfigured. It is absent when normal.
	//
	// +optional
	Halt *common.Halt `json:"halt,omitempty"`
}

// RunPhase is how far a run has come.
//
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=64
type RunPhase string

// The phases of a run.
const (
	// RunPlanned is stored, and its victims may or may not have been touched.
	RunPlanned RunPhase = "Planned"
	// RunKilling has a result for some of its victims.
	RunKilling RunPhase = "Killing"
	// RunVerifying kills no more, and waits for the owners to recover.
	RunVerifying RunPhase = "Verifying"
)

// CurrentRun is a run under way.
type CurrentRun struct {
	// id names the run. It is the time at which the run was due, before jitter. That of a run that run-now
	// requested is the time at which it began, followed by -now.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	// +required
	ID string `json:"id,omitempty"`

	// phase is how far the run has come.
	//
	// +required
	Phase RunPhase `json:"phase,omitempty"`

	// scheduledTime is when the run was due, jitter included. It is absent from one that run-now requested.
	//
	// +optional
	ScheduledTime *metav1.Time `json:"scheduledTime,omitempty"`

	// startTime is when the victims were chosen.
	//
	// +optional
	StartTime *metav1.Time `json:"startTime,omitempty"`

	// killingTime is since when the victims may die; they are tried for two minutes. It is absent while
	// the run is held.
	//
	// +optional
	KillingTime *metav1.Time `json:"killingTime,omitempty"`

	// killedTime is when the last of the victims is known to have died. Recovery counts from then.
	//
	// +optional
	KilledTime *metav1.Time `json:"killedTime,omitempty"`

	// readyTime is since when the owners have as many ready pods as before: verification.soak counts
	// from then. It is absent while one has fewer.
	//
	// +optional
	ReadyTime *metav1.Time `json:"readyTime,omitempty"`

	// generation of the spec that the victims were chosen by. Once it is another, no more die.
	//
	// +kubebuilder:validation:Minimum=1
	// +optional
	Generation int64 `json:"generation,omitempty"`

	// targetDigest is a digest of the spec.target that the victims were chosen by, with defaults.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	// +optional
	TargetDigest string `json:"targetDigest,omitempty"`

	// dryRun says that nothing dies in this run.
	//
	// +optional
	DryRun bool `json:"dryRun,omitempty"`

	// count is how many pods are to die, absent where none is.
	//
	// +kubebuilder:validation:Minimum=1
	// +optional
	Count int32 `json:"count,omitempty"`

	// seed makes the choice, with nothing else that is random: owners are ranked by
	// SHA-256(seed "/" UID of the owner), and the pods of each by SHA-256(seed "/" UID of the pod), both
	// the lowest first.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	// +optional
	Seed string `json:"seed,omitempty"`

	// candidates is how many pods there were to choose from, absent where there was none.
	//
	// +kubebuilder:validation:Minimum=1
	// +optional
	Candidates int32 `json:"candidates,omitempty"`

	// candidatesDigest is the SHA-256, in hex, of the candidates' UIDs: in the order of their bytes,
	// each followed by a line feed.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	// +optional
	CandidatesDigest string `json:"candidatesDigest,omitempty"`

	// victims are the pods chosen, at most 100, and among them those that took the place of others.
	//
	// +kubebuilder:validation:MaxItems=100
	// +listType=atomic
	// +optional
	Victims []Victim `json:"victims,omitempty"`

	// probes count the requests of verification.probes from the start of the run to that of its phase, or to the first that
	// failed and may not.
	//
	// +kubebuilder:validation:MaxItems=4
	// +listType=atomic
	// +optional
	Probes []common.ProbeRequests `json:"probes,omitempty"`
}

// Results of a run (status.history[].result).
const (
	// ResultSurvived says that every owner was back in time.
	ResultSurvived = "Survived"
	// ResultRecoveryFailed says that one was not.
	ResultRecoveryFailed = "RecoveryFailed"
	// ResultProbesFailed says that every owner was back, and too many requests of verification.probes failed meanwhile.
	ResultProbesFailed = "ProbesFailed"
	// ResultDryRun killed nothing, by intent.
	ResultDryRun = "DryRun"
	// ResultNoVictim killed nothing: no pod was fit to die, or none was let go.
	ResultNoVictim = "NoVictim"
	// ResultFailed could not be carried out, or not be verified.
	ResultFailed = "Failed"
)

// Run is a run that has ended, with the result Survived, RecoveryFailed, ProbesFailed, DryRun, NoVictim or Failed. Its id
// is that of currentRun, its message names up to three of the victims, and its startTime is when they were chosen.
type Run struct {
	common.Record `json:",inline"`

	// killed is how many pods died, absent where none did.
	//
	// +kubebuilder:validation:Minimum=1
	// +optional
	Killed int32 `json:"killed,omitempty"`

	// seed is that of currentRun. With candidates, candidatesDigest and the pods of that time, it repeats
	// the choice.
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

	// recoveryDuration is how long the target took to recover, to the second, without verification.soak.
	//
	// +optional
	RecoveryDuration *common.Duration `json:"recoveryDuration,omitempty"`

	// requests count those of all verification.probes, from the start of the run to its end. Absent where there are no probes.
	//
	// +optional
	Requests *common.RequestCounts `json:"requests,omitempty"`
}
