// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package v1

import "k8s.io/apimachinery/pkg/types"

// VictimOutcome is the result for a chosen pod.
//
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=64
type VictimOutcome string

// The results for a chosen pod.
const (
	// VictimPending is to die, or has died and the response was lost.
	VictimPending VictimOutcome = "Pending"
	// VictimEvicted and VictimDeleted died.
	VictimEvicted VictimOutcome = "Evicted"
	VictimDeleted VictimOutcome = "Deleted"
	// VictimSkippedDisruptionBudget was kept alive by a disruption budget.
	VictimSkippedDisruptionBudget VictimOutcome = "SkippedDisruptionBudget"
	// VictimGone went away before a response was known. It counts as killed.
	VictimGone VictimOutcome = "Gone"
	// VictimFailed could not be killed.
	VictimFailed VictimOutcome = "Failed"
	// VictimSpared was not killed, since a rule that was met when it was chosen is no longer met.
	VictimSpared VictimOutcome = "Spared"
	// VictimDryRun would have died.
	VictimDryRun VictimOutcome = "DryRun"
)

// Victim is a pod chosen to die.
type Victim struct {
	// name is the pod's name.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +required
	Name string `json:"name,omitempty"`

	// uid is the pod's UID, which the kill demands: its successor of the same name is safe.
	//
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	// +required
	UID types.UID `json:"uid,omitempty"`

	// node is the node that the pod ran on.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +optional
	Node string `json:"node,omitempty"`

	// owner is the workload that the pod belongs to. No run kills two pods of one owner.
	//
	// +optional
	Owner *VictimOwner `json:"owner,omitempty"`

	// readyBefore is how many pods of the owner were ready when this one was chosen, absent where none was.
	//
	// +kubebuilder:validation:Minimum=1
	// +optional
	ReadyBefore int32 `json:"readyBefore,omitempty"`

	// outcome is the result for the pod.
	//
	// +optional
	Outcome VictimOutcome `json:"outcome,omitempty"`

	// reason says in one word why a pod was spared, or could not be killed.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	// +optional
	Reason string `json:"reason,omitempty"`

	// blockedBy is the disruption budget that kept the pod alive, where the API server named it.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +optional
	BlockedBy string `json:"blockedBy,omitempty"`
}

// BlockedWorkload is a workload of which a disruption budget let no pod go.
type BlockedWorkload struct {
	VictimOwner `json:",inline"`

	// ready is how many pods of it were ready then, absent where none was.
	//
	// +kubebuilder:validation:Minimum=1
	// +optional
	Ready int32 `json:"ready,omitempty"`

	// blockedBy is the disruption budget, where the API server named it.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +optional
	BlockedBy string `json:"blockedBy,omitempty"`
}

// VictimOwner is a workload that a chosen pod belongs to, or the ChaosPod itself where the pod is the
// canary.
type VictimOwner struct {
	// kind of the owner, such as Deployment.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +required
	Kind string `json:"kind,omitempty"`

	// name is the owner's name.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +required
	Name string `json:"name,omitempty"`

	// uid is the owner's UID.
	//
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	// +required
	UID types.UID `json:"uid,omitempty"`
}
