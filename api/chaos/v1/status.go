// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/fairlead-dev/fairlead/api/common"
)

// Bounds of the lists in the status; a controller that has more to say leaves out the oldest runs
// and the surplus victims.
const (
	MaxStatusRuns    = 20
	MaxStatusVictims = 100
)

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
	// +kubebuilder:validation:MaxLength=64
	// +optional
	VerifiedTarget string `json:"verifiedTarget,omitempty"`

	// currentRun is the run under way. It is written before the first pod dies, so that a
	// restarted operator deletes no pod twice.
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

	// blocked are the workloads of which a disruption budget let no pod go in the last run that chose
	// victims, if none of these died: what dies uses up a budget. It is empty once a run is not refused.
	//
	// +kubebuilder:validation:MaxItems=100
	// +listType=atomic
	// +optional
	Blocked []BlockedWorkload `json:"blocked,omitempty"`

	// killedToday is how many pods have died on killedDay. A pod that went away while it was to be
	// killed counts.
	//
	// +kubebuilder:validation:Minimum=0
	// +optional
	KilledToday int32 `json:"killedToday,omitempty"`

	// killedDay is the day of killedToday, in UTC, such as 2026-03-02. On a later day killedToday is not
	// counted.
	//
	// +kubebuilder:validation:MaxLength=10
	// +optional
	KilledDay string `json:"killedDay,omitempty"`

	// dueAfter is the time up to which nothing that was due is started any more: the latest of when a
	// run began or ended, one was missed, and the spec changed.
	//
	// +optional
	DueAfter *metav1.Time `json:"dueAfter,omitempty"`

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

	// halt says why no run begins until a person changes the spec or sets the resume annotation. It is absent
	// when normal.
	//
	// +optional
	Halt *Halt `json:"halt,omitempty"`

	// v1alpha1 is a status that was written at v1alpha1, where v1 cannot express all of it. Conversion writes
	// it; clients must not change it.
	//
	// +kubebuilder:pruning:PreserveUnknownFields
	// +optional
	V1Alpha1 *runtime.RawExtension `json:"v1alpha1,omitempty"`
}

// Halt says why no run begins any more.
type Halt struct {
	// reason is RecoveryFailed or EvictionMisconfigured.
	//
	// +kubebuilder:validation:MaxLength=128
	// +required
	Reason string `json:"reason"`

	// message says more about it.
	//
	// +kubebuilder:validation:MaxLength=512
	// +optional
	Message string `json:"message,omitempty"`

	// time is when the halt began.
	//
	// +required
	Time metav1.Time `json:"time"`

	// generation of the spec that halted: another one clears the halt.
	//
	// +optional
	Generation int64 `json:"generation,omitempty"`

	// runID is the run after which the policy halted.
	//
	// +kubebuilder:validation:MaxLength=64
	// +optional
	RunID string `json:"runID,omitempty"`
}

// RunPhase is how far a run has come.
//
// +kubebuilder:validation:Enum=Planned;Killing;Verifying
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
	ID string `json:"id"`

	// phase is how far the run has come.
	//
	// +required
	Phase RunPhase `json:"phase"`

	// scheduledTime is when the run was due, jitter included. It is absent from one that run-now requested.
	//
	// +optional
	ScheduledTime *metav1.Time `json:"scheduledTime,omitempty"`

	// startedTime is when the victims were chosen.
	//
	// +optional
	StartedTime *metav1.Time `json:"startedTime,omitempty"`

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
	// +optional
	Generation int64 `json:"generation,omitempty"`

	// targetDigest is a digest of the spec.target that the victims were chosen by, with defaults.
	//
	// +kubebuilder:validation:MaxLength=64
	// +optional
	TargetDigest string `json:"targetDigest,omitempty"`

	// dryRun says that nothing dies in this run.
	//
	// +optional
	DryRun bool `json:"dryRun,omitempty"`

	// count is how many pods are to die.
	//
	// +optional
	Count int32 `json:"count,omitempty"`

	// seed makes the choice, with nothing else that is random: owners are ranked by
	// SHA-256(seed "/" UID of the owner), and the pods of each by SHA-256(seed "/" UID of the pod), both
	// the lowest first.
	//
	// +kubebuilder:validation:MaxLength=64
	// +optional
	Seed string `json:"seed,omitempty"`

	// candidates is how many pods there were to choose from.
	//
	// +optional
	Candidates int32 `json:"candidates,omitempty"`

	// candidatesDigest is the SHA-256, in hex, of the candidates' UIDs: in the order of their bytes,
	// each followed by a line feed.
	//
	// +kubebuilder:validation:MaxLength=64
	// +optional
	CandidatesDigest string `json:"candidatesDigest,omitempty"`

	// victims are the pods chosen, at most 100, and among them those that took the place of others.
	//
	// +kubebuilder:validation:MaxItems=100
	// +listType=atomic
	// +optional
	Victims []Victim `json:"victims,omitempty"`
}

// RunOutcome is the verdict on a finished run.
//
// +kubebuilder:validation:Enum=Survived;RecoveryFailed;DryRun;NoVictim;Failed
type RunOutcome string

// The verdicts on a run.
const (
	// RunSurvived says that every owner was back in time.
	RunSurvived RunOutcome = "Survived"
	// RunRecoveryFailed says that one was not.
	RunRecoveryFailed RunOutcome = "RecoveryFailed"
	// RunDryRun killed nothing, by intent.
	RunDryRun RunOutcome = "DryRun"
	// RunNoVictim killed nothing: no pod was fit to die, or none was let go.
	RunNoVictim RunOutcome = "NoVictim"
	// RunFailed could not be carried out, or not be verified.
	RunFailed RunOutcome = "Failed"
)

// Run is a finished run.
type Run struct {
	// id is that of currentRun.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	// +required
	ID string `json:"id"`

	// outcome is the verdict.
	//
	// +required
	Outcome RunOutcome `json:"outcome"`

	// reason says more about the verdict in one word, such as TooFewReady for a run without a victim.
	//
	// +kubebuilder:validation:MaxLength=128
	// +optional
	Reason string `json:"reason,omitempty"`

	// message says more about the verdict. It names up to three of the victims.
	//
	// +kubebuilder:validation:MaxLength=512
	// +optional
	Message string `json:"message,omitempty"`

	// startedTime is when the victims were chosen; absent from a run that chose none.
	//
	// +optional
	StartedTime *metav1.Time `json:"startedTime,omitempty"`

	// completedTime is when the run ended.
	//
	// +optional
	CompletedTime *metav1.Time `json:"completedTime,omitempty"`

	// killed is how many pods died.
	//
	// +kubebuilder:validation:Minimum=0
	// +optional
	Killed int32 `json:"killed,omitempty"`

	// seed is that of currentRun. With candidates, candidatesDigest and the pods of that time, it repeats
	// the choice.
	//
	// +kubebuilder:validation:MaxLength=64
	// +optional
	Seed string `json:"seed,omitempty"`

	// candidates is that of currentRun.
	//
	// +optional
	Candidates int32 `json:"candidates,omitempty"`

	// candidatesDigest is that of currentRun.
	//
	// +kubebuilder:validation:MaxLength=64
	// +optional
	CandidatesDigest string `json:"candidatesDigest,omitempty"`

	// recoverySeconds is how long the target took to recover, in seconds, without verification.soak.
	//
	// +kubebuilder:validation:Minimum=0
	// +optional
	RecoverySeconds *int64 `json:"recoverySeconds,omitempty"`
}
