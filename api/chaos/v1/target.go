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

	// selector selects pods of the namespace by their labels. Only pods that have a controller are selected. An empty
	// selector selects all of these.
	//
	// +optional
	Selector *common.LabelSelector `json:"selector,omitempty"`

	// template is a pod template, as in a Deployment: `kubectl explain pod.spec` describes its fields. Fairlead keeps
	// such a pod running, as a canary, and kills it in each run. You can neither add a template to an object nor remove
	// it.
	//
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=object
	// +kubebuilder:pruning:PreserveUnknownFields
	// +optional
	Template *corev1.PodTemplateSpec `json:"template,omitempty"`
}

// Filter narrows the choice among the target's pods.
type Filter struct {
	// minAge is how old a pod must be to be killed. The default is 10m. With target.template there is no default.
	//
	// +optional
	MinAge *common.Duration `json:"minAge,omitempty"`

	// exclude selects pods that are not killed, by their labels.
	//
	// +optional
	Exclude *common.LabelSelector `json:"exclude,omitempty"`
}
