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
	// ResultSucceeded: the priority was changed, or the fault ended as requested and no dependant became unready.
	ResultSucceeded = "Succeeded"
	// ResultFailed: a dependant became unready during the fault.
	ResultFailed = "Failed"
	// ResultAborted: the fault was ended before its time.
	ResultAborted = "Aborted"
	// ResultRefused: the failback or the fault that was requested did not begin.
	ResultRefused = "Refused"
)

// ChangeRecord is a change of the published priority, or a fault that has ended, with the result Succeeded, Failed, Aborted
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

	// toPriority is the priority that is published since. It is absent from a fault.
	//
	// +optional
	ToPriority *int32 `json:"toPriority,omitempty"`
}
