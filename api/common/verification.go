// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package common

// FailurePolicy says what follows a failed verification.
//
// +kubebuilder:validation:Enum=Halt;Continue
type FailurePolicy string

const (
	// FailureHalt starts nothing more until the spec changes or the resume annotation is set.
	FailureHalt FailurePolicy = "Halt"
	// FailureContinue records the result and goes on.
	FailureContinue FailurePolicy = "Continue"
)

// Verification says when a workload that was disrupted counts as recovered.
type Verification struct {
	// timeout is how long the workload may take to recover, at most 24h. The default is 15m for a restart, and 10m for a
	// run.
	//
	// +kubebuilder:validation:XValidation:rule="duration(self) <= duration('24h') || !self.matches('^([0-9]{1,5}(h|m|s|ms)){1,4}$')",message="must be at most 24h"
	// +optional
	Timeout *Duration `json:"timeout,omitempty"`

	// soak is how long it must then stay so, at most 24h. The default is 2m for a restart, 30s for a run, and 0s for a run
	// of target.template.
	//
	// +kubebuilder:validation:XValidation:rule="duration(self) <= duration('24h') || !self.matches('^([0-9]{1,5}(h|m|s|ms)){1,4}$')",message="must be at most 24h"
	// +optional
	Soak *Duration `json:"soak,omitempty"`

	// onFailure is Halt, which starts nothing more until the spec changes or the resume annotation is set, or Continue.
	// There is no rollback: a restart changes nothing that could be rolled back, and undoing its annotation would restart
	// once more. The default is Halt.
	//
	// +optional
	OnFailure *FailurePolicy `json:"onFailure,omitempty"`
}
