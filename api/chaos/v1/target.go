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
type Target struct {
	// workload is one Deployment, StatefulSet, DaemonSet or ReplicaSet, or with group argoproj.io one Rollout, by name.
	//
	// +kubebuilder:validation:XValidation:rule="!has(self.group) || self.group in ['apps', 'argoproj.io']",message="group must be apps or argoproj.io",fieldPath=".group"
	// +kubebuilder:validation:XValidation:rule="has(self.group) && self.group == 'argoproj.io' ? self.kind == 'Rollout' : self.kind in ['Deployment', 'StatefulSet', 'DaemonSet', 'ReplicaSet']",message="kind must be Deployment, StatefulSet, DaemonSet or ReplicaSet, or with group argoproj.io Rollout",fieldPath=".kind"
	// +optional
	Workload *common.WorkloadReference `json:"workload,omitempty"`

	// selector takes all pods of the namespace with these labels that belong to a controller. An empty one takes
	// all that belong to one.
	//
	// +optional
	Selector *common.LabelSelector `json:"selector,omitempty"`

	// template is a pod template, as in a Deployment: `kubectl explain pod.spec` describes its fields. Fairlead keeps the pod
	// running, as a canary, and kills it. You can neither add a template to an object nor remove it.
	//
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=object
	// +kubebuilder:pruning:PreserveUnknownFields
	// +optional
	Template *corev1.PodTemplateSpec `json:"template,omitempty"`
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
