// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package v1

import "github.com/fairlead-dev/fairlead/api/common"

// HealthCheck defines how every address is checked. An address becomes Unhealthy after unhealthyThreshold
// failures in a row, and Healthy after healthyThreshold successes in a row. The first result of an address
// decides alone.
//
// +kubebuilder:validation:XValidation:rule="[has(self.tcp),has(self.http),has(self.grpc)].exists_one(x,x)",message="set exactly one of tcp, http, grpc"
// +kubebuilder:validation:XValidation:rule="!has(self.timeout) || !has(self.interval) || duration(self.timeout) <= duration(self.interval) || !self.timeout.matches('^([0-9]{1,5}(h|m|s|ms)){1,4}$') || !self.interval.matches('^([0-9]{1,5}(h|m|s|ms)){1,4}$')",message="timeout must not exceed interval"
// +kubebuilder:validation:XValidation:rule="!has(self.tls) || !has(self.tcp)",message="tls goes with http or grpc"
type HealthCheck struct {
	// port to check, by name. It may be absent where the object has a single port, of protocol TCP, which is
	// then checked.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=15
	// +optional
	Port string `json:"port,omitempty"`

	// tcp succeeds where a connection is accepted. Exactly one of tcp, http and grpc is set.
	// +optional
	TCP *TCPCheck `json:"tcp,omitempty"`

	// http succeeds where a GET returns an expected status. Redirects are not followed.
	// +optional
	HTTP *HTTPCheck `json:"http,omitempty"`

	// grpc succeeds where the standard gRPC health service returns SERVING.
	// +optional
	GRPC *GRPCCheck `json:"grpc,omitempty"`

	// tls goes with http and grpc.
	// +optional
	TLS *TLSCheck `json:"tls,omitempty"`

	// interval between two checks of a healthy address, at least 1s. The default is 10s, or
	// timeout where that is longer.
	//
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('1s') || !self.matches('^([0-9]{1,5}(h|m|s|ms)){1,4}$')",message="interval must be at least 1s"
	// +optional
	Interval *common.Duration `json:"interval,omitempty"`

	// unhealthyInterval is the interval while the address is unhealthy. The default is 30s.
	//
	// +optional
	UnhealthyInterval *common.Duration `json:"unhealthyInterval,omitempty"`

	// timeout of one check, at most interval. The default is 2s, or interval where that is
	// shorter.
	//
	// +optional
	Timeout *common.Duration `json:"timeout,omitempty"`

	// jitterPercent is added to every interval at random, up to this share of it. The default is
	// 10.
	//
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	// +optional
	JitterPercent *int32 `json:"jitterPercent,omitempty"`

	// healthyThreshold is how many successes in a row make an address healthy again. The default
	// is 2.
	//
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	// +optional
	HealthyThreshold *int32 `json:"healthyThreshold,omitempty"`

	// unhealthyThreshold is how many failures in a row make an address unhealthy. The default is
	// 3.
	//
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	// +optional
	UnhealthyThreshold *int32 `json:"unhealthyThreshold,omitempty"`
}

// TCPCheck opens a connection and closes it again.
type TCPCheck struct{}

// HTTPCheck sends a GET.
type HTTPCheck struct {
	// path with its query. The default is "/".
	//
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:XValidation:rule="self.startsWith('/')",message="must start with /"
	// +optional
	Path *string `json:"path,omitempty"`

	// host is the Host header. Where it is absent, the endpoint's DNS name is sent, or the address.
	//
	// +kubebuilder:validation:MaxLength=253
	// +optional
	Host string `json:"host,omitempty"`

	// scheme is HTTP or HTTPS. The default is HTTP, or HTTPS where tls is set.
	// +optional
	Scheme *HTTPScheme `json:"scheme,omitempty"`

	// expectedStatuses are the ranges of status codes that count as success. The default is 200 to 399.
	//
	// +kubebuilder:validation:MaxItems=8
	// +listType=atomic
	// +optional
	ExpectedStatuses []StatusRange `json:"expectedStatuses,omitempty"`
}

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

// StatusRange is a range of HTTP status codes, both ends included.
//
// +kubebuilder:validation:XValidation:rule="self.start <= self.end",message="start must not exceed end"
type StatusRange struct {
	// start is the first status code.
	//
	// +kubebuilder:validation:Minimum=100
	// +kubebuilder:validation:Maximum=599
	// +required
	Start int32 `json:"start"`

	// end is the last status code.
	//
	// +kubebuilder:validation:Minimum=100
	// +kubebuilder:validation:Maximum=599
	// +required
	End int32 `json:"end"`
}

// GRPCCheck calls the standard gRPC health service.
type GRPCCheck struct {
	// service in the request. Where it is absent, the health of the whole server is requested.
	//
	// +kubebuilder:validation:MaxLength=253
	// +optional
	Service string `json:"service,omitempty"`

	// authority is the :authority header. Where it is absent, the endpoint's DNS name is sent, or the address.
	//
	// +kubebuilder:validation:MaxLength=253
	// +optional
	Authority string `json:"authority,omitempty"`
}

// TLSCheck defines how the server's certificate is verified.
type TLSCheck struct {
	// serverName is the name that the certificate must be valid for. Where it is absent, it is the endpoint's
	// DNS name, or the address.
	//
	// +kubebuilder:validation:MaxLength=253
	// +optional
	ServerName string `json:"serverName,omitempty"`

	// caSecretName names a Secret in the same namespace whose ca.crt is trusted instead of the
	// system's roots.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +optional
	CASecretName string `json:"caSecretName,omitempty"`

	// insecureSkipVerify accepts any certificate. The default is false.
	// +optional
	InsecureSkipVerify *bool `json:"insecureSkipVerify,omitempty"`
}

// Failover chooses which priority is published.
type Failover struct {
	// minHealthyPercent is the share of healthy addresses from which on a priority qualifies. The
	// lowest priority that qualifies is published; where none does, the one with most healthy
	// addresses. The default is 1.
	//
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	// +optional
	MinHealthyPercent *int32 `json:"minHealthyPercent,omitempty"`

	// panicThresholdPercent above 0 publishes all of priority 0 as ready where no address is
	// healthy anywhere. The default, 0, publishes none.
	//
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	// +optional
	PanicThresholdPercent *int32 `json:"panicThresholdPercent,omitempty"`

	// failback is Automatic (the default), or Manual, which stays with the priority that failed
	// over to.
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
	// FailbackAutomatic goes back once failbackDelay has passed.
	FailbackAutomatic FailbackPolicy = "Automatic"
	// FailbackManual goes back only where the annotation FailbackNowAnnotation requests it.
	FailbackManual FailbackPolicy = "Manual"
)
