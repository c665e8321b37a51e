// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package common

import "strings"

// WorkloadKind is a kind of workload. Each field says which ones it takes. In a status, and where a kind stands for itself, one
// that is neither of apps nor of argoproj.io has its group, as kubectl writes it: CloneSet.apps.kruise.io.
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
	// WorkloadCronJob and WorkloadJob are of BatchGroup, and run to an end.
	WorkloadCronJob WorkloadKind = "CronJob." + BatchGroup
	WorkloadJob     WorkloadKind = "Job." + BatchGroup
)

const (
	// AppsGroup is the API group of a workload whose group is absent.
	AppsGroup = "apps"
	// RolloutsGroup is the API group of Argo Rollouts.
	RolloutsGroup = "argoproj.io"
	// BatchGroup is the API group of CronJobs and Jobs.
	BatchGroup = "batch"
)

// KindOfGroup returns the kind of a group, which may be absent, with the group where it needs it.
func KindOfGroup(group string, kind WorkloadKind) WorkloadKind {
	if group == "" || group == AppsGroup || group == RolloutsGroup {
		return kind
	}
	return kind + "." + WorkloadKind(group)
}

// Group returns the API group of a kind of workload. Without its own, no two groups have a kind of the same name.
func (k WorkloadKind) Group() string {
	if _, group, named := strings.Cut(string(k), "."); named {
		return group
	}
	if k == WorkloadRollout {
		return RolloutsGroup
	}
	return AppsGroup
}

// Name returns a kind without its group.
func (k WorkloadKind) Name() WorkloadKind {
	name, _, _ := strings.Cut(string(k), ".")
	return WorkloadKind(name)
}

// Resource returns the resource of a kind: that of every kind here is its name in lower case, with an s.
func (k WorkloadKind) Resource() string { return strings.ToLower(string(k.Name())) + "s" }

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
