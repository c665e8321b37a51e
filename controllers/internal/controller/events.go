// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/recorder"
)

// MaxEvents is how many events of one reason the write of one status causes. The status has the rest.
const MaxEvents = 10

// EventType returns the type of an event.
func EventType(warning bool) string {
	if warning {
		return corev1.EventTypeWarning
	}
	return corev1.EventTypeNormal
}

// WriteReadyEvent writes an event where the status or the reason of the condition Ready has changed.
func WriteReadyEvent(to recorder.EventRecorder, object client.Object, before, after []metav1.Condition, action string) {
	const ready = "Ready"
	was, is := meta.FindStatusCondition(before, ready), meta.FindStatusCondition(after, ready)
	if is == nil || was != nil && was.Status == is.Status && was.Reason == is.Reason {
		return
	}
	to.Eventf(object, nil, EventType(is.Status != metav1.ConditionTrue), is.Reason, action, "%s", is.Message)
}
