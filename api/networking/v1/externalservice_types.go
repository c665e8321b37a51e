// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package v1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-dev/fairlead/api/common"
)

// FailbackNowAnnotation requests a failback to a more preferred priority that is healthy, without waiting for
// failbackDelay. It also works if failback is Manual. Its value is a common.Token.
const FailbackNowAnnotation = "networking.fairlead.dev/failback-now"

// AdoptServiceAnnotation with the value "true" lets an ExternalService take over the Service of its name that an
// earlier ExternalService has left, as with deletionPolicy Orphan. A user who sets it needs the right to update that
// Service. A Service that was not made for an ExternalService is never taken over.
const AdoptServiceAnnotation = "networking.fairlead.dev/adopt-service"

// NetworkPolicyTrialLabel is what pods need, besides the labels of spec.networkPolicy.podSelector, to be selected while
// spec.networkPolicy.dryRun is true. Its value is "true".
const NetworkPolicyTrialLabel = "networking.fairlead.dev/network-policy-trial"

// ExternalService publishes something outside the cluster as a Service of the same name and
// namespace, whose EndpointSlices hold the addresses that are healthy.
//
// +kubebuilder:object:root=true
// +kubebuilder:storageversion
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

// ExternalServiceSpec defines what is published, and how.
//
// +kubebuilder:validation:XValidation:rule="!has(self.healthCheck) || !has(self.healthCheck.tcpSocket) || (has(self.healthCheck.tcpSocket.port) ? type(self.healthCheck.tcpSocket.port) == int || self.ports.exists(p, (!has(p.protocol) || p.protocol == 'TCP') && p.name == self.healthCheck.tcpSocket.port) : size(self.ports) == 1 && self.ports.all(p, !has(p.protocol) || p.protocol == 'TCP'))",fieldPath=".healthCheck.tcpSocket.port",message="port must be a number or the name of a TCP port of spec.ports, and may be absent where that has a single port"
// +kubebuilder:validation:XValidation:rule="!has(self.healthCheck) || !has(self.healthCheck.httpGet) || (has(self.healthCheck.httpGet.port) ? type(self.healthCheck.httpGet.port) == int || self.ports.exists(p, (!has(p.protocol) || p.protocol == 'TCP') && p.name == self.healthCheck.httpGet.port) : size(self.ports) == 1 && self.ports.all(p, !has(p.protocol) || p.protocol == 'TCP'))",fieldPath=".healthCheck.httpGet.port",message="port must be a number or the name of a TCP port of spec.ports, and may be absent where that has a single port"
// +kubebuilder:validation:XValidation:rule="!has(self.healthCheck) || !has(self.healthCheck.grpc) || (has(self.healthCheck.grpc.port) ? type(self.healthCheck.grpc.port) == int || self.ports.exists(p, (!has(p.protocol) || p.protocol == 'TCP') && p.name == self.healthCheck.grpc.port) : size(self.ports) == 1 && self.ports.all(p, !has(p.protocol) || p.protocol == 'TCP'))",fieldPath=".healthCheck.grpc.port",message="port must be a number or the name of a TCP port of spec.ports, and may be absent where that has a single port"
// +kubebuilder:validation:XValidation:rule="self.endpoints.all(e, !has(e.ports) || e.ports.all(q, self.ports.exists(p, p.name == q.name)))",message="endpoints[].ports must name one of ports"
// +kubebuilder:validation:XValidation:rule="!has(self.failover) || has(self.healthCheck)",message="failover needs healthCheck"
// +kubebuilder:validation:XValidation:rule="self.endpoints.all(e, !has(e.priority) || e.priority == 0) || has(self.healthCheck)",message="more than one priority needs healthCheck"
type ExternalServiceSpec struct {
	// suspend leaves the published EndpointSlices as they are: while it is true, the operator resolves, checks and writes
	// nothing. The default is false.
	// +optional
	Suspend *bool `json:"suspend,omitempty"`

	// service defines the fields of the Service. The default is a ClusterIP of both families, without labels of its own.
	// +optional
	Service *ServiceTemplate `json:"service,omitempty"`

	// networkPolicy keeps a NetworkPolicy named <name>-egress, which allows the pods that it selects egress to the
	// addresses and ports of this object, and DNS. If it is absent, there is none.
	// +optional
	NetworkPolicy *NetworkPolicyTemplate `json:"networkPolicy,omitempty"`

	// ports of the Service, 1 to 16. Each pair of port and protocol is unique.
	//
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:XValidation:rule="self.all(a, self.exists_one(b, a.port == b.port && (has(a.protocol) ? a.protocol : 'TCP') == (has(b.protocol) ? b.protocol : 'TCP')))",message="port and protocol must be unique"
	// +listType=map
	// +listMapKey=name
	// +required
	Ports []ServicePort `json:"ports,omitempty"`

	// endpoints are the places outside the cluster, 1 to 32.
	//
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	// +listType=map
	// +listMapKey=name
	// +required
	Endpoints []Endpoint `json:"endpoints,omitempty"`

	// resolution defines how the DNS names of endpoints are looked up. If it is absent, the defaults of its fields apply.
	// +optional
	Resolution *Resolution `json:"resolution,omitempty"`

	// healthCheck is run against every address. Without it every address counts as healthy.
	// +optional
	HealthCheck *HealthCheck `json:"healthCheck,omitempty"`

	// failover defines which priority is published. It needs healthCheck. If it is absent, the defaults of its fields
	// apply.
	// +optional
	Failover *Failover `json:"failover,omitempty"`

	// deletionPolicy determines what happens to the Service and its EndpointSlices when this object is deleted:
	// Delete (the default) deletes them, Orphan keeps them.
	// +optional
	DeletionPolicy *DeletionPolicy `json:"deletionPolicy,omitempty"`

	// historyLimit is how many failovers, failbacks and faults the status remembers, from 1 to 50. The default is 10.
	//
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=50
	// +optional
	HistoryLimit *int32 `json:"historyLimit,omitempty"`
}

// DeletionPolicy is Delete or Orphan.
//
// +kubebuilder:validation:Enum=Delete;Orphan
type DeletionPolicy string

const (
	// DeletionDelete removes what was published.
	DeletionDelete DeletionPolicy = "Delete"
	// DeletionOrphan keeps what was published, without an owner.
	DeletionOrphan DeletionPolicy = "Orphan"
)

// ServiceTemplate defines the fields of the Service. It has no externalIPs, no load balancer and no external name, which
// would let a namespace draw traffic that is not its own (CVE-2020-8554). Fields have the names and meanings that they
// have in a Service. A field that is absent is not set, so that another writer may set it.
//
// +kubebuilder:validation:XValidation:rule="!has(self.publishNotReadyAddresses) || !self.publishNotReadyAddresses || has(self.clusterIP)",fieldPath=".publishNotReadyAddresses",message="publishNotReadyAddresses needs clusterIP None"
// +kubebuilder:validation:XValidation:rule="!has(self.sessionAffinityTimeout) || (has(self.sessionAffinity) && self.sessionAffinity == 'ClientIP')",fieldPath=".sessionAffinityTimeout",message="sessionAffinityTimeout needs sessionAffinity ClientIP"
// +kubebuilder:validation:XValidation:rule="!has(self.ipFamilies) || size(self.ipFamilies) < 2 || !has(self.ipFamilyPolicy) || self.ipFamilyPolicy != 'SingleStack'",fieldPath=".ipFamilyPolicy",message="two ipFamilies need ipFamilyPolicy PreferDualStack or RequireDualStack"
type ServiceTemplate struct {
	// clusterIP is None for a headless Service, whose DNS name resolves to the addresses. If it is absent, Kubernetes gives
	// the Service a cluster IP.
	// +optional
	ClusterIP *ServiceClusterIP `json:"clusterIP,omitempty"`

	// labels to put on the Service.
	//
	// +kubebuilder:validation:MaxProperties=32
	// +optional
	Labels map[string]common.LabelValue `json:"labels,omitempty"`

	// annotations to put on the Service.
	//
	// +kubebuilder:validation:MaxProperties=32
	// +optional
	Annotations map[string]AnnotationValue `json:"annotations,omitempty"`

	// sessionAffinity is ClientIP, which sends connections of a client to the same address while it is ready, or None.
	//
	// +kubebuilder:validation:Enum=ClientIP;None
	// +optional
	SessionAffinity *corev1.ServiceAffinity `json:"sessionAffinity,omitempty"`

	// sessionAffinityTimeout is how long a client keeps its address after its last connection: whole seconds, from 1s to
	// 24h. If it is absent, Kubernetes uses 3h.
	// +optional
	SessionAffinityTimeout *common.Duration `json:"sessionAffinityTimeout,omitempty"`

	// ipFamilies are IPv4, IPv6 or both. The first is that of clusterIP and cannot be changed later. If they are absent,
	// Kubernetes chooses them by ipFamilyPolicy.
	//
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=2
	// +kubebuilder:validation:items:Enum=IPv4;IPv6
	// +kubebuilder:validation:XValidation:rule="size(self) < 2 || self[0] != self[1]",message="families must differ"
	// +listType=atomic
	// +optional
	IPFamilies []corev1.IPFamily `json:"ipFamilies,omitempty"`

	// ipFamilyPolicy is SingleStack, PreferDualStack or RequireDualStack. If it is absent, it is SingleStack with one of
	// ipFamilies, and PreferDualStack otherwise.
	//
	// +kubebuilder:validation:Enum=SingleStack;PreferDualStack;RequireDualStack
	// +optional
	IPFamilyPolicy *corev1.IPFamilyPolicy `json:"ipFamilyPolicy,omitempty"`

	// trafficDistribution is PreferSameZone, PreferSameNode, or PreferClose, an older name of PreferSameZone. With it,
	// EndpointSlices have zone hints for endpoints with a zone. kube-proxy uses them if every ready address has a zone.
	//
	// +kubebuilder:validation:Enum=PreferClose;PreferSameZone;PreferSameNode
	// +optional
	TrafficDistribution *string `json:"trafficDistribution,omitempty"`

	// internalTrafficPolicy is Cluster, or Local, which sends traffic to addresses on the client's node alone. Addresses
	// outside of the cluster are on no node.
	//
	// +kubebuilder:validation:Enum=Cluster;Local
	// +optional
	InternalTrafficPolicy *corev1.ServiceInternalTrafficPolicy `json:"internalTrafficPolicy,omitempty"`

	// publishNotReadyAddresses has the DNS name of a headless Service resolve to unhealthy addresses as well.
	// +optional
	PublishNotReadyAddresses *bool `json:"publishNotReadyAddresses,omitempty"`
}

// AnnotationValue is the value of an annotation, at most 4096 characters.
//
// +kubebuilder:validation:MaxLength=4096
type AnnotationValue string

// NetworkPolicyTemplate defines the NetworkPolicy that follows the addresses of an ExternalService. Each address that the
// object has is in it, whatever its health and its priority, with the ports of the object alone. DNS is port 53 at any
// address.
type NetworkPolicyTemplate struct {
	// podSelector selects the pods of the namespace whose egress is limited. A pod that it selects loses all egress that
	// no other NetworkPolicy allows. An empty selector selects all pods of the namespace.
	// +required
	PodSelector *common.LabelSelector `json:"podSelector,omitempty"`

	// dryRun has the NetworkPolicy select only those of the pods that also have the label
	// networking.fairlead.dev/network-policy-trial: "true". The default is false.
	// +optional
	DryRun *bool `json:"dryRun,omitempty"`
}

// ServiceClusterIP is None. Kubernetes chooses each other cluster IP.
//
// +kubebuilder:validation:Enum=None
type ServiceClusterIP string

// ClusterIPNone is that of a headless Service.
const ClusterIPNone ServiceClusterIP = "None"

// ServicePort is one port of the Service.
type ServicePort struct {
	// name of the port, unique within the object.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=15
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$')",message="must be lower-case letters, digits and hyphens, with a letter or digit at both ends"
	// +required
	Name string `json:"name,omitempty"`

	// port that clients in the cluster use.
	//
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	// +required
	Port int32 `json:"port,omitempty"`

	// targetPort is the port at the endpoints. If it is absent, port is used. The default is not stored, so that a change
	// of port changes both.
	//
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	// +optional
	TargetPort *int32 `json:"targetPort,omitempty"`

	// protocol is TCP (the default), UDP or SCTP.
	//
	// +kubebuilder:validation:Enum=TCP;UDP;SCTP
	// +optional
	Protocol *corev1.Protocol `json:"protocol,omitempty"`

	// appProtocol is the application protocol of the port, such as kubernetes.io/h2c.
	//
	// +kubebuilder:validation:MaxLength=253
	// +optional
	AppProtocol *string `json:"appProtocol,omitempty"`
}
