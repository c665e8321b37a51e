// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package v1

import "github.com/fairlead-dev/fairlead/api/common"

// GateType is a kind of condition for a restart to start.
//
// +kubebuilder:validation:Enum=ExternalServiceHealthy;WorkloadAvailable;NoPods;ChaosSurvived;PrometheusQueryEmpty;Approval
type GateType string

// The types of gate; each goes with the member of its name, except Approval, which has none.
const (
	GateExternalServiceHealthy GateType = "ExternalServiceHealthy"
	GateWorkloadAvailable      GateType = "WorkloadAvailable"
	GateNoPods                 GateType = "NoPods"
	GateChaosSurvived          GateType = "ChaosSurvived"
	GatePrometheusQueryEmpty   GateType = "PrometheusQueryEmpty"
	// GateApproval is open for the restarts that a person has approved, and closes again with their next ones.
	GateApproval GateType = "Approval"
)

// Gate is a condition that must hold for a restart to start. It is about objects of the policy's
// own namespace, what a Prometheus server says, or what a person has approved.
//
// +kubebuilder:validation:XValidation:rule="(self.type == 'ExternalServiceHealthy') == has(self.externalServiceHealthy)",message="type ExternalServiceHealthy and externalServiceHealthy go together: set both or neither"
// +kubebuilder:validation:XValidation:rule="(self.type == 'WorkloadAvailable') == has(self.workloadAvailable)",message="type WorkloadAvailable and workloadAvailable go together: set both or neither"
// +kubebuilder:validation:XValidation:rule="(self.type == 'NoPods') == has(self.noPods)",message="type NoPods and noPods go together: set both or neither"
// +kubebuilder:validation:XValidation:rule="(self.type == 'ChaosSurvived') == has(self.chaosSurvived)",message="type ChaosSurvived and chaosSurvived go together: set both or neither"
// +kubebuilder:validation:XValidation:rule="(self.type == 'PrometheusQueryEmpty') == has(self.prometheusQueryEmpty)",message="type PrometheusQueryEmpty and prometheusQueryEmpty go together: set both or neither"
// +union
type Gate struct {
	// name of the gate, unique in the policy. Messages use it.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$')",message="must be lower-case letters, digits and hyphens, with a letter or digit at both ends"
	// +required
	Name string `json:"name,omitempty"`

	// type says which of the members below is set. Approval has none: a restart that is due waits until a person approves
	// it, by the annotation autoreboot.fairlead.dev/approve.
	//
	// +unionDiscriminator
	// +required
	Type GateType `json:"type,omitempty"`

	// externalServiceHealthy is open while an ExternalService is Healthy.
	//
	// +optional
	ExternalServiceHealthy *ExternalServiceHealthy `json:"externalServiceHealthy,omitempty"`

	// workloadAvailable is open while all desired replicas of a Deployment, StatefulSet or DaemonSet are available.
	//
	// +kubebuilder:validation:XValidation:rule="!has(self.group) || self.group == 'apps'",message="group must be apps",fieldPath=".group"
	// +kubebuilder:validation:XValidation:rule="self.kind in ['Deployment', 'StatefulSet', 'DaemonSet']",message="kind must be Deployment, StatefulSet or DaemonSet",fieldPath=".kind"
	// +optional
	WorkloadAvailable *common.WorkloadReference `json:"workloadAvailable,omitempty"`

	// noPods is open while a selector matches no pod that has not finished.
	//
	// +optional
	NoPods *NoPods `json:"noPods,omitempty"`

	// chaosSurvived is open while the last run of a ChaosPod that killed pods was survived, and is recent enough.
	//
	// +optional
	ChaosSurvived *ChaosSurvived `json:"chaosSurvived,omitempty"`

	// prometheusQueryEmpty is open while a query returns nothing, as an alerting rule is quiet while its expression does. It is
	// evaluated every 15 seconds, by the server that the operator's configuration names in rebootPolicies.prometheus.
	//
	// +optional
	PrometheusQueryEmpty *PrometheusQueryEmpty `json:"prometheusQueryEmpty,omitempty"`
}

// ExternalServiceHealthy is open while an ExternalService is Healthy.
type ExternalServiceHealthy struct {
	// name of the ExternalService.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +required
	Name string `json:"name,omitempty"`
}

// NoPods is open while no pod that has not finished is selected.
type NoPods struct {
	// selector selects the pods that hold the gate closed. An empty one selects all pods of the namespace.
	//
	// +required
	Selector *common.LabelSelector `json:"selector,omitempty"`
}

// ChaosSurvived is open while the last run of a ChaosPod that killed pods was survived.
type ChaosSurvived struct {
	// name of the ChaosPod.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +required
	Name string `json:"name,omitempty"`

	// within is how long ago that run may have begun. A dry run proves nothing. The default is 168h.
	//
	// +optional
	Within *common.Duration `json:"within,omitempty"`
}

// PrometheusQueryEmpty is open while a query returns nothing. It is closed while the query fails, has no result yet, or has an
// incomplete one.
type PrometheusQueryEmpty struct {
	// query in PromQL. Its result must be an instant vector, which holds restarts while it has an element, whatever its value:
	// ALERTS{alertstate="firing", severity="critical"}. Compare numbers: rate(errors_total[5m]) > 0.1.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=2048
	// +required
	Query string `json:"query,omitempty"`
}
