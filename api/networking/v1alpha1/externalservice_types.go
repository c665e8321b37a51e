// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/fairlead-dev/fairlead/api/common"
)

// ExternalService publishes hosts outside the cluster as a Service of the same name and
// namespace.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=externalservices,singular=externalservice,shortName=extsvc,categories=fairlead
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Healthy",type=boolean,JSONPath=`.status.healthy`
// +kubebuilder:printcolumn:name="Resolved",type=date,JSONPath=`.status.lastResolved`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="self.metadata.name.size() <= 52",fieldPath=".metadata",message="name must be at most 52 characters"
type ExternalService struct {
	metav1.TypeMeta `json:",inline"`
	// metadata of the object. The name becomes the name of the Service.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec defines what is published.
	// +required
	Spec ExternalServiceSpec `json:"spec,omitzero"`

	// status is the observed state.
	// +kubebuilder:default:={"observedGeneration":-1}
	// +structType=atomic
	// +optional
	Status ExternalServiceStatus `json:"status,omitzero"`
}

// ExternalServiceList is a list of ExternalServices.
//
// +kubebuilder:object:root=true
type ExternalServiceList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []ExternalService `json:"items"`
}

// ExternalServiceSpec defines what is published.
type ExternalServiceSpec struct {
	// hosts are DNS names and IP addresses. With a probe, their order is the order of failover; without one, all
	// are published. v1 accepts 32 endpoints. The limit here is higher, since the view of a v1 object with many
	// addresses must stay writable.
	//
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=3200
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=253
	// +listType=atomic
	// +required
	Hosts []string `json:"hosts,omitempty"`

	// ports are the TCP ports by name, the same inside and outside the cluster.
	//
	// +kubebuilder:validation:MinProperties=1
	// +kubebuilder:validation:MaxProperties=16
	// +required
	Ports map[string]PortNumber `json:"ports,omitempty"`

	// refreshSeconds is the time between two lookups of the DNS names, in seconds. Without it
	// the records' own lifetimes count.
	//
	// +kubebuilder:validation:Minimum=1
	// +optional
	RefreshSeconds *int32 `json:"refreshSeconds,omitempty"`

	// probe is run against every address. Without it every address counts as healthy.
	// +optional
	Probe *Probe `json:"probe,omitempty"`
}

// PortNumber is a port from 1 to 65535.
//
// +kubebuilder:validation:Minimum=1
// +kubebuilder:validation:Maximum=65535
type PortNumber int32

// Probe defines how an address is checked: by tcpSocket, httpGet or grpc.
type Probe struct {
	common.Probe `json:",inline"`

	// tcpSocket succeeds where a connection is accepted.
	// +optional
	TCPSocket *common.TCPSocketAction `json:"tcpSocket,omitempty"`
}

// ExternalServiceStatus is the observed state.
type ExternalServiceStatus struct {
	// conditions are those of v1.
	//
	// +kubebuilder:validation:MaxItems=16
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// observedGeneration is that of v1. It is -1 until the object is reconciled for the first time.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// addresses of all hosts.
	//
	// +kubebuilder:validation:MaxItems=3200
	// +kubebuilder:validation:items:MaxLength=45
	// +listType=atomic
	// +optional
	Addresses []string `json:"addresses,omitempty"`

	// healthy is true while every address of the active priority is healthy.
	// +optional
	Healthy *bool `json:"healthy,omitempty"`

	// lastResolved is when a DNS name was last looked up with success.
	// +optional
	LastResolved *metav1.Time `json:"lastResolved,omitempty"`

	// v1 is the status as v1 has it, where this version cannot express all of it. Conversion writes it, so that
	// a write at this version leaves the status of v1 as it is; clients must not change it.
	//
	// +kubebuilder:pruning:PreserveUnknownFields
	// +optional
	V1 *runtime.RawExtension `json:"v1,omitempty"`
}
