// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package chaospod

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	chaosv1 "github.com/fairlead-dev/fairlead/api/chaos/v1"
	"github.com/fairlead-dev/fairlead/controllers/chaospod/chaos"
	"github.com/fairlead-dev/fairlead/controllers/internal/controller"
	"github.com/fairlead-dev/fairlead/internal/disruption"
)

// actionRun and actionSchedule are the actions of events: what the operator was doing.
const (
	actionRun      = "Run"
	actionSchedule = "Schedule"
)

// writeEvents writes the events of one write of a status: about the ChaosPod, and about the pod and its owner that
// a message names.
func (r *Reconciler) writeEvents(o *observation, before *chaosv1.ChaosPodStatus, messages []chaos.Message) {
	controller.WriteReadyEvent(r.Events, o.stored, before.Conditions, o.stored.Status.Conditions, actionSchedule)
	written := map[string]int{}
	for i := range messages {
		m := &messages[i]
		r.metrics.countMessage(o.stored, m)
		if written[m.Reason]++; written[m.Reason] > controller.MaxEvents {
			continue
		}
		kind := controller.EventType(m.Warning)
		pod, owner := references(o.key.Namespace, m.Victim)
		var related runtime.Object
		if pod != nil {
			related = pod
		}
		r.Events.Eventf(o.stored, related, kind, m.Reason, actionRun, "%s", m.Text)
		for _, about := range []*corev1.ObjectReference{pod, owner} {
			if about != nil {
				r.Events.Eventf(about, o.stored, kind, m.Reason, actionRun, "%s", "ChaosPod "+o.key.Name+": "+m.Text)
			}
		}
	}
}

// references returns references to a victim and its owner. The canary's owner is the ChaosPod, which has an event
// anyway.
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
