// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package common

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Record is an entry of a history: what has ended, how, and why. Result and reason are strings rather than enums, so
// that an earlier CRD accepts the values of a later version.
type Record struct {
	// id of the entry, unique in the object.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	// +required
	ID string `json:"id,omitempty"`

	// result is one word for how it ended.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	// +required
	Result string `json:"result,omitempty"`

	// reason is one word for why it ended so.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	// +optional
	Reason string `json:"reason,omitempty"`

	// message gives details of the reason. It may be absent.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	// +optional
	Message string `json:"message,omitempty"`

	// startTime is when it began. It is absent where nothing was begun.
	//
	// +optional
	StartTime *metav1.Time `json:"startTime,omitempty"`

	// completionTime is when it ended.
	//
	// +optional
	CompletionTime *metav1.Time `json:"completionTime,omitempty"`
}

// Halt says why the operator starts nothing more for an object until a person changes its spec or sets the retry
// annotation.
type Halt struct {
	// reason is one word for it, the reason of the condition Stalled.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	// +required
	Reason string `json:"reason,omitempty"`

	// message gives details of the reason. It may be absent.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	// +optional
	Message string `json:"message,omitempty"`

	// startTime is when the halt began.
	//
	// +required
	StartTime metav1.Time `json:"startTime,omitzero"`

	// generation of the spec that halted: another one clears the halt.
	//
	// +kubebuilder:validation:Minimum=1
	// +optional
	Generation int64 `json:"generation,omitempty"`

	// recordID is the id of the restart or run that led to the halt. It is absent where none did.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	// +optional
	RecordID string `json:"recordID,omitempty"`
}
