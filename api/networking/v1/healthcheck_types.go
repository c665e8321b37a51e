// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package v1

import "github.com/fairlead-dev/fairlead/api/common"

// HealthCheck defines how every address is checked. An address becomes Unhealthy after failureThreshold failures in a
// row, and Healthy after successThreshold successes in a row. The first check of an address decides at once.
type HealthCheck struct {
	common.Check `json:",inline"`

	// unhealthyInterval is the interval while the address is unhealthy. While the check of a published address fails, or
	// nothing is healthy, interval applies instead if it is shorter. The default is 30s.
	//
	// +optional
	UnhealthyInterval *common.Duration `json:"unhealthyInterval,omitempty"`

	// jitterPercent is the share of every interval that may be added to it at random, in percent. The default is 10.
	//
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	// +optional
	JitterPercent *int32 `json:"jitterPercent,omitempty"`
}

// Failover chooses which priority is published.
type Failover struct {
	// minHealthyPercent is the share of healthy addresses that a priority needs to be published, in percent. The most
	// preferred priority that has it is published. If none has it, the one with the most healthy addresses is. The
	// default is 1.
	//
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	// +optional
	MinHealthyPercent *int32 `json:"minHealthyPercent,omitempty"`

	// panicThresholdPercent above 0 publishes all addresses of priority 0 as ready if no address is healthy anywhere. The
	// default, 0, publishes none.
	//
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	// +optional
	PanicThresholdPercent *int32 `json:"panicThresholdPercent,omitempty"`

	// failback is Automatic (the default), or Manual, which keeps the less preferred priority until a user requests a
	// failback.
	// +optional
	Failback *FailbackPolicy `json:"failback,omitempty"`

	// failbackDelay is how long a more preferred priority must stay healthy before it is published again. The
	// default is 5m.
	//
	// +optional
	FailbackDelay *common.Duration `json:"failbackDelay,omitempty"`
}

// FailbackPolicy is Automatic or Manual.
//
// +kubebuilder:validation:Enum=Automatic;Manual
type FailbackPolicy string

const (
	// FailbackAutomatic fails back once failbackDelay has passed.
	FailbackAutomatic FailbackPolicy = "Automatic"
	// FailbackManual fails back only if FailbackNowAnnotation requests it.
	FailbackManual FailbackPolicy = "Manual"
)
