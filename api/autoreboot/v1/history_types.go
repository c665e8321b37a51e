// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-dev/fairlead/api/common"
)

// RestartResult is how a restart ended.
//
// +kubebuilder:validation:Enum=Succeeded;Failed;Superseded
type RestartResult string

const (
	// ResultSucceeded was verified.
	ResultSucceeded RestartResult = "Succeeded"
	// ResultFailed was not verified in time, or could not be done.
	ResultFailed RestartResult = "Failed"
	// ResultSuperseded was not needed any more: the workload had been rolled out since.
	ResultSuperseded RestartResult = "Superseded"
)

// RestartRecord is a restart that has ended.
type RestartRecord struct {
	// id of the restart.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +required
	ID string `json:"id"`

	// triggers are the names of the triggers that fired for it. RestartNow is the annotation.
	//
	// +kubebuilder:validation:MaxItems=17
	// +kubebuilder:validation:items:MaxLength=63
	// +listType=atomic
	// +optional
	Triggers []string `json:"triggers,omitempty"`

	// target is the workload.
	//
	// +required
	Target common.WorkloadReference `json:"target"`

	// result is Succeeded, Failed or Superseded.
	//
	// +required
	Result RestartResult `json:"result"`

	// reason is one word for the result, such as Verified.
	//
	// +kubebuilder:validation:MaxLength=128
	// +optional
	Reason string `json:"reason,omitempty"`

	// message says what the reason leaves open, such as the disruption budget that refused an eviction,
	// or the pods that a partition kept as they were. It is often absent.
	//
	// +kubebuilder:validation:MaxLength=512
	// +optional
	Message string `json:"message,omitempty"`

	// startedTime is when the restart was decided on.
	//
	// +optional
	StartedTime *metav1.Time `json:"startedTime,omitempty"`

	// completedTime is when it ended.
	//
	// +optional
	CompletedTime *metav1.Time `json:"completedTime,omitempty"`
}
