// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package common

// Probe has the common fields of the probes of v1alpha1: those of a Check without tls, with times in whole seconds. An
// absent field has the default of v1, not that of the kubelet.
type Probe struct {
	// httpGet succeeds where a GET returns an expected status.
	// +optional
	HTTPGet *HTTPGetAction `json:"httpGet,omitempty"`

	// grpc succeeds where the standard gRPC health service returns SERVING.
	// +optional
	GRPC *GRPCAction `json:"grpc,omitempty"`

	// periodSeconds is the time between two checks, in seconds. A part of a second that v1 has is rounded up.
	//
	// +kubebuilder:validation:Minimum=1
	// +optional
	PeriodSeconds *int32 `json:"periodSeconds,omitempty"`

	// timeoutSeconds bounds one check, in seconds. A part of a second that v1 has is rounded up.
	//
	// +kubebuilder:validation:Minimum=1
	// +optional
	TimeoutSeconds *int32 `json:"timeoutSeconds,omitempty"`

	// successThreshold is how many successes in a row make an address or a pod healthy again.
	//
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	// +optional
	SuccessThreshold *int32 `json:"successThreshold,omitempty"`

	// failureThreshold is how many failures in a row make an address or a pod unhealthy.
	//
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	// +optional
	FailureThreshold *int32 `json:"failureThreshold,omitempty"`
}
