// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-dev/fairlead/api/common"
)

// ClusterRebootPolicy makes a RebootPolicy of its own name in each of the selected namespaces that has a workload for it, and
// keeps these in step with its template.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:storageversion
// +kubebuilder:resource:scope=Cluster,shortName=crbp,categories=fairlead
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Namespaces",type=integer,JSONPath=`.status.namespaces`
// +kubebuilder:printcolumn:name="Policies",type=integer,JSONPath=`.status.policies`
// +kubebuilder:printcolumn:name="Refused",type=integer,JSONPath=`.status.refusedNamespaces`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="self.metadata.name.size() <= 52",fieldPath=".metadata",message="name must be at most 52 characters"
type ClusterRebootPolicy struct {
	metav1.TypeMeta `json:",inline"`

	// metadata is the standard metadata of an object.
	//
	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`

	// spec says which policy is made, and where.
	//
	// +required
	Spec ClusterRebootPolicySpec `json:"spec,omitzero"`

	// status says where the policy was made.
	//
	// +kubebuilder:default:={"observedGeneration":-1}
	// +structType=atomic
	// +optional
	Status ClusterRebootPolicyStatus `json:"status,omitzero"`
}

// ClusterRebootPolicyList is a list of ClusterRebootPolicies.
//
// +kubebuilder:object:root=true
type ClusterRebootPolicyList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitzero"`
	Items           []ClusterRebootPolicy `json:"items"`
}

// ClusterRebootPolicySpec says which policy is made, and where.
type ClusterRebootPolicySpec struct {
	// namespaceSelector selects namespaces by their labels. An empty one selects all.
	//
	// +required
	NamespaceSelector *common.LabelSelector `json:"namespaceSelector,omitempty"`

	// template is the policy that is made in each selected namespace with a workload that one of its targets takes, and that
	// no other RebootPolicy of the namespace takes.
	//
	// +required
	Template RebootPolicyTemplate `json:"template,omitzero"`
}

// RebootPolicyTemplate is a RebootPolicy that is made in several namespaces.
type RebootPolicyTemplate struct {
	// spec of the policy: `kubectl explain rebootpolicy.spec` describes its fields. Each name in it is one of the namespace in
	// which the policy is made.
	//
	// +required
	Spec RebootPolicySpec `json:"spec,omitzero"`
}

// ClusterRebootPolicyStatus says where the policy was made.
type ClusterRebootPolicyStatus struct {
	// conditions are Ready and, while the object waits for a person, Stalled.
	//
	// +kubebuilder:validation:MaxItems=16
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// observedGeneration is the metadata.generation that the status is about; -1 before the first.
	//
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// namespaces is how many of the selected namespaces have a workload for the policy.
	//
	// +optional
	Namespaces *int32 `json:"namespaces,omitempty"`

	// policies is in how many of them the policy is as the template says.
	//
	// +optional
	Policies *int32 `json:"policies,omitempty"`

	// refusedNamespaces is in how many of them it could not be made, changed or deleted.
	//
	// +optional
	RefusedNamespaces *int32 `json:"refusedNamespaces,omitempty"`

	// refusals are those of ten of these namespaces, first those of the API server, each by name.
	//
	// +kubebuilder:validation:MaxItems=10
	// +listType=map
	// +listMapKey=namespace
	// +optional
	Refusals []NamespaceRefusal `json:"refusals,omitempty"`
}

// NamespaceRefusal is why the policy of one namespace is not as the template says.
type NamespaceRefusal struct {
	// namespace in which it is not.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +required
	Namespace string `json:"namespace,omitempty"`

	// reason is one of those of the condition Ready.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +required
	Reason string `json:"reason,omitempty"`

	// message has the words of the API server.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	// +required
	Message string `json:"message,omitempty"`
}

// ClusterPolicyLabel is on a RebootPolicy that a ClusterRebootPolicy has made, with its name.
const ClusterPolicyLabel = "autoreboot.fairlead.dev/cluster-policy"
