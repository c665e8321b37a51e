// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-dev/fairlead/api/common"
)

// InjectFaultAnnotation requests a fault that ends by itself. Its value is a common.Token: a type, and a duration from
// 1s to 1h. Examples are "BlackHole for=10m" and "Drain endpoint=primary for=10m". Without at, the fault begins when
// the operator observes the annotation. With at=2026-03-02T14:00:00Z it begins at that time, and ends at that time plus
// its duration, even if the operator observes it late. Add id=2 to distinguish a request from an earlier one with the
// same text. status.fault has the latest request that was handled, and its outcome. Remove the annotation to end the
// fault. A user who sets it needs the right to update EndpointSlices in the namespace.
const InjectFaultAnnotation = "networking.fairlead.dev/inject-fault"

// FaultType is BlackHole, Drain or FailOver.
//
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=64
type FaultType string

const (
	// FaultBlackHole publishes no address as ready.
	FaultBlackHole FaultType = "BlackHole"
	// FaultDrain publishes nothing of one endpoint.
	FaultDrain FaultType = "Drain"
	// FaultFailOver publishes the next priority that is healthy.
	FaultFailOver FaultType = "FailOver"
)

// FaultStatus is the last fault that an annotation requested, as fields.
type FaultStatus struct {
	// request is the value of the annotation.
	// +required
	Request common.Token `json:"request,omitempty"`

	// type is BlackHole, Drain or FailOver.
	// +required
	Type FaultType `json:"type,omitempty"`

	// endpoint is the name of the endpoint that a fault of type Drain takes out of service.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +optional
	Endpoint string `json:"endpoint,omitempty"`

	// deadlineTime is the latest time at which the fault ends.
	// +required
	DeadlineTime metav1.Time `json:"deadlineTime,omitzero"`

	// startTime is when the fault began. It is absent if the fault was refused.
	// +optional
	StartTime *metav1.Time `json:"startTime,omitempty"`

	// completionTime is when the fault ended, or was refused. It is absent while the fault lasts.
	// +optional
	CompletionTime *metav1.Time `json:"completionTime,omitempty"`

	// priority is the priority that was published when the fault began.
	// +optional
	Priority *int32 `json:"priority,omitempty"`

	// outcome is the reason for which the fault ended, or Refused if it did not begin.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	// +optional
	Outcome string `json:"outcome,omitempty"`

	// message explains the outcome.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	Message string `json:"message,omitempty"`

	// dependants are the workloads of the namespace that depend on the ExternalService, at most 32. The targets of
	// RebootPolicies that name it come first, then workloads that declare it by an annotation. Those that did not stay
	// ready precede all others.
	//
	// +kubebuilder:validation:MaxItems=32
	// +listType=atomic
	// +optional
	Dependants []FaultDependant `json:"dependants,omitempty"`

	// dependantsStayedReady is False if a dependant became unready during the fault. It is Unknown if there is no
	// dependant, or if one was unready before or could not be read. It is absent while the fault lasts.
	//
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MinLength=1
	// +optional
	DependantsStayedReady metav1.ConditionStatus `json:"dependantsStayedReady,omitempty"`
}

// FaultDependant is a workload, and whether it stayed ready during a fault.
type FaultDependant struct {
	// kind of the workload: Deployment, StatefulSet or DaemonSet.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +required
	Kind string `json:"kind,omitempty"`

	// name of the workload.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +required
	Name string `json:"name,omitempty"`

	// ready is StayedReady, BecameUnready, UnreadyBefore or Unreadable. The workload is read every five seconds.
	// +required
	Ready DependantReadiness `json:"ready,omitempty"`
}

// DependantReadiness says whether a workload stayed ready.
//
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=64
type DependantReadiness string

const (
	// DependantStayedReady means that all replicas of the workload were available at every read.
	DependantStayedReady DependantReadiness = "StayedReady"
	// DependantBecameUnready means that the workload was ready before the fault and became unready during it.
	DependantBecameUnready DependantReadiness = "BecameUnready"
	// DependantUnreadyBefore means that the workload was not ready when the fault began.
	DependantUnreadyBefore DependantReadiness = "UnreadyBefore"
	// DependantUnreadable means that the workload could not be read.
	DependantUnreadable DependantReadiness = "Unreadable"
)

// Lasts reports whether the fault has begun and not ended.
func (f *FaultStatus) Lasts() bool { return f != nil && f.StartTime != nil && f.CompletionTime == nil }
