// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package chaospod

import (
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	chaosv1 "github.com/fairlead-dev/fairlead/api/chaos/v1"
	"github.com/fairlead-dev/fairlead/controllers/internal/chaos"
	"github.com/fairlead-dev/fairlead/internal/disruption"
)

// actionRun and actionSchedule are the actions of events: what the operator was doing.
const (
	actionRun      = "Run"
	actionSchedule = "Schedule"
)

// Bounds of what one write of a status tells.
const (
	// maxEvents is how many events of one reason there are. What happened to other pods is in the status.
	maxEvents = 10
	// maxNote is the length of a note in bytes, as the API server allows it.
	maxNote = 1024
)

// writeEvents writes events about what has happened: on the ChaosPod, and on the pod and its owner where there
// is one. They are told once the status that says so is stored, so that each is told once.
func (r *Reconciler) writeEvents(o *observation, before *chaosv1.ChaosPodStatus, notices []chaos.Message) {
	r.writeReadyEvent(o, before)
	told := map[string]int{}
	for i := range notices {
		n := &notices[i]
		r.metrics.countMessage(o.stored, n)
		if told[n.Reason]++; told[n.Reason] > maxEvents {
			continue
		}
		kind := corev1.EventTypeNormal
		if n.Warning {
			kind = corev1.EventTypeWarning
		}
		pod, owner := references(o.key.Namespace, n.Victim)
		var related runtime.Object
		if pod != nil {
			related = pod
		}
		r.Events.Eventf(o.stored, related, kind, n.Reason, actionRun, "%s", cut(n.Text))
		for _, about := range []*corev1.ObjectReference{pod, owner} {
			if about != nil {
				r.Events.Eventf(about, o.stored, kind, n.Reason, actionRun, "%s", cut("ChaosPod "+o.key.Name+": "+n.Text))
			}
		}
	}
}

// writeReadyEvent is a Ready condition of another status or reason.
func (r *Reconciler) writeReadyEvent(o *observation, before *chaosv1.ChaosPodStatus) {
	was := meta.FindStatusCondition(before.Conditions, chaosv1.ConditionReady)
	is := meta.FindStatusCondition(o.stored.Status.Conditions, chaosv1.ConditionReady)
	if is == nil || was != nil && was.Status == is.Status && was.Reason == is.Reason {
		return
	}
	kind := corev1.EventTypeNormal
	if is.Status != metav1.ConditionTrue {
		kind = corev1.EventTypeWarning
	}
	r.Events.Eventf(o.stored, nil, kind, is.Reason, actionSchedule, "%s", cut(is.Message))
}

// references name a victim and its owner. The canary's owner is the ChaosPod, which is told anyway.
func references(namespace string, v *chaosv1.Victim) (pod, owner *corev1.ObjectReference) {
	if v == nil {
		return nil, nil
	}
	pod = &corev1.ObjectReference{APIVersion: "v1", Kind: "Pod", Namespace: namespace, Name: v.Name, UID: v.UID}
	if o := v.Owner; o != nil && o.Kind != disruption.ChaosPod {
		owner = &corev1.ObjectReference{APIVersion: appsv1.SchemeGroupVersion.String(), Kind: o.Kind, Namespace: namespace, Name: o.Name, UID: o.UID}
	}
	return pod, owner
}

func cut(message string) string {
	if len(message) <= maxNote {
		return message
	}
	return strings.ToValidUTF8(message[:maxNote-3], "") + "..."
}
