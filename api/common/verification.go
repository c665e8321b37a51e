// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package common

// FailurePolicy says what follows a failed verification.
//
// +kubebuilder:validation:Enum=Halt;Continue
type FailurePolicy string

const (
	// FailureHalt starts nothing more until the spec changes or the retry annotation is set.
	FailureHalt FailurePolicy = "Halt"
	// FailureContinue records the result and goes on.
	FailureContinue FailurePolicy = "Continue"
)

// Verification defines when a disrupted workload counts as recovered, and how many requests of its clients may fail.
type Verification struct {
	// timeout is how long the workload may take to recover, at most 24h. The default is 15m for a restart, and 10m for a
	// run.
	//
	// +kubebuilder:validation:XValidation:rule="duration(self) <= duration('24h') || !self.matches('^([0-9]{1,5}(h|m|s|ms)){1,4}$')",message="must be at most 24h"
	// +optional
	Timeout *Duration `json:"timeout,omitempty"`

	// soak is how long the workload must then stay available, at most 24h. The default is 30s, and 0s for a run of
	// target.template.
	//
	// +kubebuilder:validation:XValidation:rule="duration(self) <= duration('24h') || !self.matches('^([0-9]{1,5}(h|m|s|ms)){1,4}$')",message="must be at most 24h"
	// +optional
	Soak *Duration `json:"soak,omitempty"`

	// onFailure is Halt, which starts nothing more until the spec changes or the retry annotation is set, or Continue.
	// There is no rollback, since a restart or a run changes nothing that could be rolled back. The default is Halt.
	//
	// +optional
	OnFailure *FailurePolicy `json:"onFailure,omitempty"`

	// probes are requests that the operator sends from the start of a restart or a run to its verdict. A dry run sends
	// none. The verdict is a failure if more than maxFailures requests of one probe fail. A run kills nothing before a
	// request of each probe has succeeded.
	//
	// +kubebuilder:validation:MaxItems=4
	// +listType=map
	// +listMapKey=name
	// +optional
	Probes []VerificationProbe `json:"probes,omitempty"`
}

// VerificationProbe is a request that the operator repeats while a workload is disrupted, and how many of these may
// fail. Its members are those of a check.
//
// +kubebuilder:validation:XValidation:rule="[has(self.tcpSocket),has(self.httpGet),has(self.grpc)].exists_one(x,x)",message="set exactly one of tcpSocket, httpGet, grpc"
// +kubebuilder:validation:XValidation:rule="!has(self.tls) || !has(self.tls.clientCertificateSecretName)",fieldPath=".tls.clientCertificateSecretName",message="verification.probes send no credentials: leave clientCertificateSecretName out"
// +kubebuilder:validation:XValidation:rule="!has(self.tcpSocket) || !has(self.tcpSocket.steps) || self.tcpSocket.steps.all(s, !has(s.sendFrom))",fieldPath=".tcpSocket.steps",message="verification.probes send no credentials: use send, or leave the step out"
// +kubebuilder:validation:XValidation:rule="!has(self.timeout) || !has(self.interval) || duration(self.timeout) <= duration(self.interval) || !self.timeout.matches('^([0-9]{1,5}(h|m|s|ms)){1,4}$') || !self.interval.matches('^([0-9]{1,5}(h|m|s|ms)){1,4}$')",message="timeout must not exceed interval"
// +kubebuilder:validation:XValidation:rule="[has(self.tcpSocket) && !has(self.tcpSocket.port), has(self.httpGet) && !has(self.httpGet.port), has(self.grpc) && !has(self.grpc.port)].all(x, !x)",message="port is required"
// +kubebuilder:validation:XValidation:rule="[has(self.tcpSocket) && has(self.tcpSocket.port) && type(self.tcpSocket.port) != int, has(self.httpGet) && has(self.httpGet.port) && type(self.httpGet.port) != int, has(self.grpc) && has(self.grpc.port) && type(self.grpc.port) != int].all(x, !x)",message="port must be a number: a name is that of a container's port"
type VerificationProbe struct {
	// name of the probe, unique in the list. The status counts its requests under this name.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$')",message="must be lower-case letters, digits and hyphens, with a letter or digit at both ends"
	// +required
	Name string `json:"name,omitempty"`

	// host that clients use: a DNS name or an IP, such as that of an Ingress, a Gateway or a load balancer. The egress
	// policy of the operator must allow it.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +required
	Host string `json:"host,omitempty"`

	// tcpSocket succeeds where a connection is accepted and each of its steps succeeds. Exactly one of tcpSocket, httpGet and
	// grpc is set, and its port is a number.
	// +optional
	TCPSocket *TCPSocketAction `json:"tcpSocket,omitempty"`

	// httpGet succeeds where a request returns an expected status, and expectedBody if that is set. Redirects are not followed.
	// +optional
	HTTPGet *HTTPGetAction `json:"httpGet,omitempty"`

	// grpc succeeds where the standard gRPC health service returns SERVING.
	// +optional
	GRPC *GRPCAction `json:"grpc,omitempty"`

	// tls has the request use TLS. Without it, tcpSocket and grpc use none, and the scheme HTTPS trusts the system's roots.
	// +optional
	TLS *CheckTLS `json:"tls,omitempty"`

	// interval between two requests, at least 500ms. The default is 1s, or timeout where that is longer.
	//
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('500ms') || !self.matches('^([0-9]{1,5}(h|m|s|ms)){1,4}$')",message="interval must be at least 500ms"
	// +optional
	Interval *Duration `json:"interval,omitempty"`

	// timeout of one request, at most interval. A request that takes longer has failed. The default is 1s, or interval if
	// that is shorter.
	//
	// +optional
	Timeout *Duration `json:"timeout,omitempty"`

	// maxFailures is how many requests may fail while one workload is disrupted, at most 1000000. The default is 0.
	//
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000000
	// +optional
	MaxFailures *int32 `json:"maxFailures,omitempty"`
}

// Check returns the check that the probe sends, without thresholds: each result counts.
func (p *VerificationProbe) Check() Check {
	return Check{TCPSocket: p.TCPSocket, HTTPGet: p.HTTPGet, GRPC: p.GRPC, TLS: p.TLS, Interval: p.Interval, Timeout: p.Timeout}
}

// RequestCounts counts the requests of verification.probes while a workload was disrupted.
type RequestCounts struct {
	// sent is how many requests have a result that counts.
	//
	// +kubebuilder:validation:Minimum=0
	// +required
	Sent int64 `json:"sent"`

	// failed is how many of them failed.
	//
	// +kubebuilder:validation:Minimum=0
	// +required
	Failed int64 `json:"failed"`

	// inconclusive is how many further requests failed and do not count, since the network of the operator was probably
	// at fault. It is absent if there were none.
	//
	// +kubebuilder:validation:Minimum=1
	// +optional
	Inconclusive int64 `json:"inconclusive,omitempty"`
}

// ProbeRequests counts the requests of one of verification.probes.
type ProbeRequests struct {
	// name of the probe.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +required
	Name string `json:"name,omitempty"`

	RequestCounts `json:",inline"`
}
