// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package v1

import "k8s.io/apimachinery/pkg/util/intstr"

// ActionType is a way for a pod to die.
//
// +kubebuilder:validation:Enum=Evict;Delete
type ActionType string

// The ways for a pod to die.
const (
	// ActionEvict calls the eviction API, which honors disruption budgets.
	ActionEvict ActionType = "Evict"
	// ActionDelete deletes the pod, whatever its disruption budget says.
	ActionDelete ActionType = "Delete"
)

// Action says how a pod dies.
type Action struct {
	// type is Evict, which honors disruption budgets, or Delete, which does not. The default is Evict.
	//
	// +optional
	Type *ActionType `json:"type,omitempty"`

	// gracePeriodSeconds is the time that the pod has to stop, from 1 to 86400 seconds. Without it, the pod's own grace
	// period applies.
	//
	// +kubebuilder:validation:XValidation:rule="self >= 1",message="must be between 1 and 86400: with 0, no node confirms that the pod has stopped"
	// +kubebuilder:validation:Maximum=86400
	// +optional
	GracePeriodSeconds *int64 `json:"gracePeriodSeconds,omitempty"`
}

// Safety defines what must be true before a pod is killed. With target.template its fields have no defaults: a canary
// has no replicas to protect.
type Safety struct {
	// minReady is how many pods of the owner must stay ready while one is killed. It is a number, or a percentage of the
	// desired pods, rounded up. The default is 50%.
	//
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:MaxLength=5
	// +kubebuilder:validation:XValidation:rule="type(self) == int ? self >= 0 : self.matches('^(100|[1-9]?[0-9])%$')",message="must be a non-negative integer or a percentage 0%-100%"
	// +optional
	MinReady *intstr.IntOrString `json:"minReady,omitempty"`

	// maxPerDay is how many pods may be killed in one day (UTC). The default is 8.
	//
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=10000
	// +optional
	MaxPerDay *int32 `json:"maxPerDay,omitempty"`

	// requireStable holds runs while the owner rolls out. The default is true.
	//
	// +optional
	RequireStable *bool `json:"requireStable,omitempty"`

	// requireDisruptionBudget takes only pods that a PodDisruptionBudget covers: without one,
	// eviction protects nothing. The default is false.
	//
	// +optional
	RequireDisruptionBudget *bool `json:"requireDisruptionBudget,omitempty"`
}
