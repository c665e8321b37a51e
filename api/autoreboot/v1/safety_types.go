// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package v1

import (
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/fairlead-dev/fairlead/api/common"
)

// Debounce gathers triggers that come close together into one restart.
//
// +kubebuilder:validation:XValidation:rule="!has(self.quietPeriod) || !has(self.maxDelay) || duration(self.quietPeriod) <= duration(self.maxDelay) || !self.quietPeriod.matches('^([0-9]{1,5}(h|m|s|ms)){1,4}$') || !self.maxDelay.matches('^([0-9]{1,5}(h|m|s|ms)){1,4}$')",message="quietPeriod must not exceed maxDelay"
type Debounce struct {
	// quietPeriod is how long no further trigger may fire before the restart starts. The default
	// is 2s, or maxDelay where that is shorter.
	//
	// +optional
	QuietPeriod *common.Duration `json:"quietPeriod,omitempty"`

	// maxDelay is the longest that a stream of triggers can put the restart off. The default is
	// 30s, or quietPeriod where that is longer.
	//
	// +optional
	MaxDelay *common.Duration `json:"maxDelay,omitempty"`
}

// Limit is the most restarts of each target within a span of time.
type Limit struct {
	// maxRestarts is how many restarts a target may have, from 1 to 100.
	//
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	// +required
	MaxRestarts int32 `json:"maxRestarts,omitempty"`

	// within is the span of time, up to now, that is counted over.
	//
	// +required
	Within common.Duration `json:"within,omitempty"`
}

// Retry repeats a restart whose verification failed.
type Retry struct {
	// maxAttempts is how often a failed restart is tried again, from 0 to 20. The default is 3.
	//
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=20
	// +optional
	MaxAttempts *int32 `json:"maxAttempts,omitempty"`

	// backoff is the wait before the first retry; it doubles with each one. The default is 10m,
	// or maxBackoff where that is shorter.
	//
	// +optional
	Backoff *common.Duration `json:"backoff,omitempty"`

	// maxBackoff is the longest wait. The default is 6h, or backoff where that is longer.
	//
	// +optional
	MaxBackoff *common.Duration `json:"maxBackoff,omitempty"`

	// resetAfter is how long a target must stay healthy for its attempts to be forgotten. The
	// default is 1h.
	//
	// +optional
	ResetAfter *common.Duration `json:"resetAfter,omitempty"`
}

// Concurrency bounds how many targets restart at the same time. A target whose pods are all new and available restarts no more: its
// soak goes on beside the next restart, and one that fails holds what has not started.
type Concurrency struct {
	// maxTargets is how many targets of the policy may restart at once: a number, or a percentage
	// of its targets, rounded down but never below one unless it is 0 itself, which starts
	// nothing. The default is 1.
	//
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:MaxLength=5
	// +kubebuilder:validation:XValidation:rule="type(self) == int ? self >= 0 : self.matches('^(100|[1-9]?[0-9])%$')",message="must be a non-negative integer or a percentage 0%-100%"
	// +optional
	MaxTargets *intstr.IntOrString `json:"maxTargets,omitempty"`

	// group names a bound shared by all policies of the namespace that name it: restarts of the
	// whole group count against each member's maxTargets.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +optional
	Group string `json:"group,omitempty"`
}

// Verification decides whether a restart succeeded: its workload is available again in time, and stays so, and what its clients
// ask for meanwhile does not fail. With the strategy RolloutRestart the rollout is completed first, since it cannot be stopped;
// evictions stop with the first failure of probes that is too many.
type Verification struct {
	common.Verification `json:",inline"`

	// maxContainerRestarts is how many restarts of containers are forgiven from the start of the
	// restart to the end of the soak. The default is 0.
	//
	// +kubebuilder:validation:Minimum=0
	// +optional
	MaxContainerRestarts *int32 `json:"maxContainerRestarts,omitempty"`
}
