// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package v1

import "github.com/fairlead-dev/fairlead/api/common"

// Results of a restart (status.history[].result).
const (
	// ResultSucceeded means that the restart was verified.
	ResultSucceeded = "Succeeded"
	// ResultFailed means that the restart was not verified in time, or could not be carried out.
	ResultFailed = "Failed"
	// ResultSuperseded means that the restart was no longer needed: another rollout had replaced the pods.
	ResultSuperseded = "Superseded"
)

// RestartRecord is a restart that has ended, with the result Succeeded, Failed or Superseded.
type RestartRecord struct {
	common.Record `json:",inline"`

	// triggers are the names of the triggers that fired for it. RestartNow means the annotation.
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

	// requests counts those of all verification.probes, from the start of the restart to its end. It is absent without
	// probes.
	//
	// +optional
	Requests *common.RequestCounts `json:"requests,omitempty"`
}
