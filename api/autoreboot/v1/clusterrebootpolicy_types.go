// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-dev/fairlead/api/common"
)

// ClusterRebootPolicy creates a RebootPolicy of its own name in each selected namespace that has a workload for it. It
// keeps these policies as its template says.
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

	// spec defines which policy is created, and in which namespaces.
	//
	// +required
	Spec ClusterRebootPolicySpec `json:"spec,omitzero"`

	// status reports where the policy was created.
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

// ClusterRebootPolicySpec defines which policy is created, and in which namespaces.
type ClusterRebootPolicySpec struct {
	// namespaceSelector selects namespaces by their labels. An empty one selects all.
	//
	// +required
	NamespaceSelector *common.LabelSelector `json:"namespaceSelector,omitempty"`

	// template is the policy that is created. A selected namespace gets it if one of its targets takes a workload there
	// that no other RebootPolicy takes.
	//
	// +required
	Template RebootPolicyTemplate `json:"template,omitzero"`
}

// RebootPolicyTemplate is a RebootPolicy that is created in several namespaces.
type RebootPolicyTemplate struct {
	// spec of the policy: `kubectl explain rebootpolicy.spec` describes its fields. Names in it refer to objects of the
	// namespace in which the policy is created.
	//
	// +required
	Spec RebootPolicySpec `json:"spec,omitzero"`
}

// ClusterRebootPolicyStatus reports where the policy was created.
type ClusterRebootPolicyStatus struct {
	// conditions are Ready and, while a user must act, Stalled.
	//
	// +kubebuilder:validation:MaxItems=16
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// observedGeneration is the most recent generation that the operator has reconciled. It is -1 before the first
	// reconcile.
	//
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// namespaces is how many of the selected namespaces have a workload for the policy.
	//
	// +optional
	Namespaces *int32 `json:"namespaces,omitempty"`

	// policies is how many of these namespaces have the policy as the template says.
	//
	// +optional
	Policies *int32 `json:"policies,omitempty"`

	// refusedNamespaces is in how many of them the policy could not be created, changed or deleted.
	//
	// +optional
	RefusedNamespaces *int32 `json:"refusedNamespaces,omitempty"`

	// refusals lists up to ten of these namespaces. Those in which the API server refused a write come first. Each group
	// is sorted by name.
	//
	// +kubebuilder:validation:MaxItems=10
	// +listType=map
	// +listMapKey=namespace
	// +optional
	Refusals []NamespaceRefusal `json:"refusals,omitempty"`
}

// NamespaceRefusal explains why the policy of one namespace is not as the template says.
type NamespaceRefusal struct {
	// namespace is the name of the namespace.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +required
	Namespace string `json:"namespace,omitempty"`

	// reason is a reason of the condition Ready.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +required
	Reason string `json:"reason,omitempty"`

	// message is the message of the API server.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	// +required
	Message string `json:"message,omitempty"`
}

// ClusterPolicyLabel is on each RebootPolicy that a ClusterRebootPolicy created. Its value is the name of the
// ClusterRebootPolicy.
const ClusterPolicyLabel = "autoreboot.fairlead.dev/cluster-policy"
