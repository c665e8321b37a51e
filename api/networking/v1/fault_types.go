// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-dev/fairlead/api/common"
)

// InjectFaultAnnotation requests a fault that ends by itself. Its value is a common.Token: a type, and for how long, from 1s to
// 1h, as in "BlackHole for=10m" or "Drain endpoint=primary for=10m". With at=2026-03-02T14:00:00Z the fault lasts from that
// time to at + for, however late it is noticed; without at it begins when it is first observed. id=2 distinguishes a
// request from an earlier one of the same text. status.fault has the request that was handled last, and its outcome. To
// remove the annotation ends the fault. A user who sets it must have the right to update EndpointSlices in the namespace.
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

// FaultStatus is the last fault that was requested in a readable form.
type FaultStatus struct {
	// request is the value of the annotation.
	// +required
	Request common.Token `json:"request,omitempty"`

	// type is BlackHole, Drain or FailOver.
	// +required
	Type FaultType `json:"type,omitempty"`

	// endpoint that Drain takes out.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +optional
	Endpoint string `json:"endpoint,omitempty"`

	// deadlineTime is when the fault ends at the latest.
	// +required
	DeadlineTime metav1.Time `json:"deadlineTime,omitzero"`

	// startTime is when the fault began. It is absent from one that was refused.
	// +optional
	StartTime *metav1.Time `json:"startTime,omitempty"`

	// completionTime is when the fault ended, or was refused. It is absent while the fault lasts.
	// +optional
	CompletionTime *metav1.Time `json:"completionTime,omitempty"`

	// priority that was published when the fault began.
	// +optional
	Priority *int32 `json:"priority,omitempty"`

	// outcome is why the fault ended, or Refused.
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

	// dependants are the workloads of the namespace that depend on the ExternalService, at most 32: the targets of
	// the RebootPolicies that name it, and then those whose annotation declares it. Those that did not stay ready come first.
	//
	// +kubebuilder:validation:MaxItems=32
	// +listType=atomic
	// +optional
	Dependants []FaultDependant `json:"dependants,omitempty"`

	// dependantsStayedReady is False where one of them became unready during the fault, and Unknown
	// where there is none, or one was unready before or could not be read. It is absent while the
	// fault lasts.
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
	// DependantStayedReady says that all its replicas were available whenever it was read.
	DependantStayedReady DependantReadiness = "StayedReady"
	// DependantBecameUnready says that it was ready before the fault, and was not during it.
	DependantBecameUnready DependantReadiness = "BecameUnready"
	// DependantUnreadyBefore says that it was not ready when the fault began.
	DependantUnreadyBefore DependantReadiness = "UnreadyBefore"
	// DependantUnreadable says that it could not be read.
	DependantUnreadable DependantReadiness = "Unreadable"
)

// Lasts reports whether the fault has begun and not ended.
func (f *FaultStatus) Lasts() bool { return f != nil && f.StartTime != nil && f.CompletionTime == nil }
