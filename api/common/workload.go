// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package common

// WorkloadKind is a kind of workload. Each field says which ones it takes.
//
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=63
type WorkloadKind string

// The kinds of workload: of RolloutsGroup is WorkloadRollout, and of AppsGroup are the others.
const (
	WorkloadDeployment  WorkloadKind = "Deployment"
	WorkloadStatefulSet WorkloadKind = "StatefulSet"
	WorkloadDaemonSet   WorkloadKind = "DaemonSet"
	WorkloadReplicaSet  WorkloadKind = "ReplicaSet"
	WorkloadRollout     WorkloadKind = "Rollout"
)

const (
	// AppsGroup is the API group of a workload whose group is absent.
	AppsGroup = "apps"
	// RolloutsGroup is the API group of Argo Rollouts.
	RolloutsGroup = "argoproj.io"
)

// Group returns the API group of a kind of workload. No two groups have a kind of the same name.
func (k WorkloadKind) Group() string {
	if k == WorkloadRollout {
		return RolloutsGroup
	}
	return AppsGroup
}

// WorkloadReference names a workload in the namespace of the object that refers to it.
type WorkloadReference struct {
	// group is the API group of the workload. The default is apps.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +optional
	Group string `json:"group,omitempty"`

	// kind of the workload, such as Deployment.
	//
	// +required
	Kind WorkloadKind `json:"kind,omitempty"`

	// name of the workload. It need not exist yet.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +required
	Name string `json:"name,omitempty"`
}
