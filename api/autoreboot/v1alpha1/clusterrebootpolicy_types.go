// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
)

// ClusterRebootPolicy makes a RebootPolicy of its own name in each of the selected namespaces that has a workload for it, and
// keeps these in step with its template. Both versions have the same fields, and the template is that of v1.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:deprecatedversion:warning="autoreboot.fairlead.dev/v1alpha1 ClusterRebootPolicy is deprecated; use autoreboot.fairlead.dev/v1, which has the same fields"
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
	Spec autorebootv1.ClusterRebootPolicySpec `json:"spec,omitzero"`

	// status says where the policy was made.
	//
	// +kubebuilder:default:={"observedGeneration":-1}
	// +structType=atomic
	// +optional
	Status autorebootv1.ClusterRebootPolicyStatus `json:"status,omitzero"`
}

// ClusterRebootPolicyList is a list of ClusterRebootPolicies.
//
// +kubebuilder:object:root=true
type ClusterRebootPolicyList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitzero"`
	Items           []ClusterRebootPolicy `json:"items"`
}
