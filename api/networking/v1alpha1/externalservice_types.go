// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
)

// ExternalService publishes something outside the cluster as a Service of the same name and
// namespace, whose EndpointSlices hold the addresses that are healthy.
//
// +kubebuilder:object:root=true
// +kubebuilder:deprecatedversion:warning="networking.fairlead.dev/v1alpha1 ExternalService is deprecated; use networking.fairlead.dev/v1, where probe is healthCheck"
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=externalservices,singular=externalservice,shortName=extsvc,categories=fairlead
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="State",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Healthy",type=string,JSONPath=`.status.conditions[?(@.type=="Healthy")].status`
// +kubebuilder:printcolumn:name="Cluster-IP",type=string,JSONPath=`.status.clusterIP`
// +kubebuilder:printcolumn:name="Published",type=integer,JSONPath=`.status.addresses.published`
// +kubebuilder:printcolumn:name="Priority",type=integer,JSONPath=`.status.activePriority`,priority=1
// +kubebuilder:printcolumn:name="Waiting-For",type=string,JSONPath=`.status.conditions[?(@.type=="Waiting")].reason`,priority=1
// +kubebuilder:printcolumn:name="Suspended",type=boolean,JSONPath=`.spec.suspend`,priority=1
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="self.metadata.name.size() <= 52",fieldPath=".metadata",message="name must be at most 52 characters"
type ExternalService struct {
	metav1.TypeMeta `json:",inline"`
	// metadata of the object. The name becomes the name of the Service.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec defines what is published, and how.
	// +required
	Spec ExternalServiceSpec `json:"spec,omitzero"`

	// status is the observed state of what is published.
	//
	// +kubebuilder:default:={"observedGeneration":-1}
	// +structType=atomic
	// +optional
	Status networkingv1.ExternalServiceStatus `json:"status,omitzero"`
}

// ExternalServiceList is a list of ExternalServices.
//
// +kubebuilder:object:root=true
type ExternalServiceList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []ExternalService `json:"items"`
}

// ExternalServiceSpec defines what is published, and how.
//
// +kubebuilder:validation:XValidation:rule="!has(self.probe) || !has(self.probe.tcpSocket) || (has(self.probe.tcpSocket.port) ? type(self.probe.tcpSocket.port) == int || self.ports.exists(p, (!has(p.protocol) || p.protocol == 'TCP') && p.name == self.probe.tcpSocket.port) : size(self.ports) == 1 && self.ports.all(p, !has(p.protocol) || p.protocol == 'TCP'))",fieldPath=".probe.tcpSocket.port",message="port must be a number or the name of a TCP port of spec.ports, and may be absent where that has a single port"
// +kubebuilder:validation:XValidation:rule="!has(self.probe) || !has(self.probe.httpGet) || (has(self.probe.httpGet.port) ? type(self.probe.httpGet.port) == int || self.ports.exists(p, (!has(p.protocol) || p.protocol == 'TCP') && p.name == self.probe.httpGet.port) : size(self.ports) == 1 && self.ports.all(p, !has(p.protocol) || p.protocol == 'TCP'))",fieldPath=".probe.httpGet.port",message="port must be a number or the name of a TCP port of spec.ports, and may be absent where that has a single port"
// +kubebuilder:validation:XValidation:rule="!has(self.probe) || !has(self.probe.grpc) || (has(self.probe.grpc.port) ? type(self.probe.grpc.port) == int || self.ports.exists(p, (!has(p.protocol) || p.protocol == 'TCP') && p.name == self.probe.grpc.port) : size(self.ports) == 1 && self.ports.all(p, !has(p.protocol) || p.protocol == 'TCP'))",fieldPath=".probe.grpc.port",message="port must be a number or the name of a TCP port of spec.ports, and may be absent where that has a single port"
// +kubebuilder:validation:XValidation:rule="self.endpoints.all(e, !has(e.ports) || e.ports.all(q, self.ports.exists(p, p.name == q.name)))",message="endpoints[].ports must name one of ports"
// +kubebuilder:validation:XValidation:rule="!has(self.failover) || has(self.probe)",message="failover needs probe"
// +kubebuilder:validation:XValidation:rule="self.endpoints.all(e, !has(e.priority) || e.priority == 0) || has(self.probe)",message="more than one priority needs probe"
type ExternalServiceSpec struct {
	// suspend freezes the published EndpointSlices as they are: nothing is resolved, checked or
	// written until it is false again. The default is false.
	// +optional
	Suspend *bool `json:"suspend,omitempty"`

	// service defines the fields of the Service. The default is a ClusterIP of both families, without labels of its own.
	// +optional
	Service *networkingv1.ServiceTemplate `json:"service,omitempty"`

	// networkPolicy keeps a NetworkPolicy named <name>-egress, which allows the pods that it selects egress to the
	// addresses and ports of this object, and DNS. If it is absent, there is none.
	// +optional
	NetworkPolicy *networkingv1.NetworkPolicyTemplate `json:"networkPolicy,omitempty"`

	// ports of the Service, 1 to 16. Each pair of port and protocol is unique.
	//
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:XValidation:rule="self.all(a, self.exists_one(b, a.port == b.port && (has(a.protocol) ? a.protocol : 'TCP') == (has(b.protocol) ? b.protocol : 'TCP')))",message="port and protocol must be unique"
	// +listType=map
	// +listMapKey=name
	// +required
	Ports []networkingv1.ServicePort `json:"ports,omitempty"`

	// endpoints are the places outside the cluster, 1 to 32.
	//
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	// +listType=map
	// +listMapKey=name
	// +required
	Endpoints []networkingv1.Endpoint `json:"endpoints,omitempty"`

	// resolution defines how the DNS names of endpoints are looked up. Where it is absent and an endpoint has
	// dns, each field has its own default.
	// +optional
	Resolution *networkingv1.Resolution `json:"resolution,omitempty"`

	// probe is healthCheck of v1. It is run against every address; without it every address counts as healthy.
	// +optional
	Probe *networkingv1.HealthCheck `json:"probe,omitempty"`

	// failover chooses among priorities. It needs probe; where it is absent, every field has
	// its own default.
	// +optional
	Failover *networkingv1.Failover `json:"failover,omitempty"`

	// deletionPolicy determines what happens to the Service and its EndpointSlices when this object is deleted:
	// Delete (the default) deletes them, Orphan keeps them.
	// +optional
	DeletionPolicy *networkingv1.DeletionPolicy `json:"deletionPolicy,omitempty"`

	// historyLimit is how many failovers, failbacks and faults the status remembers, from 1 to 50. The default is 10.
	//
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=50
	// +optional
	HistoryLimit *int32 `json:"historyLimit,omitempty"`
}
