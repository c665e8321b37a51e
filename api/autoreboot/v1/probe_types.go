// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package v1

import (
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/fairlead-dev/fairlead/api/common"
)

// Probe fires when enough pods of a target have failed a check often enough in a row. It does not replace the kubelet's
// probes, which restart a single container.
//
// +kubebuilder:validation:XValidation:rule="[has(self.tcpSocket) && !has(self.tcpSocket.port), has(self.httpGet) && !has(self.httpGet.port), has(self.grpc) && !has(self.grpc.port)].all(x, !x)",message="port is required"
// +kubebuilder:validation:XValidation:rule="!has(self.host) || size(self.host) == 0 || [has(self.tcpSocket) && has(self.tcpSocket.port) && type(self.tcpSocket.port) != int, has(self.httpGet) && has(self.httpGet.port) && type(self.httpGet.port) != int, has(self.grpc) && has(self.grpc.port) && type(self.grpc.port) != int].all(x, !x)",message="with host, port must be a number: a name is that of a container's port"
type Probe struct {
	common.Check `json:",inline"`

	// host to check instead of each pod: a DNS name or an IP that the operator's egress policy allows. It is checked
	// once, and counts as one pod of each target.
	//
	// +kubebuilder:validation:MaxLength=253
	// +optional
	Host *string `json:"host,omitempty"`

	// minUnhealthy is how many pods of a target must be unhealthy for the trigger to fire. It is a number, or a
	// percentage of the pods that are checked, rounded up and never below one. The default is 50%: restarting a whole
	// workload for the sake of one pod costs more than it heals. A single pod is for its own liveness probe to restart.
	//
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:MaxLength=5
	// +kubebuilder:validation:Pattern=`^(100|[1-9]?[0-9])%$`
	// +kubebuilder:validation:XValidation:rule="type(self) != int || self >= 0",message="must be a non-negative integer or a percentage 0%-100%"
	// +optional
	MinUnhealthy *intstr.IntOrString `json:"minUnhealthy,omitempty"`
}
