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

	// uid of the workload. A recreated workload has new baselines.
	//
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MinLength=1
	// +optional
	UID types.UID `json:"uid,omitempty"`

	// pending is the restart that the target waits for.
	//
	// +optional
	Pending *PendingRestart `json:"pending,omitempty"`

	// lastRestartTime is when the latest restart of the target ended.
	//
	// +optional
	LastRestartTime *metav1.Time `json:"lastRestartTime,omitempty"`

	// lastRestartID is the id of the latest restart of the target.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +optional
	LastRestartID string `json:"lastRestartID,omitempty"`

	// attempts is how many restarts for the current content have failed since the target was last healthy for
	// an hour. It is absent if none has.
	//
	// +kubebuilder:validation:Minimum=1
	// +optional
	Attempts int32 `json:"attempts,omitempty"`

	// internal is the memory of the operator about the workload. Do not rely on it: its fields may change with any release.
	//
	// +optional
	TargetInternals `json:"internal,omitzero"`
}

// TargetInternals is the part of a TargetStatus that only the operator reads.
type TargetInternals struct {
	// baselines are the contents that the target was last restarted for, or that existed when the policy first selected it. A
	// source that differs from its baseline requires a restart.
	//
	// +kubebuilder:validation:MaxItems=64
	// +listType=atomic
	// +optional
	Baselines []Baseline `json:"baselines,omitempty"`

	// recentRestartTimes are when the restarts of the target within limit.within began, the oldest first.
	//
	// +kubebuilder:validation:MaxItems=100
	// +listType=atomic
	// +optional
	RecentRestartTimes []metav1.Time `json:"recentRestartTimes,omitempty"`

	// previousContent identifies the content of the sources before the latest restart for new content. If the sources
	// return to it, cooldown applies to the restart. It is absent if that restart failed: to return is then the remedy.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=16
	// +optional
	PreviousContent string `json:"previousContent,omitempty"`
}

// Baseline is the content of one source that a trigger last restarted the target for, or first observed.
type Baseline struct {
	// trigger is the name of the trigger. RestartNow means the annotation.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +required
	Trigger string `json:"trigger,omitempty"`

	// source is the observed object, such as Secret/shared-creds. It is empty for a trigger that observes one thing only.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=273
	// +optional
	Source string `json:"source,omitempty"`

	// fingerprint is a digest of the content of the source, keyed with a secret of the installation, so that it reveals
	// nothing about the content. It is empty if the source did not exist.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	// +optional
	Fingerprint string `json:"fingerprint,omitempty"`

	// keys is a digest of the names of the keys in the source, keyed as the fingerprint is. It changes when keys are
	// added or removed.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=16
	// +optional
	Keys string `json:"keys,omitempty"`

	// writtenTime is the time of the latest write in the managedFields of the source at that time.
	//
	// +optional
	WrittenTime *metav1.Time `json:"writtenTime,omitempty"`

	// expirationTime is when the certificate in the source expires.
	//
	// +optional
	ExpirationTime *metav1.Time `json:"expirationTime,omitempty"`
}

// PendingRestart is a restart that is due and may not start yet.
type PendingRestart struct {
	// triggers are the names of the triggers that fired for it. RestartNow means the annotation.
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

	// refusal is why the API server refused the latest attempt to begin the restart. Such an attempt does not count as
	// failed.
	//
	// +optional
	Refusal *Refusal `json:"refusal,omitempty"`

	// reason is why the restart may not start yet, such as OutsideWindow.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	// +optional
	Reason string `json:"reason,omitempty"`

	// internal is the memory of the operator about the restart. Do not rely on it: its fields may change with any release.
	//
	// +optional
	PendingInternals `json:"internal,omitzero"`
}

// PendingInternals is the part of a PendingRestart that only the operator reads.
type PendingInternals struct {
	// correctedTime is since when the target needs a restart for other content than that of its failed restart. The
	// backoff and the halt of that failure do not hold it. It is absent if the content is the same.
	//
	// +optional
	CorrectedTime *metav1.Time `json:"correctedTime,omitempty"`

	// fingerprint identifies all that differs from its baseline. If it is unchanged, a new leader keeps writtenTime.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	// +optional
	Fingerprint string `json:"fingerprint,omitempty"`

	// writtenTime is when the latest part of what fingerprint identifies was written.
	//
	// +optional
	WrittenTime *metav1.Time `json:"writtenTime,omitempty"`

	// podCutoffTime is when the restart failed or was refused, by the clock of the API server. The restart is no longer
	// needed once all pods are newer. It is absent otherwise.
	//
	// +optional
	PodCutoffTime *metav1.Time `json:"podCutoffTime,omitempty"`

	// approvedFingerprint identifies the restart that a user has approved, with everything that it is for. Later changes
	// need another approval.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	// +optional
	ApprovedFingerprint string `json:"approvedFingerprint,omitempty"`
}
