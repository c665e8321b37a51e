// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/fairlead-dev/fairlead/api/common"
)

// ChaosPodSpec says which pods die, when, how, and what must hold before and after.
//
// +kubebuilder:validation:XValidation:rule="!has(self.target.template) || !has(self.count) || self.count == 1",message="count must be 1 with target.template"
// +kubebuilder:validation:XValidation:rule="has(self.target.template) == has(oldSelf.target.template)",message="target.template cannot be added or removed"
// +kubebuilder:validation:XValidation:rule="has(self.target.template) || has(self.schedule) && (has(self.schedule.cron) || has(self.schedule.interval) || has(self.schedule.at))",message="set one of schedule.cron, schedule.interval, schedule.at"
type ChaosPodSpec struct {
	// suspend stops all runs. A run that has begun is still verified. The default is false.
	//
	// +optional
	Suspend *bool `json:"suspend,omitempty"`

	// dryRun makes runs choose and report victims without killing them. The default is true, since killing is a choice.
	// With target.template it is false, since Fairlead makes the canary to be killed.
	//
	// +optional
	DryRun *bool `json:"dryRun,omitempty"`

	// serviceAccountName is a ServiceAccount of the namespace, in whose name pods are killed and the canary of
	// target.template is created. Its rights are the limit at any time. Without it, the operator acts in its own name:
	// admission has checked that the writer of the object has the right to what it does.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +optional
	ServiceAccountName string `json:"serviceAccountName,omitempty"`

	// target names the pods to choose from, always in the object's own namespace.
	//
	// +required
	Target Target `json:"target,omitzero"`

	// schedule says when runs are due. It is required, except with target.template.
	//
	// +optional
	Schedule Schedule `json:"schedule,omitzero"`

	// action says how a pod dies. The default is Evict.
	//
	// +optional
	Action *Action `json:"action,omitempty"`

	// count is how many pods die in one run: a number, or a percentage of the ready pods, rounded down. A run kills at
	// most one pod of each owner. The default is 1, which is the only value with target.template.
	//
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:MaxLength=5
	// +kubebuilder:validation:XValidation:rule="type(self) == int ? self >= 0 : self.matches('^(100|[1-9]?[0-9])%$')",message="must be a non-negative integer or a percentage 0%-100%"
	// +optional
	Count *intstr.IntOrString `json:"count,omitempty"`

	// filter narrows the choice among the target's pods.
	//
	// +optional
	Filter *Filter `json:"filter,omitempty"`

	// safety defines what must be true before a pod is killed.
	//
	// +optional
	Safety *Safety `json:"safety,omitempty"`

	common.Calendar `json:",inline"`

	// verification defines when the target has survived a run. Its ready pods are back to their number before the run in
	// time, and stay so. The requests of its clients do not fail meanwhile.
	//
	// +optional
	Verification *common.Verification `json:"verification,omitempty"`

	// historyLimit is how many runs that have ended the status keeps, from 1 to 50. The default is 10.
	//
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=50
	// +optional
	HistoryLimit *int32 `json:"historyLimit,omitempty"`
}

// ChaosPod kills pods on purpose, safely, to prove that their workload survives it.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:storageversion
// +kubebuilder:resource:path=chaospods,singular=chaospod,shortName=chp,categories=fairlead,scope=Namespaced
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="State",type=string,JSONPath=`.status.conditions[?(@.type=="Progressing")].reason`
// +kubebuilder:printcolumn:name="Survived",type=string,JSONPath=`.status.conditions[?(@.type=="Survived")].status`
// +kubebuilder:printcolumn:name="Dry-Run",type=boolean,JSONPath=`.spec.dryRun`
// +kubebuilder:printcolumn:name="Waiting-For",type=string,JSONPath=`.status.conditions[?(@.type=="Waiting")].reason`,priority=1
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`,priority=1
// +kubebuilder:printcolumn:name="Suspended",type=boolean,JSONPath=`.spec.suspend`,priority=1
// +kubebuilder:printcolumn:name="Next-Run",type=string,JSONPath=`.status.nextRunTime`
// +kubebuilder:printcolumn:name="Last-Run",type=date,JSONPath=`.status.lastRunTime`,priority=1
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="self.metadata.name.size() <= 52",fieldPath=".metadata",message="name must be at most 52 characters"
type ChaosPod struct {
	metav1.TypeMeta `json:",inline"`

	// metadata is the standard metadata of an object.
	//
	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`

	// spec says which pods die, when and how.
	//
	// +required
	Spec ChaosPodSpec `json:"spec,omitzero"`

	// status is the observed state, and the record of the runs.
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
