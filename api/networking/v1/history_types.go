// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package v1

import "github.com/fairlead-dev/fairlead/api/common"

// Types of a change (status.history[].type).
const (
	// ChangeFailover publishes a less preferred priority than before.
	ChangeFailover = "Failover"
	// ChangeFailback publishes a more preferred priority than before.
	ChangeFailback = "Failback"
	// ChangeFault is a fault that was injected on purpose.
	ChangeFault = "Fault"
)

// Results of a change (status.history[].result).
const (
	// ResultSucceeded means that the priority was changed, or that the fault ended as requested and no dependant became
	// unready.
	ResultSucceeded = "Succeeded"
	// ResultFailed means that a dependant became unready during the fault.
	ResultFailed = "Failed"
	// ResultAborted means that the fault ended before its time.
	ResultAborted = "Aborted"
	// ResultRefused means that the requested failback or fault did not begin.
	ResultRefused = "Refused"
)

// ChangeRecord is a change of the published priority, or a fault that ended. Its result is Succeeded, Failed, Aborted
// or Refused.
type ChangeRecord struct {
	common.Record `json:",inline"`

	// type is Failover, Failback or Fault.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	// +required
	Type string `json:"type,omitempty"`

	// fromPriority is the priority that was published before.
	//
	// +optional
	FromPriority *int32 `json:"fromPriority,omitempty"`

	// toPriority is the priority that was published after it. It is absent for a fault.
	//
	// +optional
	ToPriority *int32 `json:"toPriority,omitempty"`
}
