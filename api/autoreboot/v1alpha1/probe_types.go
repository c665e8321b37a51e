// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import "k8s.io/apimachinery/pkg/util/intstr"

// Probe has the shape of a container's probe. The operator runs it against every pod of the target. An absent
// field has the default of v1, not that of the kubelet.
//
// +kubebuilder:validation:XValidation:rule="[has(self.httpGet),has(self.tcpSocket),has(self.grpc),has(self.exec)].exists_one(x,x)",message="set exactly one of httpGet, tcpSocket, grpc, exec"
// +kubebuilder:validation:XValidation:rule="!has(self.timeoutSeconds) || !has(self.periodSeconds) || self.timeoutSeconds <= self.periodSeconds",message="timeoutSeconds must not exceed periodSeconds"
type Probe struct {
	// httpGet succeeds with a status from 200 to 399.
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

	// exec succeeds when the command ends with 0 inside the pod's default container. It is
	// kept, and never run.
	//
	// +optional
	Exec *Exec `json:"exec,omitempty"`

	// initialDelaySeconds is kept and has no effect: v1 has no such delay.
	//
	// +kubebuilder:validation:Minimum=0
	// +optional
	InitialDelaySeconds *int32 `json:"initialDelaySeconds,omitempty"`

	// periodSeconds is the time from one check of a pod to its next. The default is 30.
	//
	// +kubebuilder:validation:Minimum=1
	// +optional
	PeriodSeconds *int32 `json:"periodSeconds,omitempty"`

	// timeoutSeconds bounds one check. A part of a second that v1 holds is rounded up. The default
	// is 5.
	//
	// +kubebuilder:validation:Minimum=1
	// +optional
	TimeoutSeconds *int32 `json:"timeoutSeconds,omitempty"`

	// failureThreshold is how many checks in a row must fail, from 1 to 100. The default is 5.
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

	// terminationGracePeriodSeconds is kept and has no effect: a restart ends pods with the grace
	// period of their own spec.
	//
	// +kubebuilder:validation:Minimum=0
	// +optional
	TerminationGracePeriodSeconds *int64 `json:"terminationGracePeriodSeconds,omitempty"`
}

// HTTPGet is an HTTP check.
type HTTPGet struct {
	// host to ask instead of every pod's own IP.
	//
	// +kubebuilder:validation:MaxLength=253
	// +optional
	Host string `json:"host,omitempty"`

	// port number. A name is kept, but v1 has numbers alone and refuses the policy until it is
	// given one.
	//
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:MaxLength=15
	// +kubebuilder:validation:Pattern=`^[a-z0-9-]+$`
	// +kubebuilder:validation:XValidation:rule="type(self) != int || self >= 1 && self <= 65535",message="must be a port number from 1 to 65535, or the name of a port"
	// +required
	Port intstr.IntOrString `json:"port"`

	// path of the request, with its query if any. The default is "/".
	//
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:XValidation:rule="self.startsWith('/')",message="must start with /"
	// +optional
	Path *string `json:"path,omitempty"`

	// scheme is HTTP or HTTPS. The default is HTTP.
	//
	// +kubebuilder:validation:Enum=HTTP;HTTPS
	// +optional
	Scheme *string `json:"scheme,omitempty"`

	// httpHeaders to send.
	//
	// +kubebuilder:validation:MaxItems=16
	// +listType=map
	// +listMapKey=name
	// +optional
	HTTPHeaders []HTTPHeader `json:"httpHeaders,omitempty"`
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
	// host to connect to instead of every pod's own IP.
	//
	// +kubebuilder:validation:MaxLength=253
	// +optional
	Host string `json:"host,omitempty"`

	// port number. A name is kept, but v1 has numbers alone and refuses the policy until it is
	// given one.
	//
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:MaxLength=15
	// +kubebuilder:validation:Pattern=`^[a-z0-9-]+$`
	// +kubebuilder:validation:XValidation:rule="type(self) != int || self >= 1 && self <= 65535",message="must be a port number from 1 to 65535, or the name of a port"
	// +required
	Port intstr.IntOrString `json:"port"`
}

// GRPC is a check by the gRPC health protocol, without TLS.
type GRPC struct {
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
	// command and its arguments. No shell reads them.
	//
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=1024
	// +listType=atomic
	// +required
	Command []string `json:"command,omitempty"`
}
