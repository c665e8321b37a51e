// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// ChaosPodSpec describes the pod to keep running and when it next stops.
type ChaosPodSpec struct {
	// template is the pod to keep running. A ChaosPod whose v1 form acts on a workload or a
	// selector shows a template without containers here; filling that in is refused, since it
	// would turn the object into another one.
	//
	// +required
	Template corev1.PodTemplateSpec `json:"template"`

	// nextStop is the time at which the pod next stops, to the second. Without it the pod stops
	// about every 15 seconds.
	//
	// +optional
	NextStop metav1.Time `json:"nextStop,omitempty,omitzero"`
}

// ChaosPodStatus is the observed state.
type ChaosPodStatus struct {
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

	// lastRun is the time at which the pod last stopped, to the second.
	//
	// +optional
	LastRun metav1.Time `json:"lastRun,omitempty,omitzero"`

	// v1 is the status as v1 has it, where this version cannot express all of it. Conversion writes it, so that
	// a write at this version leaves the status of v1 as it is; clients must not change it.
	//
	// +kubebuilder:pruning:PreserveUnknownFields
	// +optional
	V1 *runtime.RawExtension `json:"v1,omitempty"`
}

// ChaosPod is a pod that dies on purpose, again and again.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=chaospods,singular=chaospod,shortName=chp,categories=fairlead,scope=Namespaced
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Next-Run",type=string,JSONPath=`.status.v1.nextRunTime`
// +kubebuilder:printcolumn:name="Last-Run",type=date,JSONPath=`.status.lastRun`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="self.metadata.name.size() <= 52",fieldPath=".metadata",message="name must be at most 52 characters"
type ChaosPod struct {
	metav1.TypeMeta `json:",inline"`

	// metadata is the standard metadata of an object.
	//
	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`

	// spec describes the pod to keep running.
	//
	// +required
	Spec ChaosPodSpec `json:"spec"`

	// status is the observed state.
	//
	// +kubebuilder:default:={"observedGeneration":-1}
	// +structType=atomic
	// +optional
	Status ChaosPodStatus `json:"status,omitzero"`
}

// ChaosPodList is a list of ChaosPods.
//
// +kubebuilder:object:root=true
type ChaosPodList struct {
	metav1.TypeMeta `json:",inline"`

	// +optional
	metav1.ListMeta `json:"metadata,omitzero"`

	Items []ChaosPod `json:"items"`
}
