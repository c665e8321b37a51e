// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package common

import "k8s.io/apimachinery/pkg/util/intstr"

// Check defines how health is checked: of each address of an ExternalService, or of each pod of a RebootPolicy's
// targets. Its members are those of a container's probe, with times as durations. If a default differs by kind, both are
// given.
//
// +kubebuilder:validation:XValidation:rule="[has(self.tcpSocket),has(self.httpGet),has(self.grpc)].exists_one(x,x)",message="set exactly one of tcpSocket, httpGet, grpc"
// +kubebuilder:validation:XValidation:rule="!has(self.timeout) || !has(self.interval) || duration(self.timeout) <= duration(self.interval) || !self.timeout.matches('^([0-9]{1,5}(h|m|s|ms)){1,4}$') || !self.interval.matches('^([0-9]{1,5}(h|m|s|ms)){1,4}$')",message="timeout must not exceed interval"
type Check struct {
	// tcpSocket succeeds where a connection is accepted and each of its steps succeeds. Exactly one of tcpSocket, httpGet and
	// grpc is set.
	// +optional
	TCPSocket *TCPSocketAction `json:"tcpSocket,omitempty"`

	// httpGet succeeds where a request returns an expected status, and expectedBody if that is set. Redirects are not followed.
	// +optional
	HTTPGet *HTTPGetAction `json:"httpGet,omitempty"`

	// grpc succeeds where the standard gRPC health service returns SERVING.
	// +optional
	GRPC *GRPCAction `json:"grpc,omitempty"`

	// tls has the check use TLS. Without it, tcpSocket and grpc use none, and for the scheme HTTPS an ExternalService trusts
	// the system's roots, while a RebootPolicy verifies nothing, as the kubelet does: the certificate of a pod rarely names
	// its IP.
	// +optional
	TLS *CheckTLS `json:"tls,omitempty"`

	// interval is the time between two checks, at least 1s. An ExternalService uses it while the address is healthy. The
	// default is 10s in an ExternalService and 30s in a RebootPolicy, or timeout if that is longer.
	//
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('1s') || !self.matches('^([0-9]{1,5}(h|m|s|ms)){1,4}$')",message="interval must be at least 1s"
	// +optional
	Interval *Duration `json:"interval,omitempty"`

	// timeout of one check, at most interval. The default is 2s in an ExternalService and 5s in a RebootPolicy, or
	// interval where that is shorter.
	//
	// +optional
	Timeout *Duration `json:"timeout,omitempty"`

	// successThreshold is how many successes in a row make an address or a pod healthy again. The default is 2 in an
	// ExternalService and 1 in a RebootPolicy.
	//
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	// +optional
	SuccessThreshold *int32 `json:"successThreshold,omitempty"`

	// failureThreshold is how many failures in a row make an address or a pod unhealthy. The default is 3 in an
	// ExternalService and 5 in a RebootPolicy.
	//
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	// +optional
	FailureThreshold *int32 `json:"failureThreshold,omitempty"`
}

// Request returns what the check sends and expects, without its times and thresholds.
func (c *Check) Request() Check {
	return Check{TCPSocket: c.TCPSocket, HTTPGet: c.HTTPGet, GRPC: c.GRPC, TLS: c.TLS}
}

// Port returns the port of the member that is set, the first of several; nil where it has none.
func (c *Check) Port() *intstr.IntOrString {
	switch {
	case c.TCPSocket != nil:
		return c.TCPSocket.Port
	case c.HTTPGet != nil:
		return c.HTTPGet.Port
	case c.GRPC != nil:
		return c.GRPC.Port
	}
	return nil
}

// TCPSocketAction opens a connection, goes through its steps and closes it again.
type TCPSocketAction struct {
	// port to connect to, by number or name. In an ExternalService a name is one of the TCP ports of spec.ports. A number that
	// spec.ports has is that port with its targetPort, and any other is a port that is checked and not published. It may be
	// absent where spec.ports has a single port. In a RebootPolicy it is required, and a name is that of a container's port.
	//
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:MaxLength=15
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	// +kubebuilder:validation:XValidation:rule="type(self) != int || self >= 1 && self <= 65535",message="must be a port number from 1 to 65535, or the name of a port"
	// +optional
	Port *intstr.IntOrString `json:"port,omitempty"`

	// steps are taken in this order once the connection is there, over TLS where tls is set. A protocol whose server greets
	// first begins with a step that only expects. Without steps, an accepted connection is enough.
	//
	// +kubebuilder:validation:MaxItems=4
	// +listType=atomic
	// +optional
	Steps []TCPStep `json:"steps,omitempty"`
}

// TCPStep sends something, or waits for something, or both in this order.
//
// +kubebuilder:validation:XValidation:rule="has(self.send) || has(self.sendFrom) || has(self.expect)",message="set send, sendFrom or expect"
// +kubebuilder:validation:XValidation:rule="!has(self.send) || !has(self.sendFrom)",message="set one of send and sendFrom"
type TCPStep struct {
	// send is the text to send, with the escapes of a Go string, such as \r\n or \x00. It is stored as plain text: use sendFrom
	// for a secret.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	Send string `json:"send,omitempty"`

	// sendFrom sends a value of a Secret.
	// +optional
	SendFrom *SendSource `json:"sendFrom,omitempty"`

	// expect is the text to wait for, with the escapes of a Go string. The step succeeds once it is part of what the server has
	// sent since the match of the step before, and fails after 4 KiB without it or at the end of timeout.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	Expect string `json:"expect,omitempty"`
}

// SendSource is a value of a Secret, with the text around it: prefix, value and suffix are sent as one.
type SendSource struct {
	// prefix is sent before the value, with the escapes of a Go string.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	Prefix string `json:"prefix,omitempty"`

	// secretKeyRef is a key of a Secret in the same namespace. Its value, at most 1 KiB, is sent as it is, without escapes.
	// +required
	SecretKeyRef SecretKeyReference `json:"secretKeyRef,omitzero"`

	// suffix is sent after the value, with the escapes of a Go string, such as \r\n.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	Suffix string `json:"suffix,omitempty"`
}

// SecretKeyReference is a key of a Secret.
type SecretKeyReference struct {
	// name of the Secret.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +required
	Name string `json:"name,omitempty"`

	// key of the Secret.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +required
	Key string `json:"key,omitempty"`
}

// HTTPGetAction sends a request without a body.
//
// +kubebuilder:validation:XValidation:rule="!has(self.expectedBody) || !has(self.method) || self.method != 'HEAD'",message="expectedBody needs a response with a body: use method GET"
type HTTPGetAction struct {
	// port to connect to, by number or name, as that of tcpSocket.
	//
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:MaxLength=15
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	// +kubebuilder:validation:XValidation:rule="type(self) != int || self >= 1 && self <= 65535",message="must be a port number from 1 to 65535, or the name of a port"
	// +optional
	Port *intstr.IntOrString `json:"port,omitempty"`

	// method is GET, HEAD or OPTIONS. The default is GET.
	// +optional
	Method *HTTPMethod `json:"method,omitempty"`

	// path with its query. The default is "/".
	//
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:XValidation:rule="self.startsWith('/')",message="must start with /"
	// +optional
	Path *string `json:"path,omitempty"`

	// scheme is HTTP or HTTPS. The default is HTTP, or HTTPS where tls is set.
	// +optional
	Scheme *HTTPScheme `json:"scheme,omitempty"`

	// hostHeader is the Host header. If it is absent, the DNS name that is connected to is sent, or the address.
	//
	// +kubebuilder:validation:MaxLength=253
	// +optional
	HostHeader *string `json:"hostHeader,omitempty"`

	// httpHeaders to send. They are stored as plain text: put no secret there.
	//
	// +kubebuilder:validation:MaxItems=16
	// +listType=map
	// +listMapKey=name
	// +optional
	HTTPHeaders []HTTPHeader `json:"httpHeaders,omitempty"`

	// expectedStatuses are the ranges of status codes that count as success. The default is 200 to 399.
	//
	// +kubebuilder:validation:MaxItems=8
	// +listType=atomic
	// +optional
	ExpectedStatuses []StatusRange `json:"expectedStatuses,omitempty"`

	// expectedBody is a text that the first 4 KiB of the body must have. Without it, the body is not read.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	ExpectedBody string `json:"expectedBody,omitempty"`
}

// HTTPMethod is GET, HEAD or OPTIONS, which change nothing at the server.
//
// +kubebuilder:validation:Enum=GET;HEAD;OPTIONS
type HTTPMethod string

const (
	// MethodGet requests a resource.
	MethodGet HTTPMethod = "GET"
	// MethodHead requests the header of its response alone.
	MethodHead HTTPMethod = "HEAD"
	// MethodOptions requests what the server supports.
	MethodOptions HTTPMethod = "OPTIONS"
)

// HTTPScheme is HTTP or HTTPS.
//
// +kubebuilder:validation:Enum=HTTP;HTTPS
type HTTPScheme string

const (
	// SchemeHTTP is plain HTTP.
	SchemeHTTP HTTPScheme = "HTTP"
	// SchemeHTTPS is HTTP over TLS.
	SchemeHTTPS HTTPScheme = "HTTPS"
)

// HTTPHeader is one header of a request.
type HTTPHeader struct {
	// name of the header.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	// +required
	Name string `json:"name,omitempty"`

	// value of the header.
	//
	// +kubebuilder:validation:MaxLength=1024
	// +required
	Value string `json:"value"`
}

// StatusRange is a range of HTTP status codes, both ends included.
//
// +kubebuilder:validation:XValidation:rule="self.start <= self.end",message="start must not exceed end"
type StatusRange struct {
	// start is the first status code.
	//
	// +kubebuilder:validation:Minimum=100
	// +kubebuilder:validation:Maximum=599
	// +required
	Start int32 `json:"start,omitempty"`

	// end is the last status code.
	//
	// +kubebuilder:validation:Minimum=100
	// +kubebuilder:validation:Maximum=599
	// +required
	End int32 `json:"end,omitempty"`
}

// GRPCAction calls the standard gRPC health service.
type GRPCAction struct {
	// port to connect to, by number or name, as that of tcpSocket.
	//
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:MaxLength=15
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	// +kubebuilder:validation:XValidation:rule="type(self) != int || self >= 1 && self <= 65535",message="must be a port number from 1 to 65535, or the name of a port"
	// +optional
	Port *intstr.IntOrString `json:"port,omitempty"`

	// service in the request. Where it is absent, the health of the whole server is requested.
	//
	// +kubebuilder:validation:MaxLength=253
	// +optional
	Service *string `json:"service,omitempty"`

	// authority is the :authority header. Where it is absent, the DNS name that is connected to is sent, or the address.
	//
	// +kubebuilder:validation:MaxLength=253
	// +optional
	Authority *string `json:"authority,omitempty"`
}

// CheckTLS defines how the server's certificate is verified, and which one the check presents.
type CheckTLS struct {
	// serverName is the name that the certificate must be valid for. Where it is absent, it is the DNS name that is
	// connected to, or the address.
	//
	// +kubebuilder:validation:MaxLength=253
	// +optional
	ServerName *string `json:"serverName,omitempty"`

	// caSecretName names a Secret in the same namespace whose ca.crt is trusted instead of the system's roots.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +optional
	CASecretName string `json:"caSecretName,omitempty"`

	// clientCertificateSecretName names a Secret in the same namespace, whose tls.crt and tls.key are presented to the server.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +optional
	ClientCertificateSecretName string `json:"clientCertificateSecretName,omitempty"`

	// insecureSkipVerify accepts any certificate. The default is false.
	// +optional
	InsecureSkipVerify *bool `json:"insecureSkipVerify,omitempty"`
}
