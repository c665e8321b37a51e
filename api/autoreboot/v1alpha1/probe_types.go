// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import "github.com/fairlead-dev/fairlead/api/common"

// Probe has the shape of a container's probe. The operator runs it against every pod of the target.
//
// +kubebuilder:validation:XValidation:rule="[has(self.httpGet),has(self.tcpSocket),has(self.grpc)].exists_one(x,x)",message="set exactly one of tcpSocket, httpGet, grpc"
// +kubebuilder:validation:XValidation:rule="!has(self.timeoutSeconds) || !has(self.periodSeconds) || self.timeoutSeconds <= self.periodSeconds",message="timeoutSeconds must not exceed periodSeconds"
type Probe struct {
	common.Probe `json:",inline"`

	// tcpSocket succeeds where a connection is accepted.
	//
	// +optional
	TCPSocket *TCPSocket `json:"tcpSocket,omitempty"`
}

// TCPSocket opens a connection and closes it again.
type TCPSocket struct {
	common.TCPSocketAction `json:",inline"`

	// host to check instead of each pod.
	//
	// +kubebuilder:validation:MaxLength=253
	// +optional
	Host *string `json:"host,omitempty"`
}
