// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package workloads

import (
	"encoding/json"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// StripManagedFields removes managedFields from a workload, except for the name of the manager that scaled it to zero.
func StripManagedFields(object metav1.Object) {
	var kept []metav1.ManagedFieldsEntry
	if isScaledToZero(object) {
		if manager := scalerOf(object); manager != "" {
			kept = []metav1.ManagedFieldsEntry{{Manager: manager}}
		}
	}
	object.SetManagedFields(kept)
}

func isScaledToZero(object metav1.Object) bool {
	var replicas *int32
	switch o := object.(type) {
	case *appsv1.Deployment:
		replicas = o.Spec.Replicas
	case *appsv1.StatefulSet:
		replicas = o.Spec.Replicas
	}
	return replicas != nil && *replicas == 0
}

// scalerOf returns the manager that was the last to set spec.replicas, such as flagger or kubectl; empty where nothing says so.
func scalerOf(object metav1.Object) string {
	scaler, last := "", metav1.Time{}
	for _, entry := range object.GetManagedFields() {
		at := metav1.Time{}
		if entry.Time != nil {
			at = *entry.Time
		}
		if setsReplicas(entry.FieldsV1) && (scaler == "" || last.Before(&at)) {
			scaler, last = entry.Manager, at
		}
	}
	return scaler
}

// setsReplicas reports whether spec.replicas is among fields. Those of an entry that StripManagedFields has kept are nil.
func setsReplicas(fields *metav1.FieldsV1) bool {
	if fields == nil {
		return true
	}
	var set struct {
		Spec struct {
			Replicas json.RawMessage `json:"f:replicas"`
		} `json:"f:spec"`
	}
	return json.Unmarshal(fields.GetRawBytes(), &set) == nil && set.Spec.Replicas != nil
}
