// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package applyconfiguration has the apply configurations of the structs of api/common that types of other packages embed.
package applyconfiguration

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// RecordApplyConfiguration represents a declarative configuration of Record for use with apply. The generator makes none in a
// package without a group, and the apply configurations of types that embed a Record embed this one.
//
// +kubebuilder:object:generate=false
type RecordApplyConfiguration struct {
	ID             *string      `json:"id,omitempty"`
	Result         *string      `json:"result,omitempty"`
	Reason         *string      `json:"reason,omitempty"`
	Message        *string      `json:"message,omitempty"`
	StartTime      *metav1.Time `json:"startTime,omitempty"`
	CompletionTime *metav1.Time `json:"completionTime,omitempty"`
}

// HaltApplyConfiguration represents a declarative configuration of Halt for use with apply.
//
// +kubebuilder:object:generate=false
type HaltApplyConfiguration struct {
	Reason     *string      `json:"reason,omitempty"`
	Message    *string      `json:"message,omitempty"`
	StartTime  *metav1.Time `json:"startTime,omitempty"`
	Generation *int64       `json:"generation,omitempty"`
	RecordID   *string      `json:"recordID,omitempty"`
}
