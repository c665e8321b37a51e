// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-dev/fairlead/api/common"
)

// GateType is a type of gate.
//
// +kubebuilder:validation:Enum=Condition;NoPods;PrometheusQueryEmpty;Approval
type GateType string

// The types of gate. Each has a member of its own in Gate, except Approval.
const (
	GateCondition            GateType = "Condition"
	GateNoPods               GateType = "NoPods"
	GatePrometheusQueryEmpty GateType = "PrometheusQueryEmpty"
	// GateApproval opens for the restarts that a user has approved. Restarts that become due later need another approval.
	GateApproval GateType = "Approval"
)

// Gate is a condition that must hold for a restart to start. It is about objects of the policy's namespace, the result
// of a Prometheus query, or the approval of a user.
//
// +kubebuilder:validation:XValidation:rule="(self.type == 'Condition') == has(self.condition)",message="type Condition and condition go together: set both or neither"
// +kubebuilder:validation:XValidation:rule="(self.type == 'NoPods') == has(self.noPods)",message="type NoPods and noPods go together: set both or neither"
// +kubebuilder:validation:XValidation:rule="(self.type == 'PrometheusQueryEmpty') == has(self.prometheusQueryEmpty)",message="type PrometheusQueryEmpty and prometheusQueryEmpty go together: set both or neither"
// +union
type Gate struct {
	// name of the gate, unique in the policy. Messages contain it. The default is type in lower case, such as nopods.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$')",message="must be lower-case letters, digits and hyphens, with a letter or digit at both ends"
	// +optional
	Name string `json:"name,omitempty"`

	// type defines which of the members below is set. Approval has none: a restart that is due waits until a user
	// approves it, by the annotation autoreboot.fairlead.dev/approve.
	//
	// +unionDiscriminator
	// +required
	Type GateType `json:"type,omitempty"`

	// condition is open while an object has a condition. It is closed while the object is missing, is being deleted, or
	// cannot be read. It is closed as well if the condition is missing or is about an earlier generation.
	//
	// +optional
	Condition *ObjectCondition `json:"condition,omitempty"`

	// noPods is open while every pod that a selector matches has finished, or there is no such pod.
	//
	// +optional
	NoPods *NoPods `json:"noPods,omitempty"`

	// prometheusQueryEmpty is open while a query returns nothing, like an alerting rule that does not fire. It is
	// evaluated every 15 seconds, by the server that the operator's configuration names in rebootPolicies.prometheus.
	//
	// +optional
	PrometheusQueryEmpty *PrometheusQueryEmpty `json:"prometheusQueryEmpty,omitempty"`
}

// ObjectCondition is a condition of an object of the policy's namespace. The writer of the policy needs the right to
// get the object, and so does the operator. An ExternalService, a ChaosPod, a Deployment, a StatefulSet and a DaemonSet
// are watched. An object of another kind is read every 15 seconds; its resource must be the plural of its kind.
//
// +kubebuilder:validation:XValidation:rule="self.apiVersion != 'v1' || !(self.kind.lowerAscii() in ['secret', 'configmap'])",message="Secrets and ConfigMaps have no conditions: name an object of another kind",fieldPath=".kind"
// +kubebuilder:validation:XValidation:rule="has(self.type) || !has(self.status)",message="set type as well: status is that of a condition",fieldPath=".status"
// +kubebuilder:validation:XValidation:rule="has(self.type) || !has(self.maxAge)",message="set type as well: maxAge is that of a condition",fieldPath=".maxAge"
type ObjectCondition struct {
	// apiVersion of the object, as in its manifest: apps/v1.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=317
	// +required
	APIVersion string `json:"apiVersion,omitempty"`

	// kind of the object, as in its manifest: Deployment. It cannot be a Secret or a ConfigMap.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:XValidation:rule="self.matches('^[A-Z][A-Za-z0-9]*$')",message="must be a kind as in a manifest, such as Deployment: letters and digits, the first an upper-case letter"
	// +required
	Kind string `json:"kind,omitempty"`

	// name of the object.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +required
	Name string `json:"name,omitempty"`

	// type of the condition, such as Ready. Without it, a Deployment, StatefulSet or DaemonSet must be rolled out and
	// have all desired replicas available. An object of another kind must then be current by the rules of kstatus.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=316
	// +optional
	Type string `json:"type,omitempty"`

	// status that the condition must have: True or False. Defaults to True. It needs type.
	//
	// +kubebuilder:validation:Enum="True";"False"
	// +optional
	Status metav1.ConditionStatus `json:"status,omitempty"`

	// maxAge is how old the lastTransitionTime of the condition may be. For the condition Survived of a ChaosPod, that
	// time is the end of its last verified run. Defaults to none: any time counts. It needs type.
	//
	// +optional
	MaxAge *common.Duration `json:"maxAge,omitempty"`
}

// NoPods is open while every pod that a selector matches has finished, or there is no such pod.
type NoPods struct {
	// selector selects the pods that hold the gate closed. An empty one selects all pods of the namespace.
	//
	// +required
	Selector *common.LabelSelector `json:"selector,omitempty"`
}

// PrometheusQueryEmpty is open while a query returns nothing. It is closed while the query fails, or has no complete
// result yet.
type PrometheusQueryEmpty struct {
	// query in PromQL. Its result must be an instant vector. While the vector has an element, it holds restarts, whatever
	// the value: ALERTS{alertstate="firing", severity="critical"}. Compare numbers: rate(errors_total[5m]) > 0.1.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=2048
	// +required
	Query string `json:"query,omitempty"`
}
