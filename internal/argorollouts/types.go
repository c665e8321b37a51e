// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package argorollouts

import (
	"encoding/json"
	"errors"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"
	kjson "sigs.k8s.io/json"

	"github.com/fairlead-dev/fairlead/api/common"
)

// GroupVersion is the version at which Rollouts are read: the only one that there is.
var GroupVersion = schema.GroupVersion{Group: common.RolloutsGroup, Version: "v1alpha1"}

// Kind of Rollouts.
const Kind = string(common.WorkloadRollout)

// AddToScheme adds Rollouts to a scheme.
func AddToScheme(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion, &Rollout{}, &RolloutList{})
	metav1.AddToGroupVersion(scheme, GroupVersion)
	return nil
}

// Rollout holds the fields of a Rollout that Fairlead reads.
type Rollout struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitzero"`
	Spec              Spec   `json:"spec,omitzero"`
	Status            Status `json:"status,omitzero"`
}

// RolloutList is a list of Rollouts.
type RolloutList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitzero"`
	Items           []Rollout `json:"items"`
}

// Spec holds the fields of a spec that Fairlead reads.
type Spec struct {
	Replicas        *int32                 `json:"replicas,omitempty"`
	Selector        *metav1.LabelSelector  `json:"selector,omitempty"`
	Template        corev1.PodTemplateSpec `json:"template,omitzero"`
	WorkloadRef     *WorkloadRef           `json:"workloadRef,omitempty"`
	MinReadySeconds int32                  `json:"minReadySeconds,omitempty"`
	Strategy        Strategy               `json:"strategy,omitzero"`
	Paused          bool                   `json:"paused,omitempty"`
	RestartAt       *metav1.Time           `json:"restartAt,omitempty"`

	// Fault is why the spec could not be read; empty where it could. The schema of the CRD may be of another version, and it
	// does not look into the pod template.
	Fault string `json:"-"`
}

// WorkloadRef names what has the pod template in place of the Rollout.
type WorkloadRef struct {
	APIVersion string `json:"apiVersion,omitempty"`
	Kind       string `json:"kind,omitempty"`
	Name       string `json:"name,omitempty"`
}

// Strategy is one of two.
type Strategy struct {
	BlueGreen *struct{} `json:"blueGreen,omitempty"`
	Canary    *Canary   `json:"canary,omitempty"`
}

// Canary holds the fields of the canary strategy that Fairlead reads.
type Canary struct {
	MaxUnavailable *intstr.IntOrString `json:"maxUnavailable,omitempty"`
	TrafficRouting *struct{}           `json:"trafficRouting,omitempty"`
}

// Status holds the fields of a status that Fairlead reads.
type Status struct {
	Abort              bool             `json:"abort,omitempty"`
	PauseConditions    []PauseCondition `json:"pauseConditions,omitempty"`
	CurrentPodHash     string           `json:"currentPodHash,omitempty"`
	StableRS           string           `json:"stableRS,omitempty"`
	Replicas           int32            `json:"replicas,omitempty"`
	UpdatedReplicas    int32            `json:"updatedReplicas,omitempty"`
	AvailableReplicas  int32            `json:"availableReplicas,omitempty"`
	ObservedGeneration string           `json:"observedGeneration,omitempty"`
	Conditions         []Condition      `json:"conditions,omitempty"`
	BlueGreen          BlueGreenStatus  `json:"blueGreen,omitzero"`
	RestartedAt        *metav1.Time     `json:"restartedAt,omitempty"`
	Message            string           `json:"message,omitempty"`
}

// PauseCondition is why the controller has paused a Rollout.
type PauseCondition struct {
	Reason string `json:"reason,omitempty"`
}

// BlueGreenStatus holds the fields of the blue-green status that Fairlead reads.
type BlueGreenStatus struct {
	ActiveSelector string `json:"activeSelector,omitempty"`
}

// Condition is one of a Rollout.
type Condition struct {
	Type           string                 `json:"type,omitempty"`
	Status         corev1.ConditionStatus `json:"status,omitempty"`
	LastUpdateTime metav1.Time            `json:"lastUpdateTime,omitzero"`
	Reason         string                 `json:"reason,omitempty"`
	Message        string                 `json:"message,omitempty"`
}

// The types of Condition that are read, and the reasons of Progressing.
const (
	ConditionProgressing    = "Progressing"
	ConditionReplicaFailure = "ReplicaFailure"
	ConditionInvalidSpec    = "InvalidSpec"

	ReasonProgressDeadlineExceeded = "ProgressDeadlineExceeded"
)

// UnmarshalJSON decodes as much as it can and records the rest as Fault: an item that does not decode makes client-go reject
// the whole list.
func (s *Spec) UnmarshalJSON(data []byte) error {
	type plain Spec
	var read plain
	if err := kjson.UnmarshalCaseSensitivePreserveInts(data, &read); err != nil {
		read = plain{Fault: faultOf(err)}
	}
	*s = Spec(read)
	return nil
}

// UnmarshalJSON decodes as much as it can. What is missing then looks like a rollout under way.
func (s *Status) UnmarshalJSON(data []byte) error {
	type plain Status
	var read plain
	if err := kjson.UnmarshalCaseSensitivePreserveInts(data, &read); err != nil {
		read = plain{}
	}
	*s = Status(read)
	return nil
}

// faultOf returns where a value is of another type than expected, without the value.
func faultOf(err error) string {
	if mistyped, is := errors.AsType[*json.UnmarshalTypeError](err); is && mistyped.Field != "" {
		return "spec." + mistyped.Field + " is of another type than expected"
	}
	return "its spec is not as expected"
}

// IsObserved reports whether the controller has seen the latest spec. Before version 0.10 it wrote no number there.
func (r *Rollout) IsObserved() bool {
	seen, err := strconv.ParseInt(r.Status.ObservedGeneration, 10, 64)
	return err == nil && seen >= r.Generation
}

// IsRestarting reports whether pods are yet to be restarted because of spec.restartAt, which may be in the future.
func (r *Rollout) IsRestarting() bool {
	at := r.Spec.RestartAt
	return at != nil && (r.Status.RestartedAt == nil || !r.Status.RestartedAt.Time.Equal(at.Time))
}

// IsPromoted reports whether the latest revision is that of all pods, after the steps and analyses of the strategy.
func (r *Rollout) IsPromoted() bool {
	current := r.Status.CurrentPodHash
	return current != "" && current == r.Status.StableRS && (r.Spec.Strategy.BlueGreen == nil || current == r.Status.BlueGreen.ActiveSelector)
}

// DeepCopyObject implements runtime.Object.
func (r *Rollout) DeepCopyObject() runtime.Object { return r.DeepCopy() }

// DeepCopy returns a copy.
func (r *Rollout) DeepCopy() *Rollout {
	out := *r
	out.ObjectMeta = *r.ObjectMeta.DeepCopy()
	out.Spec.Replicas = copyOf(r.Spec.Replicas)
	out.Spec.Selector = r.Spec.Selector.DeepCopy()
	out.Spec.Template = *r.Spec.Template.DeepCopy()
	out.Spec.WorkloadRef = copyOf(r.Spec.WorkloadRef)
	out.Spec.RestartAt = r.Spec.RestartAt.DeepCopy()
	if canary := copyOf(r.Spec.Strategy.Canary); canary != nil {
		canary.MaxUnavailable = copyOf(canary.MaxUnavailable)
		out.Spec.Strategy.Canary = canary
	}
	out.Status.PauseConditions = append([]PauseCondition(nil), r.Status.PauseConditions...)
	out.Status.Conditions = append([]Condition(nil), r.Status.Conditions...)
	out.Status.RestartedAt = r.Status.RestartedAt.DeepCopy()
	return &out
}

// DeepCopyObject implements runtime.Object.
func (l *RolloutList) DeepCopyObject() runtime.Object {
	out := RolloutList{TypeMeta: l.TypeMeta}
	meta := l.ListMeta
	meta.DeepCopyInto(&out.ListMeta)
	for i := range l.Items {
		out.Items = append(out.Items, *l.Items[i].DeepCopy())
	}
	return &out
}

func copyOf[T any](of *T) *T {
	if of == nil {
		return nil
	}
	out := *of
	return &out
}
