// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	chaosv1 "github.com/fairlead-dev/fairlead/api/chaos/v1"
	"github.com/fairlead-dev/fairlead/api/common"
)

// ChaosPodSpec says which pods die, when, how, and what must hold before and after.
//
// +kubebuilder:validation:XValidation:rule="!has(self.template) || !has(self.count) || self.count == 1",message="count must be 1 with template"
// +kubebuilder:validation:XValidation:rule="has(self.template) == has(oldSelf.template)",message="template cannot be added or removed"
// +kubebuilder:validation:XValidation:rule="[has(self.template), has(self.target) && has(self.target.workload), has(self.target) && has(self.target.selector)].exists_one(x, x)",message="set exactly one of template, target.workload, target.selector"
// +kubebuilder:validation:XValidation:rule="has(self.template) || has(self.nextStop) || has(self.schedule) && (has(self.schedule.cron) || has(self.schedule.interval))",message="set one of nextStop, schedule.cron, schedule.interval"
type ChaosPodSpec struct {
	// suspend stops all runs; one that has begun is still verified. The default is false.
	//
	// +optional
	Suspend *bool `json:"suspend,omitempty"`

	// dryRun decides and reports, and kills nothing. The default is true, and with template false.
	//
	// +optional
	DryRun *bool `json:"dryRun,omitempty"`

	// serviceAccountName is a ServiceAccount of the object's namespace in whose name pods are killed,
	// and the canary of template is made: its rights are then the limit, at any time. Without
	// one the operator acts in its own name, after the writer of the object was found to have the
	// right to what it does.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +optional
	ServiceAccountName string `json:"serviceAccountName,omitempty"`

	// template is target.template of v1: a pod that Fairlead itself keeps running, and kills.
	//
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=object
	// +kubebuilder:pruning:PreserveUnknownFields
	// +optional
	Template *corev1.PodTemplateSpec `json:"template,omitempty"`

	// target names the pods to choose from, where there is no template.
	//
	// +optional
	Target Target `json:"target,omitzero"`

	// nextStop is schedule.at of v1: the time of one run, to the second.
	//
	// +optional
	NextStop *metav1.Time `json:"nextStop,omitempty"`

	// schedule says when runs are due. With a template and no schedule at all, one is due every 15 seconds.
	//
	// +optional
	Schedule Schedule `json:"schedule,omitzero"`

	// action says how a pod dies. The default is Evict.
	//
	// +optional
	Action *chaosv1.Action `json:"action,omitempty"`

	// count is how many pods die in one run: a number, or a percentage of the ready pods, rounded
	// down. No run takes more than one pod of the same owner. The default is 1, and 1 is the only
	// value with template.
	//
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:MaxLength=5
	// +kubebuilder:validation:XValidation:rule="type(self) == int ? self >= 0 : self.matches('^(100|[1-9]?[0-9])%$')",message="must be a non-negative integer or a percentage 0%-100%"
	// +optional
	Count *intstr.IntOrString `json:"count,omitempty"`

	// filter narrows the choice among the target's pods.
	//
	// +optional
	Filter *chaosv1.Filter `json:"filter,omitempty"`

	// safety defines what must be true before a pod is killed.
	//
	// +optional
	Safety *chaosv1.Safety `json:"safety,omitempty"`

	common.Calendar `json:",inline"`

	// verification says how the target proves that it survived: its ready pods are back to their number before the run, in
	// time, and stay so, and what its clients ask for meanwhile does not fail.
	//
	// +optional
	Verification *common.Verification `json:"verification,omitempty"`

	// historyLimit is how many runs that have ended the status remembers, from 1 to 50. The default is 10.
	//
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=50
	// +optional
	HistoryLimit *int32 `json:"historyLimit,omitempty"`
}

// Target is that of v1 without its template.
type Target struct {
	// workload is one Deployment, StatefulSet, DaemonSet or ReplicaSet, or with group argoproj.io one Rollout, by name.
	//
	// +kubebuilder:validation:XValidation:rule="!has(self.group) || self.group in ['apps', 'argoproj.io']",message="group must be apps or argoproj.io",fieldPath=".group"
	// +kubebuilder:validation:XValidation:rule="has(self.group) && self.group == 'argoproj.io' ? self.kind == 'Rollout' : self.kind in ['Deployment', 'StatefulSet', 'DaemonSet', 'ReplicaSet']",message="kind must be Deployment, StatefulSet, DaemonSet or ReplicaSet, or with group argoproj.io Rollout",fieldPath=".kind"
	// +optional
	Workload *common.WorkloadReference `json:"workload,omitempty"`

	// selector takes all pods of the namespace with these labels that belong to a controller. An empty one takes
	// all that belong to one.
	//
	// +optional
	Selector *common.LabelSelector `json:"selector,omitempty"`
}

// Schedule is that of v1 without at.
//
// +kubebuilder:validation:XValidation:rule="!(has(self.cron) && has(self.interval))",message="cron and interval exclude each other"
// +kubebuilder:validation:XValidation:rule="!has(self.timeZone) || has(self.cron)",message="timeZone goes with cron"
type Schedule struct {
	// cron is the times at which a run is due, in five fields or as a macro such as @daily.
	//
	// +optional
	Cron common.Cron `json:"cron,omitempty"`

	// interval is the time between two runs, at least 10s.
	//
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('10s') || !self.matches('^([0-9]{1,5}(h|m|s|ms)){1,4}$')",message="interval must be at least 10s"
	// +optional
	Interval common.Duration `json:"interval,omitempty"`

	// timeZone of cron, an IANA name such as Europe/Zurich. The default is UTC.
	//
	// +optional
	TimeZone common.TimeZone `json:"timeZone,omitempty"`

	// jitterPercent moves each run by a random part of the time to the next one, or earlier by one of
	// the time from the last, up to this percentage. It moves no run out of a window or into a
	// blackout, and not that of nextStop. The default is 0.
	//
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=50
	// +optional
	JitterPercent *int32 `json:"jitterPercent,omitempty"`

	// startingDeadline is how late a run may begin. A run that is later still is skipped. The
	// default is 5m.
	//
	// +optional
	StartingDeadline *common.Duration `json:"startingDeadline,omitempty"`
}

// ChaosPod kills pods on purpose, safely, to prove that their workload survives it.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:deprecatedversion:warning="chaos.fairlead.dev/v1alpha1 ChaosPod is deprecated; use chaos.fairlead.dev/v1, where template is target.template and nextStop is schedule.at"
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
	Status chaosv1.ChaosPodStatus `json:"status,omitzero"`
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
