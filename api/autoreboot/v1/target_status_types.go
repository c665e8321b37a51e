// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-dev/fairlead/api/common"
)

// TargetStatus is the observed state of one workload.
type TargetStatus struct {
	// kind of the workload, with its group unless that is apps or argoproj.io: Deployment, CloneSet.apps.kruise.io.
	//
	// +required
	Kind common.WorkloadKind `json:"kind,omitempty"`

	// name of the workload.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +required
	Name string `json:"name,omitempty"`

	// uid of the workload: one that was recreated has new baselines.
	//
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MinLength=1
	// +optional
	UID types.UID `json:"uid,omitempty"`

	// baselines are what the target was last restarted for, or what existed when the policy first selected it. A
	// difference from its baseline requires a restart.
	//
	// +kubebuilder:validation:MaxItems=64
	// +listType=atomic
	// +optional
	Baselines []Baseline `json:"baselines,omitempty"`

	// pending is the restart that the target waits for.
	//
	// +optional
	Pending *PendingRestart `json:"pending,omitempty"`

	// recentRestartTimes are when its restarts within limit.within began, the oldest first.
	//
	// +kubebuilder:validation:MaxItems=100
	// +listType=atomic
	// +optional
	RecentRestartTimes []metav1.Time `json:"recentRestartTimes,omitempty"`

	// lastRestartTime is when its latest restart ended.
	//
	// +optional
	LastRestartTime *metav1.Time `json:"lastRestartTime,omitempty"`

	// lastRestartID is the id of its latest restart.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +optional
	LastRestartID string `json:"lastRestartID,omitempty"`

	// previousContent identifies the content that its sources had before its latest restart for new content. If they return to
	// it, cooldown holds the restart. It is absent if that restart failed: to return is the remedy then.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=16
	// +optional
	PreviousContent string `json:"previousContent,omitempty"`

	// attempts are the failed restarts for its content since it was last healthy for retry.resetAfter, absent where there are
	// none.
	//
	// +kubebuilder:validation:Minimum=1
	// +optional
	Attempts int32 `json:"attempts,omitempty"`
}

// Baseline is what one trigger observed of one source.
type Baseline struct {
	// trigger is the name of the trigger; RestartNow is the annotation.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +required
	Trigger string `json:"trigger,omitempty"`

	// source is what was observed, such as Secret/shared-creds. It is empty where a trigger observes one thing
	// alone.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=273
	// +optional
	Source string `json:"source,omitempty"`

	// fingerprint is a digest of the content of the source, keyed with a secret of the installation, so that it
	// reveals nothing about the content. It is empty where there was no source.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	// +optional
	Fingerprint string `json:"fingerprint,omitempty"`

	// keys is a digest of the names of the keys that the source held, keyed as the fingerprint is. It changes
	// when keys are added or removed.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=16
	// +optional
	Keys string `json:"keys,omitempty"`

	// writtenTime is the latest write of the source that its managedFields recorded then.
	//
	// +optional
	WrittenTime *metav1.Time `json:"writtenTime,omitempty"`

	// expirationTime is when the certificate expires that the source held.
	//
	// +optional
	ExpirationTime *metav1.Time `json:"expirationTime,omitempty"`
}

// PendingRestart is a restart that is due and may not start yet.
type PendingRestart struct {
	// triggers are the names of the triggers that fired for it. RestartNow is the annotation.
	//
	// +kubebuilder:validation:MaxItems=17
	// +kubebuilder:validation:items:MaxLength=63
	// +listType=atomic
	// +optional
	Triggers []string `json:"triggers,omitempty"`

	// firstRequestTime is when the first of them fired.
	//
	// +required
	FirstRequestTime metav1.Time `json:"firstRequestTime,omitzero"`

	// lastRequestTime is when one of them last fired. The quiet period counts from it.
	//
	// +required
	LastRequestTime metav1.Time `json:"lastRequestTime,omitzero"`

	// correctedTime is since when the target is owed other content than that for which its restart failed. Neither the backoff
	// nor the halt of that failure holds it. It is absent where the same content is owed.
	//
	// +optional
	CorrectedTime *metav1.Time `json:"correctedTime,omitempty"`

	// fingerprint stands for all that differs from its baseline, and writtenTime is when the latest of
	// it was written. Where the fingerprint is still the same, a new leader needs no other time.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	// +optional
	Fingerprint string `json:"fingerprint,omitempty"`

	// writtenTime is explained at fingerprint.
	//
	// +optional
	WrittenTime *metav1.Time `json:"writtenTime,omitempty"`

	// podCutoffTime is, where the restart failed or was refused, when that was by the clock of the API server: the restart
	// is not needed any more once all pods were created later.
	//
	// +optional
	PodCutoffTime *metav1.Time `json:"podCutoffTime,omitempty"`

	// approvedFingerprint stands for the restart that a person has approved, with all that it was for: what comes after that
	// needs another approval.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	// +optional
	ApprovedFingerprint string `json:"approvedFingerprint,omitempty"`

	// refusal is why the API server refused the restart when it was last tried. The restart was not begun then: no
	// attempt counts.
	//
	// +optional
	Refusal *Refusal `json:"refusal,omitempty"`

	// reason is why it may not start yet, such as OutsideWindow.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	// +optional
	Reason string `json:"reason,omitempty"`
}
