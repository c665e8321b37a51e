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

	// spec says what to restart, when, and how carefully.
	//
	// +required
	Spec RebootPolicySpec `json:"spec,omitzero"`

	// status says what was observed and done.
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

// RebootPolicySpec says what to restart, when, and how carefully.
//
// +kubebuilder:validation:XValidation:rule="!has(self.triggers) || !self.triggers.exists(t, t.type == 'Probe') || has(self.cooldown)",message="cooldown is required with a Probe trigger"
// +kubebuilder:validation:XValidation:rule="!has(self.triggers) || !self.triggers.exists(t, t.type == 'PodAge') || !has(self.cooldown) || self.triggers.all(t, !has(t.podAge) || duration(t.podAge.max) >= duration(self.cooldown) || !t.podAge.max.matches('^([0-9]{1,5}(h|m|s|ms)){1,4}$') || !self.cooldown.matches('^([0-9]{1,5}(h|m|s|ms)){1,4}$'))",message="podAge.max must not be below cooldown"
type RebootPolicySpec struct {
	// suspend stops the policy from starting restarts. One that has begun is still verified. The
	// default is false.
	//
	// +optional
	Suspend *bool `json:"suspend,omitempty"`

	// dryRun lets the policy decide and report without ever acting. The default is false.
	//
	// +optional
	DryRun *bool `json:"dryRun,omitempty"`

	// serviceAccountName is a ServiceAccount of the policy's namespace in whose name restarts are
	// done: its rights are then the limit, at any time. Without one the operator acts in its own
	// name, after the author of the policy was found to have the right to what it does.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +optional
	ServiceAccountName string `json:"serviceAccountName,omitempty"`

	// targets are the workloads to restart, all in the policy's own namespace, at most 100 with
	// those that selectors match.
	//
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:XValidation:rule="self.all(a, !has(a.name) || !has(a.kind) || self.exists_one(b, has(b.name) && has(b.kind) && b.kind == a.kind && b.name == a.name && (has(b.group) ? b.group : 'apps') == (has(a.group) ? a.group : 'apps')))",message="a target may be listed once"
	// +listType=atomic
	// +required
	Targets []Target `json:"targets,omitempty"`

	// compatibility names another project whose annotations on workloads and sources count beside those of Fairlead:
	// Reloader or Wave. By default none do.
	//
	// +optional
	Compatibility Compatibility `json:"compatibility,omitempty"`

	// triggers are the reasons for a restart; any one of them is enough. Without any, the policy restarts its targets
	// by the annotation restart-now alone, and declares what they depend on by its gates.
	//
	// +kubebuilder:validation:MaxItems=16
	// +listType=map
	// +listMapKey=name
	// +optional
	Triggers []Trigger `json:"triggers,omitempty"`

	// strategy is the way a workload is restarted. The default is a RolloutRestart.
	//
	// +optional
	Strategy *Strategy `json:"strategy,omitempty"`

	// debounce gathers triggers that come close together into one restart.
	//
	// +optional
	Debounce *Debounce `json:"debounce,omitempty"`

	// cooldown is the least time between the end of a target's verified restart and its next one for what repeats: Probe, PodAge
	// and Schedule triggers, and content that comes back to what it was. Content that is new does not wait for it. It must be
	// given with a Probe trigger, since a probe that a restart does not heal would otherwise fire without end. Without one the
	// default is 0s.
	//
	// +optional
	Cooldown *common.Duration `json:"cooldown,omitempty"`

	// limit is the most restarts of each target within a span of time. Once a target reaches it, the policy
	// stalls until a person acts, and says who wrote the content. The default is 6 restarts within 1h.
	//
	// +optional
	Limit *Limit `json:"limit,omitempty"`

	// retry repeats a restart whose verification failed.
	//
	// +optional
	Retry *Retry `json:"retry,omitempty"`

	// concurrency bounds how many targets restart at the same time.
	//
	// +optional
	Concurrency *Concurrency `json:"concurrency,omitempty"`

	common.Calendar `json:",inline"`

	// gates are conditions that must hold for a restart to start. One that cannot be read is
	// closed.
	//
	// +kubebuilder:validation:MaxItems=16
	// +listType=map
	// +listMapKey=name
	// +optional
	Gates []Gate `json:"gates,omitempty"`

	// verification decides whether a restart succeeded.
	//
	// +optional
	Verification *Verification `json:"verification,omitempty"`

	// historyLimit is how many restarts that have ended the status remembers, from 1 to 50. The default is 10.
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

// OptIn says which of the workloads that a selector matches are targets.
//
// +kubebuilder:validation:Enum=All;Annotation
type OptIn string

const (
	// OptInAll takes every workload that the selector matches.
	OptInAll OptIn = "All"
	// OptInAnnotation takes those that have the annotation fairlead.dev/restart-on-change, or one of the project that
	// compatibility names which means the same.
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
	// group is the API group of the workloads: apps, argoproj.io for those of Argo Rollouts, or that of a kind which the operator's
	// configuration has in rebootPolicies.workloads, such as apps.kruise.io. The default is apps.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +optional
	Group string `json:"group,omitempty"`

	// kind of the workloads: Deployment, StatefulSet or DaemonSet, with group argoproj.io Rollout, or with another group its kind
	// in rebootPolicies.workloads of the operator's configuration. Without it, which only the first two groups allow, selector
	// selects the workloads of all kinds of the group.
	//
	// +optional
	Kind common.WorkloadKind `json:"kind,omitempty"`

	// name of the workload. It need not exist yet.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +optional
	Name string `json:"name,omitempty"`

	// selector selects workloads by their own labels (not those of their pods). An empty one selects all workloads of
	// the namespace. One with the annotation fairlead.dev/ignore: "true", or fairlead.dev/restart-on-change: "false", is
	// not selected.
	//
	// +optional
	Selector *common.LabelSelector `json:"selector,omitempty"`

	// optIn is All or Annotation: whether selector selects every workload that it matches, or only those whose
	// annotations ask for restarts. The default is All.
	//
	// +optional
	OptIn *OptIn `json:"optIn,omitempty"`

	// wave orders the targets: a lower wave is restarted and verified before a higher one starts.
	// From 0 to 99. The default is 0.
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
	// StrategyRolloutRestart annotates the pod template, as kubectl rollout restart does, and
	// leaves the rollout to the workload's controller. Of a Rollout it sets spec.restartAt.
	StrategyRolloutRestart StrategyType = "RolloutRestart"
	// StrategyEvict evicts the pods through the eviction API, respecting disruption budgets, and
	// leaves the template alone: for workloads whose owner reverts changes of the template.
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

	// evict tunes type Evict.
	//
	// +optional
	Evict *EvictStrategy `json:"evict,omitempty"`
}

// EvictStrategy tunes how pods are evicted.
type EvictStrategy struct {
	// maxUnavailable is how many pods of the target may be unavailable at once because of this
	// restart: a number, or a percentage of the desired pods, rounded down but never below one
	// unless it is 0 itself, which evicts nothing. The default is 1.
	//
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:MaxLength=5
	// +kubebuilder:validation:XValidation:rule="type(self) == int ? self >= 0 : self.matches('^(100|[1-9]?[0-9])%$')",message="must be a non-negative integer or a percentage 0%-100%"
	// +optional
	MaxUnavailable *intstr.IntOrString `json:"maxUnavailable,omitempty"`

	// timeout bounds the time that one pod's eviction is tried while a budget refuses it, at most
	// 24h. The default is 10m.
	//
	// +kubebuilder:validation:XValidation:rule="duration(self) <= duration('24h') || !self.matches('^([0-9]{1,5}(h|m|s|ms)){1,4}$')",message="must be at most 24h"
	// +optional
	Timeout *common.Duration `json:"timeout,omitempty"`
}
