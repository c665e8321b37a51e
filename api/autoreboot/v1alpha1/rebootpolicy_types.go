// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/api/common"
)

// RebootPolicy restarts workloads of its own namespace, safely, when what they depend on changes
// or fails. It never reboots a node.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:deprecatedversion:warning="autoreboot.fairlead.dev/v1alpha1 RebootPolicy is deprecated; use autoreboot.fairlead.dev/v1, where policies are triggers"
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

	// spec says what to restart, when, and how carefully.
	//
	// +required
	Spec RebootPolicySpec `json:"spec,omitzero"`

	// status says what was observed and done.
	//
	// +kubebuilder:default:={"observedGeneration":-1}
	// +structType=atomic
	// +optional
	Status autorebootv1.RebootPolicyStatus `json:"status,omitzero"`
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
// +kubebuilder:validation:XValidation:rule="!has(self.policies) || !self.policies.exists(t, t.type == 'Probe') || has(self.cooldown)",message="cooldown is required with a Probe trigger"
// +kubebuilder:validation:XValidation:rule="!has(self.policies) || !self.policies.exists(t, t.type == 'PodAge') || !has(self.cooldown) || self.policies.all(t, !has(t.podAge) || duration(t.podAge.max) >= duration(self.cooldown) || !t.podAge.max.matches('^([0-9]{1,5}(h|m|s|ms)){1,4}$') || !self.cooldown.matches('^([0-9]{1,5}(h|m|s|ms)){1,4}$'))",message="podAge.max must not be below cooldown"
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
	Targets []autorebootv1.Target `json:"targets,omitempty"`

	// compatibility names another project whose annotations on workloads and sources count beside those of Fairlead:
	// Reloader or Wave. By default none do.
	//
	// +optional
	Compatibility autorebootv1.Compatibility `json:"compatibility,omitempty"`

	// policies are triggers of v1: the reasons for a restart; any one of them is enough. Without any, the policy restarts its targets
	// by the annotation restart-now alone, and declares what they depend on by its gates.
	//
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:XValidation:rule="self.all(a, self.exists_one(b, (has(b.name) ? b.name : b.type.lowerAscii()) == (has(a.name) ? a.name : a.type.lowerAscii())))",message="names must be unique: without name, it is type in lower case"
	// +listType=atomic
	// +optional
	Policies []autorebootv1.Trigger `json:"policies,omitempty"`

	// strategy is the way a workload is restarted. The default is a RolloutRestart.
	//
	// +optional
	Strategy *autorebootv1.Strategy `json:"strategy,omitempty"`

	// debounce gathers triggers that come close together into one restart.
	//
	// +optional
	Debounce *autorebootv1.Debounce `json:"debounce,omitempty"`

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
	Limit *autorebootv1.Limit `json:"limit,omitempty"`

	// retry repeats a restart whose verification failed.
	//
	// +optional
	Retry *autorebootv1.Retry `json:"retry,omitempty"`

	// concurrency bounds how many targets restart at the same time.
	//
	// +optional
	Concurrency *autorebootv1.Concurrency `json:"concurrency,omitempty"`

	common.Calendar `json:",inline"`

	// gates are conditions that must hold for a restart to start. One that cannot be read is
	// closed.
	//
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:XValidation:rule="self.all(a, self.exists_one(b, (has(b.name) ? b.name : b.type.lowerAscii()) == (has(a.name) ? a.name : a.type.lowerAscii())))",message="names must be unique: without name, it is type in lower case"
	// +listType=atomic
	// +optional
	Gates []autorebootv1.Gate `json:"gates,omitempty"`

	// verification decides whether a restart succeeded.
	//
	// +optional
	Verification *autorebootv1.Verification `json:"verification,omitempty"`

	// historyLimit is how many restarts that have ended the status remembers, from 1 to 50. The default is 10.
	//
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=50
	// +optional
	HistoryLimit *int32 `json:"historyLimit,omitempty"`
}
