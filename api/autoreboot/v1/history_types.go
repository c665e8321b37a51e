// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package v1

import "github.com/fairlead-dev/fairlead/api/common"

// Results of a restart (status.history[].result).
const (
	// ResultSucceeded was verified.
	ResultSucceeded = "Succeeded"
	// ResultFailed was not verified in time, or could not be done.
	ResultFailed = "Failed"
	// ResultSuperseded was not needed any more: the workload had been rolled out since.
	ResultSuperseded = "Superseded"
)

// RestartRecord is a restart that has ended, with the result Succeeded, Failed or Superseded.
type RestartRecord struct {
	common.Record `json:",inline"`

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
	Target common.WorkloadReference `json:"target,omitzero"`

	// requests count those of all verification.probes, from the start of the restart to its end. Absent where there are no
	// probes.
	//
	// +optional
	Requests *common.RequestCounts `json:"requests,omitempty"`
}
