// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/fairlead-dev/fairlead/api/common"
)

// RebootPolicy restarts workloads of its own namespace, safely, when what they depend on changes
// or fails. It never reboots a node.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:storageversion
// +kubebuilder:resource:shortName=rbp,categories=fairlead
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="State",type=string,JSONPath=`.status.conditions[?(@.type=="Progressing")].reason`
// +kubebuilder:printcolumn:name="Verified",type=string,JSONPath=`.status.conditions[?(@.type=="Verified")].status`
// +kubebuilder:printcolumn:name="Waiting-For",type=string,JSONPath=`.status.conditions[?(@.type=="Waiting")].reason`
// +kubebuilder:printcolumn:name="Targets",type=integer,JSONPath=`.status.watchedTargets`,priority=1
// +kubebuilder:printcolumn:name="Next-Window",type=string,JSONPath=`.status.nextAllowedTime`,priority=1
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`,priority=1
// +kubebuilder:printcolumn:name="Dry-Run",type=boolean,JSONPath=`.spec.dryRun`,priority=1
// +kubebuilder:printcolumn:name="Suspended",type=boolean,JSONPath=`.spec.suspend`,priority=1
// +kubebuilder:printcolumn:name="Last-Restart",type=date,JSONPath=`.status.lastRestartTime`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="self.metadata.name.size() <= 52",fieldPath=".metadata",message="name must be at most 52 characters"
type RebootPolicy struct {
	metav1.TypeMeta `json:",inline"`

	// metadata is the standard metadata of an object.
	//
	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`

	// spec defines what to restart, when, and how carefully.
	//
	// +required
	Spec RebootPolicySpec `json:"spec,omitzero"`

	// status reports what was observed and done.
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

// RebootPolicySpec defines what to restart, when, and how carefully.
//
// +kubebuilder:validation:XValidation:rule="!has(self.triggers) || !self.triggers.exists(t, t.type == 'Probe') || has(self.cooldown)",message="cooldown is required with a Probe trigger"
// +kubebuilder:validation:XValidation:rule="!has(self.triggers) || !self.triggers.exists(t, t.type == 'PodAge') || !has(self.cooldown) || self.triggers.all(t, !has(t.podAge) || duration(t.podAge.max) >= duration(self.cooldown) || !t.podAge.max.matches('^([0-9]{1,5}(h|m|s|ms)){1,4}$') || !self.cooldown.matches('^([0-9]{1,5}(h|m|s|ms)){1,4}$'))",message="podAge.max must not be below cooldown"
type RebootPolicySpec struct {
	// suspend stops the policy from starting restarts. A restart that has begun is still verified. The default is false.
	//
	// +optional
	Suspend *bool `json:"suspend,omitempty"`

	// dryRun makes the policy report the restarts that it would start, without starting them. The default is false.
	//
	// +optional
	DryRun *bool `json:"dryRun,omitempty"`

	// serviceAccountName is a ServiceAccount of the namespace in whose name restarts are carried out. Its rights are the
	// limit at any time. Without it, the operator acts in its own name: admission has checked that the writer of the
	// policy has the right to what it does.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +optional
	ServiceAccountName string `json:"serviceAccountName,omitempty"`

	// targets are the workloads to restart, in the namespace of the policy. At most 100 workloads are watched, including
	// those that selectors match.
	//
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:XValidation:rule="self.all(a, !has(a.name) || !has(a.kind) || self.exists_one(b, has(b.name) && has(b.kind) && b.kind == a.kind && b.name == a.name && (has(b.group) ? b.group : 'apps') == (has(a.group) ? a.group : 'apps')))",message="a target may be listed once"
	// +listType=atomic
	// +required
	Targets []Target `json:"targets,omitempty"`

	// compatibility is another project whose annotations on workloads and sources count in addition to those of Fairlead:
	// Reloader or Wave. By default none do.
	//
	// +optional
	Compatibility Compatibility `json:"compatibility,omitempty"`

	// triggers are the reasons for a restart; each one alone is enough. Without any, the policy restarts its targets only
	// by the annotation restart-now, and its gates declare what they depend on.
	//
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:XValidation:rule="self.all(a, self.exists_one(b, (has(b.name) ? b.name : b.type.lowerAscii()) == (has(a.name) ? a.name : a.type.lowerAscii())))",message="names must be unique: without name, it is type in lower case"
	// +listType=atomic
	// +optional
	Triggers []Trigger `json:"triggers,omitempty"`

	// strategy is how a workload is restarted. The default is RolloutRestart.
	//
	// +optional
	Strategy *Strategy `json:"strategy,omitempty"`

	// debounce combines triggers that fire within a short time into one restart.
	//
	// +optional
	Debounce *Debounce `json:"debounce,omitempty"`

	// cooldown is the minimum time between the end of a target's verified restart and its next one. It applies to Probe,
	// PodAge and Schedule triggers, and to content that returns to an earlier value; new content does not wait. With a
	// Probe trigger it is required, since a probe that a restart does not heal would fire forever. The default is 0s.
	//
	// +optional
	Cooldown *common.Duration `json:"cooldown,omitempty"`

	// limit is the maximum number of restarts of each target within a span of time. When a target reaches it, the policy
	// stalls until a user acts, and reports who wrote the content. The default is 6 restarts within 1h.
	//
	// +optional
	Limit *Limit `json:"limit,omitempty"`

	// retry defines how a restart is repeated after its verification failed.
	//
	// +optional
	Retry *Retry `json:"retry,omitempty"`

	// concurrency bounds how many targets restart at the same time.
	//
	// +optional
	Concurrency *Concurrency `json:"concurrency,omitempty"`

	common.Calendar `json:",inline"`

	// gates are conditions that must hold for a restart to start. A gate that cannot be read is closed.
	//
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:XValidation:rule="self.all(a, self.exists_one(b, (has(b.name) ? b.name : b.type.lowerAscii()) == (has(a.name) ? a.name : a.type.lowerAscii())))",message="names must be unique: without name, it is type in lower case"
	// +listType=atomic
	// +optional
	Gates []Gate `json:"gates,omitempty"`

	// verification defines when a restart has succeeded.
	//
	// +optional
	Verification *Verification `json:"verification,omitempty"`

	// historyLimit is how many restarts that have ended the status keeps, from 1 to 50. The default is 10.
	//
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=50
	// +optional
	HistoryLimit *int32 `json:"historyLimit,omitempty"`
}

// Compatibility is another project that restarts workloads by their annotations.
//
// +kubebuilder:validation:Enum=Reloader;Wave
type Compatibility string

// The projects whose annotations can count.
const (
	CompatibilityReloader Compatibility = "Reloader"
	CompatibilityWave     Compatibility = "Wave"
)

// OptIn defines which of the workloads that a selector matches are targets.
//
// +kubebuilder:validation:Enum=All;Annotation
type OptIn string

const (
	// OptInAll takes every workload that the selector matches.
	OptInAll OptIn = "All"
	// OptInAnnotation takes those with the annotation fairlead.dev/restart-on-change, or with an equivalent one of the
	// project that compatibility names.
	OptInAnnotation OptIn = "Annotation"
)

// Target is one workload by its name, or several by their labels.
//
// +kubebuilder:validation:XValidation:rule="!has(self.optIn) || has(self.selector)",message="optIn needs selector"
// +kubebuilder:validation:XValidation:rule="has(self.name) != has(self.selector)",message="set exactly one of name or selector"
// +kubebuilder:validation:XValidation:rule="has(self.kind) || !has(self.name)",message="kind is required with name"
// +kubebuilder:validation:XValidation:rule="has(self.kind) || !has(self.group) || self.group in ['apps', 'argoproj.io']",message="kind is required with a group other than apps and argoproj.io"
// +kubebuilder:validation:XValidation:rule="!has(self.kind) || (has(self.group) && self.group == 'argoproj.io' ? self.kind == 'Rollout' : has(self.group) && self.group != 'apps' ? self.kind.matches('^[A-Z][A-Za-z0-9]*$') : self.kind in ['Deployment', 'StatefulSet', 'DaemonSet'])",message="kind must be Deployment, StatefulSet or DaemonSet, with group argoproj.io Rollout, or with another group a name such as CloneSet",fieldPath=".kind"
type Target struct {
	// group is the API group of the workloads: apps, argoproj.io for Argo Rollouts, or one in rebootPolicies.workloads of
	// the operator's configuration, such as apps.kruise.io. The default is apps.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +optional
	Group string `json:"group,omitempty"`

	// kind of the workloads: Deployment, StatefulSet or DaemonSet. With group argoproj.io it is Rollout, with another
	// group a kind that rebootPolicies.workloads names. Without kind, selector selects the workloads of all kinds of the
	// group; only apps and argoproj.io allow that.
	//
	// +optional
	Kind common.WorkloadKind `json:"kind,omitempty"`

	// name of the workload. It need not exist yet.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +optional
	Name string `json:"name,omitempty"`

	// selector selects workloads by their own labels, not by those of their pods. An empty one selects all workloads of
	// the namespace. A workload with the annotation fairlead.dev/ignore: "true", or fairlead.dev/restart-on-change:
	// "false", is not selected.
	//
	// +optional
	Selector *common.LabelSelector `json:"selector,omitempty"`

	// optIn is All, which takes every workload that selector matches, or Annotation, which takes those whose annotations
	// request restarts. The default is All.
	//
	// +optional
	OptIn *OptIn `json:"optIn,omitempty"`

	// wave orders the targets, from 0 to 99. All targets of a lower wave are restarted and verified before a higher wave
	// starts. The default is 0.
	//
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=99
	// +optional
	Wave *int32 `json:"wave,omitempty"`
}

// StrategyType is a way to restart a workload.
//
// +kubebuilder:validation:Enum=RolloutRestart;Evict
type StrategyType string

const (
	// StrategyRolloutRestart annotates the pod template, as kubectl rollout restart does. The workload's controller then
	// rolls it out. For an Argo Rollout it sets spec.restartAt.
	StrategyRolloutRestart StrategyType = "RolloutRestart"
	// StrategyEvict evicts the pods through the eviction API, which respects disruption budgets. It does not change the
	// template: use it if the owner of the workload reverts such changes.
	StrategyEvict StrategyType = "Evict"
)

// Strategy is the way a workload is restarted.
//
// +kubebuilder:validation:XValidation:rule="!has(self.evict) || self.type == 'Evict'",message="evict needs type Evict"
type Strategy struct {
	// type is RolloutRestart or Evict.
	//
	// +required
	Type StrategyType `json:"type,omitempty"`

	// evict configures the strategy of type Evict.
	//
	// +optional
	Evict *EvictStrategy `json:"evict,omitempty"`
}

// EvictStrategy configures how pods are evicted.
type EvictStrategy struct {
	// maxUnavailable is how many pods of the target this restart may make unavailable at once. It is a number, or a
	// percentage of the desired pods, rounded down but never below one. Zero evicts no pod. The default is 1.
	//
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:MaxLength=5
	// +kubebuilder:validation:XValidation:rule="type(self) == int ? self >= 0 : self.matches('^(100|[1-9]?[0-9])%$')",message="must be a non-negative integer or a percentage 0%-100%"
	// +optional
	MaxUnavailable *intstr.IntOrString `json:"maxUnavailable,omitempty"`

	// timeout is how long the eviction of one pod is retried while a budget refuses it, at most 24h. The default is 10m.
	//
	// +kubebuilder:validation:XValidation:rule="duration(self) <= duration('24h') || !self.matches('^([0-9]{1,5}(h|m|s|ms)){1,4}$')",message="must be at most 24h"
	// +optional
	Timeout *common.Duration `json:"timeout,omitempty"`
}
