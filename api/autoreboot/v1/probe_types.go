// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package v1

import (
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/fairlead-dev/fairlead/api/common"
)

// Probe fires when enough pods of a target have failed a check often enough in a row. It does not replace the
// kubelet's probes, which restart one container in its pod.
//
// +kubebuilder:validation:XValidation:rule="[has(self.httpGet),has(self.tcpSocket),has(self.grpc),has(self.exec)].exists_one(x,x)",message="set exactly one of httpGet, tcpSocket, grpc, exec"
// +kubebuilder:validation:XValidation:rule="!has(self.timeout) || !has(self.period) || duration(self.timeout) <= duration(self.period) || !self.timeout.matches('^([0-9]{1,5}(h|m|s|ms)){1,4}$') || !self.period.matches('^([0-9]{1,5}(h|m|s|ms)){1,4}$')",message="timeout must not exceed period"
type Probe struct {
	// httpGet succeeds with a status from 200 to 399. Redirects are not followed.
	//
	// +optional
	HTTPGet *HTTPGet `json:"httpGet,omitempty"`

	// tcpSocket succeeds when a connection opens.
	//
	// +optional
	TCPSocket *TCPSocket `json:"tcpSocket,omitempty"`

	// grpc succeeds when the service returns SERVING to the gRPC health protocol.
	//
	// +optional
	GRPC *GRPC `json:"grpc,omitempty"`

	// exec succeeds when the command ends with 0 inside a container. It is kept, and
	// never run: the trigger is Unknown with reason ExecUnsupported.
	//
	// +optional
	Exec *Exec `json:"exec,omitempty"`

	// period is the time from one check of a pod to its next, at least 1s. The default is 30s, or
	// timeout where that is longer.
	//
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('1s') || !self.matches('^([0-9]{1,5}(h|m|s|ms)){1,4}$')",message="period must be at least 1s"
	// +optional
	Period *common.Duration `json:"period,omitempty"`

	// timeout of one check. The default is 5s, or period where that is shorter.
	//
	// +optional
	Timeout *common.Duration `json:"timeout,omitempty"`

	// failureThreshold is how many checks in a row must fail for a pod to be unhealthy, from 1 to
	// 100. The default is 5.
	//
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	// +optional
	FailureThreshold *int32 `json:"failureThreshold,omitempty"`

	// successThreshold is how many checks in a row must succeed for a pod to be healthy again,
	// from 1 to 100. The default is 1.
	//
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	// +optional
	SuccessThreshold *int32 `json:"successThreshold,omitempty"`

	// minUnhealthy is how many pods of a target must be unhealthy for the trigger to fire: a
	// number, or a percentage of those that are checked, rounded up and never below one. The
	// default is 50%: restarting a whole workload for the sake of one pod costs more than it
	// heals, and one pod is for its own liveness probe to restart.
	//
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:MaxLength=5
	// +kubebuilder:validation:Pattern=`^(100|[1-9]?[0-9])%$`
	// +kubebuilder:validation:XValidation:rule="type(self) != int || self >= 0",message="must be a non-negative integer or a percentage 0%-100%"
	// +optional
	MinUnhealthy *intstr.IntOrString `json:"minUnhealthy,omitempty"`
}

// HTTPScheme is the scheme of an HTTP check.
//
// +kubebuilder:validation:Enum=HTTP;HTTPS
type HTTPScheme string

// The schemes of an HTTP check. HTTPS does not verify the pod's certificate, as the kubelet does
// not.
const (
	SchemeHTTP  HTTPScheme = "HTTP"
	SchemeHTTPS HTTPScheme = "HTTPS"
)

// HTTPGet is an HTTP check.
type HTTPGet struct {
	// host to ask instead of every pod's own IP: a DNS name or an IP, subject to the operator's
	// egress policy.
	//
	// +kubebuilder:validation:MaxLength=253
	// +optional
	Host string `json:"host,omitempty"`

	// port number.
	//
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	// +required
	Port int32 `json:"port"`

	// path of the request, with its query if any. The default is "/".
	//
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:XValidation:rule="self.startsWith('/')",message="must start with /"
	// +optional
	Path *string `json:"path,omitempty"`

	// scheme is HTTP or HTTPS. The default is HTTP.
	//
	// +optional
	Scheme *HTTPScheme `json:"scheme,omitempty"`

	// headers to send. They are stored as plain text: put no secret there.
	//
	// +kubebuilder:validation:MaxItems=16
	// +listType=map
	// +listMapKey=name
	// +optional
	Headers []HTTPHeader `json:"headers,omitempty"`
}

// HTTPHeader is one header of an HTTP check.
type HTTPHeader struct {
	// name of the header.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	// +required
	Name string `json:"name"`

	// value of the header.
	//
	// +kubebuilder:validation:MaxLength=1024
	// +required
	Value string `json:"value"`
}

// TCPSocket is a check that a port accepts connections.
type TCPSocket struct {
	// host to connect to instead of every pod's own IP: a DNS name or an IP, subject to the
	// operator's egress policy.
	//
	// +kubebuilder:validation:MaxLength=253
	// +optional
	Host string `json:"host,omitempty"`

	// port number.
	//
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	// +required
	Port int32 `json:"port"`
}

// GRPC is a check by the gRPC health protocol, without TLS.
type GRPC struct {
	// host to connect to instead of every pod's own IP: a DNS name or an IP, subject to the
	// operator's egress policy.
	//
	// +kubebuilder:validation:MaxLength=253
	// +optional
	Host string `json:"host,omitempty"`

	// port number.
	//
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	// +required
	Port int32 `json:"port"`

	// service in the request. Where it is empty, the health of the whole server is requested.
	//
	// +kubebuilder:validation:MaxLength=253
	// +optional
	Service string `json:"service,omitempty"`
}

// Exec is a check by a command inside a container.
type Exec struct {
	// container to run the command in. Where it is empty, it is the pod's default container.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +optional
	Container string `json:"container,omitempty"`

	// command and its arguments. No shell reads them.
	//
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=1024
	// +listType=atomic
	// +required
	Command []string `json:"command,omitempty"`
}
