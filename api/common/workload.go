// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package common

import "strings"

// WorkloadKind is a kind of workload. Each field lists the kinds that it accepts. In a status and in messages, a kind
// of a group other than apps and argoproj.io is followed by its group, as in kubectl: CloneSet.apps.kruise.io.
//
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=63
type WorkloadKind string

// The kinds of workload. WorkloadRollout belongs to RolloutsGroup, and the others to AppsGroup.
const (
	WorkloadDeployment  WorkloadKind = "Deployment"
	WorkloadStatefulSet WorkloadKind = "StatefulSet"
	WorkloadDaemonSet   WorkloadKind = "DaemonSet"
	WorkloadReplicaSet  WorkloadKind = "ReplicaSet"
	WorkloadRollout     WorkloadKind = "Rollout"
	// WorkloadCronJob and WorkloadJob belong to BatchGroup. Their pods run to completion.
	WorkloadCronJob WorkloadKind = "CronJob." + BatchGroup
	WorkloadJob     WorkloadKind = "Job." + BatchGroup
)

const (
	// AppsGroup is the default API group of a workload.
	AppsGroup = "apps"
	// RolloutsGroup is the API group of Argo Rollouts.
	RolloutsGroup = "argoproj.io"
	// BatchGroup is the API group of CronJobs and Jobs.
	BatchGroup = "batch"
)

// KindOfGroup returns the WorkloadKind of a kind and its group, which may be empty. The result has the group as a
// suffix if needed.
func KindOfGroup(group string, kind WorkloadKind) WorkloadKind {
	if group == "" || group == AppsGroup || group == RolloutsGroup {
		return kind
	}
	return kind + "." + WorkloadKind(group)
}

// Group returns the API group of a kind. A kind without a suffix is unique among the known groups.
func (k WorkloadKind) Group() string {
	if _, group, named := strings.Cut(string(k), "."); named {
		return group
	}
	if k == WorkloadRollout {
		return RolloutsGroup
	}
	return AppsGroup
}

// Name returns the kind without its group.
func (k WorkloadKind) Name() WorkloadKind {
	name, _, _ := strings.Cut(string(k), ".")
	return WorkloadKind(name)
}

// Resource returns the resource of a kind: its name in lower case, followed by an s.
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
