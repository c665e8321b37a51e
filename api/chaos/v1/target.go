// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package v1

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-dev/fairlead/api/common"
)

// Target names the pods to choose from: exactly one of workload, selector and template.
//
// +kubebuilder:validation:XValidation:rule="[has(self.workload),has(self.selector),has(self.template)].exists_one(x,x)",message="set exactly one of workload, selector, template"
// +kubebuilder:validation:XValidation:rule="!has(self.selector) || has(self.selector.matchLabels) || has(self.selector.matchExpressions)",message="an empty selector is not allowed"
type Target struct {
	// workload is one workload of the apps group, by name.
	//
	// +optional
	Workload *WorkloadReference `json:"workload,omitempty"`

	// selector takes all pods of the namespace with these labels that belong to a controller. It
	// cannot be empty.
	//
	// +optional
	Selector *common.LabelSelector `json:"selector,omitempty"`

	// template is a pod that Fairlead itself keeps running, as a canary, and kills. It can be
	// neither added to an object nor removed from it.
	//
	// +optional
	Template *corev1.PodTemplateSpec `json:"template,omitempty"`
}

// WorkloadKind is a kind of the apps group whose pods may die.
//
// +kubebuilder:validation:Enum=Deployment;StatefulSet;DaemonSet;ReplicaSet
type WorkloadKind string

// The kinds of workload.
const (
	WorkloadDeployment  WorkloadKind = "Deployment"
	WorkloadStatefulSet WorkloadKind = "StatefulSet"
	WorkloadDaemonSet   WorkloadKind = "DaemonSet"
	WorkloadReplicaSet  WorkloadKind = "ReplicaSet"
)

// WorkloadReference names a workload in the object's namespace.
type WorkloadReference struct {
	// kind is the workload's kind, of the apps group.
	//
	// +required
	Kind WorkloadKind `json:"kind"`

	// name is the workload's name.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +required
	Name string `json:"name"`
}

// Filter narrows the choice among the target's pods.
type Filter struct {
	// minAge spares pods that are younger. The default is 10m, except with target.template, where
	// nothing is spared unless this is given.
	//
	// +optional
	MinAge *common.Duration `json:"minAge,omitempty"`

	// exclude spares pods with these labels.
	//
	// +optional
	Exclude *common.LabelSelector `json:"exclude,omitempty"`
}
