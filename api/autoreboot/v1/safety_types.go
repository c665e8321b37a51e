// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package v1

import (
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/fairlead-dev/fairlead/api/common"
)

// Debounce combines triggers that fire within a short time into one restart.
//
// +kubebuilder:validation:XValidation:rule="!has(self.quietPeriod) || !has(self.maxDelay) || duration(self.quietPeriod) <= duration(self.maxDelay) || !self.quietPeriod.matches('^([0-9]{1,5}(h|m|s|ms)){1,4}$') || !self.maxDelay.matches('^([0-9]{1,5}(h|m|s|ms)){1,4}$')",message="quietPeriod must not exceed maxDelay"
type Debounce struct {
	// quietPeriod is how long no further trigger may fire before the restart starts. The default is 2s, or maxDelay if
	// that is shorter.
	//
	// +optional
	QuietPeriod *common.Duration `json:"quietPeriod,omitempty"`

	// maxDelay is the longest time for which further triggers can delay the restart. The default is 30s, or quietPeriod
	// if that is longer.
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

	// within is the span of time up to now in which restarts are counted.
	//
	// +required
	Within common.Duration `json:"within,omitempty"`
}

// Retry defines how a restart is repeated after its verification failed. Failed attempts no longer count once a target
// has been healthy for an hour.
type Retry struct {
	// maxAttempts is how many times a failed restart is repeated, from 0 to 20. The default is 3.
	//
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=20
	// +optional
	MaxAttempts *int32 `json:"maxAttempts,omitempty"`

	// backoff is the wait before the first repetition. It doubles with each further one, up to 6h, or to backoff if that
	// is longer. The default is 10m.
	//
	// +optional
	Backoff *common.Duration `json:"backoff,omitempty"`
}

// Concurrency bounds how many targets restart at the same time. A target counts until all of its pods are new and
// available. The next target may restart during its soak. If the soak fails, targets that have not started wait.
type Concurrency struct {
	// maxTargets is how many targets of the policy may restart at once. It is a number, or a percentage of the targets,
	// rounded down but never below one. Zero starts no restart. The default is 1.
	//
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:MaxLength=5
	// +kubebuilder:validation:XValidation:rule="type(self) == int ? self >= 0 : self.matches('^(100|[1-9]?[0-9])%$')",message="must be a non-negative integer or a percentage 0%-100%"
	// +optional
	MaxTargets *intstr.IntOrString `json:"maxTargets,omitempty"`

	// group is a bound that all policies of the namespace with the same group share. Restarts of the whole group count
	// against the maxTargets of each policy.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +optional
	Group string `json:"group,omitempty"`
}

// Verification defines when a restart has succeeded. Its workload is available again in time and stays so, and the
// requests of its clients do not fail. With the strategy RolloutRestart, a rollout whose probes fail is completed
// first, since it cannot be stopped. Evictions stop as soon as too many requests of a probe have failed.
type Verification struct {
	common.Verification `json:",inline"`

	// maxContainerRestarts is how many restarts of containers are accepted from the start of the restart to the end of
	// the soak. The default is 0.
	//
	// +kubebuilder:validation:Minimum=0
	// +optional
	MaxContainerRestarts *int32 `json:"maxContainerRestarts,omitempty"`
}
