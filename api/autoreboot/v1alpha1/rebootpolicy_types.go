// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// RebootPolicy restarts one workload of its own namespace when a probe of it fails. It never
// reboots a node.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=rbp,categories=fairlead
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Verified",type=string,JSONPath=`.status.conditions[?(@.type=="Verified")].status`
// +kubebuilder:printcolumn:name="Stalled",type=string,JSONPath=`.status.conditions[?(@.type=="Stalled")].reason`
// +kubebuilder:printcolumn:name="Target",type=string,JSONPath=`.spec.target.name`
// +kubebuilder:printcolumn:name="Last-Restart",type=date,JSONPath=`.status.lastReboot`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="self.metadata.name.size() <= 52",fieldPath=".metadata",message="name must be at most 52 characters"
type RebootPolicy struct {
	metav1.TypeMeta `json:",inline"`

	// metadata is the standard metadata of an object.
	//
	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`

	// spec says what to restart, and when.
	//
	// +required
	Spec RebootPolicySpec `json:"spec"`

	// status says what was done.
	//
	// +kubebuilder:default:={"observedGeneration":-1}
	// +structType=atomic
	// +optional
	Status RebootPolicyStatus `json:"status,omitzero"`
}

// RebootPolicyList is a list of RebootPolicies.
//
// +kubebuilder:object:root=true
type RebootPolicyList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitzero"`
	Items           []RebootPolicy `json:"items"`
}

// RebootPolicySpec says what to restart, and when.
type RebootPolicySpec struct {
	// target is the workload. It is the first of the targets of v1.
	//
	// +required
	Target Target `json:"target"`

	// policies are the reasons for a restart; any one of them is enough. They are the Probe
	// triggers of v1, and there are none where v1 has other triggers alone.
	//
	// +kubebuilder:validation:MaxItems=16
	// +listType=map
	// +listMapKey=name
	// +optional
	Policies []Policy `json:"policies,omitempty"`
}

// Target is a workload.
type Target struct {
	// kind is Deployment, StatefulSet, DaemonSet, Rollout of Argo Rollouts, or a kind that the operator's configuration has in
	// rebootPolicies.workloads, with its group: CloneSet.apps.kruise.io. It is absent only in the view of a v1 object whose first
	// target is selected by labels, of any kind; a new object needs it.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=317
	// +kubebuilder:validation:XValidation:rule="self in ['Deployment', 'StatefulSet', 'DaemonSet', 'Rollout'] || self.matches('^[A-Z][A-Za-z0-9]*[.].+$')",message="kind must be Deployment, StatefulSet, DaemonSet, Rollout, or have its group, as CloneSet.apps.kruise.io"
	// +optional
	Kind string `json:"kind,omitempty"`

	// name of the workload. It is absent only in the view of a v1 object whose first target is
	// selected by labels; a new object needs it.
	//
	// +kubebuilder:validation:MaxLength=253
	// +optional
	Name string `json:"name,omitempty"`
}

// Policy is one reason for a restart.
type Policy struct {
	// name of the policy, unique in the object.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$')",message="must be lower-case letters, digits and hyphens, with a letter or digit at both ends"
	// +required
	Name string `json:"name,omitempty"`

	// comment is for the reader.
	//
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	Comment *string `json:"comment,omitempty"`

	// trigger determines when the policy restarts the target.
	//
	// +required
	Trigger Trigger `json:"trigger,omitzero"`
}

// Trigger determines when a policy restarts its target.
type Trigger struct {
	// probe fires when the pods of the target stop answering.
	//
	// +required
	Probe *Probe `json:"probe,omitempty"`
}

// RebootPolicyStatus says what was done.
type RebootPolicyStatus struct {
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

	// lastReboot is when the latest restart ended.
	//
	// +optional
	LastReboot *metav1.Time `json:"lastReboot,omitempty"`

	// v1 is the status as v1 has it, where this version cannot express all of it. Conversion writes it, so that
	// a write at this version leaves the status of v1 as it is; clients must not change it.
	//
	// +kubebuilder:pruning:PreserveUnknownFields
	// +optional
	V1 *runtime.RawExtension `json:"v1,omitempty"`
}
