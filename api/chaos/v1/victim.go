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
	// VictimPending means that the pod is to be killed, or was killed and the response was lost.
	VictimPending VictimOutcome = "Pending"
	// VictimEvicted and VictimDeleted mean that the pod was killed.
	VictimEvicted VictimOutcome = "Evicted"
	VictimDeleted VictimOutcome = "Deleted"
	// VictimSkippedDisruptionBudget means that a disruption budget kept the pod alive.
	VictimSkippedDisruptionBudget VictimOutcome = "SkippedDisruptionBudget"
	// VictimGone means that the pod disappeared before a response was known. It counts as killed.
	VictimGone VictimOutcome = "Gone"
	// VictimFailed means that the pod could not be killed.
	VictimFailed VictimOutcome = "Failed"
	// VictimSpared means that the pod was not killed, since it was eligible when it was chosen and is not any more.
	VictimSpared VictimOutcome = "Spared"
	// VictimDryRun means that a dry run chose the pod.
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

	// uid is the pod's UID. The kill has it as a precondition, so that a new pod of the same name is not killed.
	//
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	// +required
	UID types.UID `json:"uid,omitempty"`

	// node is the node of the pod.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +optional
	Node string `json:"node,omitempty"`

	// owner is the workload that the pod belongs to. No run kills two pods of one owner.
	//
	// +optional
	Owner *VictimOwner `json:"owner,omitempty"`

	// readyBefore is how many pods of the owner were ready when this pod was chosen. It is absent if none was.
	//
	// +kubebuilder:validation:Minimum=1
	// +optional
	ReadyBefore int32 `json:"readyBefore,omitempty"`

	// outcome is the result for the pod, such as Evicted or Spared.
	//
	// +optional
	Outcome VictimOutcome `json:"outcome,omitempty"`

	// reason is why the pod was spared or could not be killed, in one word.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	// +optional
	Reason string `json:"reason,omitempty"`

	// blockedBy is the name of the disruption budget that kept the pod alive, if the API server reported it.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +optional
	BlockedBy string `json:"blockedBy,omitempty"`
}

// BlockedWorkload is a workload whose disruption budget refused every eviction.
type BlockedWorkload struct {
	VictimOwner `json:",inline"`

	// ready is how many of its pods were ready then. It is absent if none was.
	//
	// +kubebuilder:validation:Minimum=1
	// +optional
	Ready int32 `json:"ready,omitempty"`

	// blockedBy is the name of the disruption budget, if the API server reported it.
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
