// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-dev/fairlead/api/common"
)

// ExternalServiceStatus is the observed state of what is published.
type ExternalServiceStatus struct {
	// conditions are Ready, Resolved, Healthy, FailedOver, FaultInjected, Waiting and Suspended, which are present from
	// the first reconcile on. Reconciling and Stalled are absent while all is normal.
	//
	// +kubebuilder:validation:MaxItems=16
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// observedGeneration is the most recent generation that the operator has reconciled. It is -1 until the
	// object is reconciled for the first time.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// publishedSpec is a digest of the spec that was last published, without suspend. While the object is suspended, it
	// shows whether the spec has changed since.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	// +optional
	PublishedSpec string `json:"publishedSpec,omitempty"`

	// activePriority is the priority that is published. It is absent while none is.
	// +optional
	ActivePriority *int32 `json:"activePriority,omitempty"`

	// clusterIP is the virtual address of the Service, or None for a headless one.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=45
	// +optional
	ClusterIP string `json:"clusterIP,omitempty"`

	// serviceRef is the Service that this object made.
	// +optional
	ServiceRef *ServiceReference `json:"serviceRef,omitempty"`

	// addresses counts the addresses of all endpoints.
	// +optional
	Addresses *AddressCounts `json:"addresses,omitempty"`

	// handledFailbackNow is the token of the annotation networking.fairlead.dev/failback-now that was handled last.
	//
	// +optional
	HandledFailbackNow common.Token `json:"handledFailbackNow,omitempty"`

	// fault is the last fault that the annotation networking.fairlead.dev/inject-fault requested. The operator stores it
	// here before it begins the fault.
	// +optional
	Fault *FaultStatus `json:"fault,omitempty"`

	// history holds the last changes of the published priority and the last faults, the latest first, at most historyLimit.
	//
	// +kubebuilder:validation:MaxItems=50
	// +listType=atomic
	// +optional
	History []ChangeRecord `json:"history,omitempty"`

	// endpoints are the observed states of the endpoints, by name.
	//
	// +kubebuilder:validation:MaxItems=32
	// +listType=map
	// +listMapKey=name
	// +optional
	Endpoints []EndpointStatus `json:"endpoints,omitempty"`
}

// ServiceReference names the Service that an ExternalService made.
type ServiceReference struct {
	// name of the Service.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +required
	Name string `json:"name,omitempty"`

	// uid of the Service. A Service of the same name with another uid is not this object's.
	//
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MinLength=1
	// +required
	UID types.UID `json:"uid,omitempty"`
}

// AddressCounts counts addresses.
type AddressCounts struct {
	// total is how many addresses the endpoints have together.
	// +required
	Total int32 `json:"total"`
	// healthy is how many of them are healthy. Without a healthCheck, every address that the egress policy allows counts.
	// +required
	Healthy int32 `json:"healthy"`
	// published is how many of them are in the EndpointSlices and ready.
	// +required
	Published int32 `json:"published"`
}

// EndpointStatus is the observed state of one endpoint.
type EndpointStatus struct {
	// name of the endpoint.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +required
	Name string `json:"name,omitempty"`

	// dnsName is the name that the addresses come from. It is absent where the spec lists them.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +optional
	DNSName string `json:"dnsName,omitempty"`

	// resolvedTime is when the DNS name was last looked up with success. It is written only when another field of the
	// status changes.
	// +optional
	ResolvedTime *metav1.Time `json:"resolvedTime,omitempty"`

	// nextResolveTime is when the next lookup of the DNS name is due. It is written only when another field of the status
	// changes.
	// +optional
	NextResolveTime *metav1.Time `json:"nextResolveTime,omitempty"`

	// reason is Resolved, or the reason for which the last lookup failed, as in the condition Resolved.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	// +optional
	Reason string `json:"reason,omitempty"`

	// addresses of the endpoint, the first 100.
	//
	// +kubebuilder:validation:MaxItems=100
	// +listType=atomic
	// +optional
	Addresses []AddressStatus `json:"addresses,omitempty"`
}

// AddressStatus is the observed state of one address.
type AddressStatus struct {
	// ip is the address.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=45
	// +required
	IP string `json:"ip,omitempty"`

	// port of the SRV record that the address comes from. It is absent for an address from another source.
	//
	// +kubebuilder:validation:Minimum=1
	// +optional
	Port int32 `json:"port,omitempty"`

	// health is Healthy, Unhealthy or Unknown. It is absent without a healthCheck.
	// +optional
	Health AddressHealth `json:"health,omitempty"`

	// lastTransitionTime is when health last changed.
	// +optional
	LastTransitionTime *metav1.Time `json:"lastTransitionTime,omitempty"`

	// lastProbeTime is when the address was last checked. It is written only when another field of the status changes.
	// +optional
	LastProbeTime *metav1.Time `json:"lastProbeTime,omitempty"`

	// reason is the result of the check that last changed health, or Denied if the egress policy refuses the address. It
	// is one of a fixed set of words, never text that the server sent.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	// +optional
	Reason string `json:"reason,omitempty"`
}

// AddressHealth is Healthy, Unhealthy or Unknown.
//
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=64
type AddressHealth string

const (
	// AddressHealthy means that the address is published as ready while its priority is published.
	AddressHealthy AddressHealth = "Healthy"
	// AddressUnhealthy means that the address is published as not ready.
	AddressUnhealthy AddressHealth = "Unhealthy"
	// AddressUnknown means that the address was not checked yet.
	AddressUnknown AddressHealth = "Unknown"
)
