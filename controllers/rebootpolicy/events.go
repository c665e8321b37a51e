// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/controllers/rebootpolicy/restart"
)

// Actions of events: what the operator was doing.
const (
	actionRestart = "Restart"
	actionWatch   = "Watch"
)

// maxEvents is how many events of one reason one write of a status may cause. What happened to other
// targets stands in the status.
const maxEvents = 10

// writeEvents writes events about what has happened: that a restart started on the workload, what fails on the
// policy and the workload, and all else on the policy, so that a restart that goes well has two. The
// writer of a status reports them, so that each is reported once, whatever is tried again.
func (r *Reconciler) writeEvents(o *observation, before *autorebootv1.RebootPolicyStatus, notices []restart.Message) {
	r.writeReadyEvent(o, before)
	told := map[string]int{}
	for i := range notices {
		n := &notices[i]
		if n.Ended != nil {
			r.metrics.ended(o.policy, n.Ended)
		}
		if n.Reason == "TriggerFired" {
			continue // a restart tells its triggers, and until it starts the status does
		}
		if told[n.Reason]++; told[n.Reason] > maxEvents {
			continue
		}
		kind := corev1.EventTypeNormal
		if n.Warning {
			kind = corev1.EventTypeWarning
		}
		target := o.reference(n.Target)
		if target == nil {
			r.Events.Eventf(o.stored, nil, kind, n.Reason, actionRestart, "%s", cut(n.Text))
			continue
		}
		started := n.Reason == "RestartStarted"
		if n.Warning || !started {
			r.Events.Eventf(o.stored, target, kind, n.Reason, actionRestart, "%s", cut(n.Text))
		}
		if n.Warning || started {
			r.Events.Eventf(target, o.stored, kind, n.Reason, actionRestart, "%s", cut("RebootPolicy "+o.key.Name+": "+n.Text))
		}
	}
}

// writeReadyEvent is a Ready condition of another status or reason.
func (r *Reconciler) writeReadyEvent(o *observation, before *autorebootv1.RebootPolicyStatus) {
	was := meta.FindStatusCondition(before.Conditions, autorebootv1.ConditionReady)
	is := meta.FindStatusCondition(o.stored.Status.Conditions, autorebootv1.ConditionReady)
	if is == nil || was != nil && was.Status == is.Status && was.Reason == is.Reason {
		return
	}
	kind := corev1.EventTypeNormal
	if is.Status != metav1.ConditionTrue {
		kind = corev1.EventTypeWarning
	}
	r.Events.Eventf(o.stored, nil, kind, is.Reason, actionWatch, "%s", is.Message)
}

// reference names a workload; nil where it is not there.
func (o *observation) reference(target autorebootv1.RestartTarget) *corev1.ObjectReference {
	for _, w := range o.workloads {
		if w.Kind == target.Kind && w.Name == target.Name {
			return &corev1.ObjectReference{
				APIVersion: appsv1.SchemeGroupVersion.String(), Kind: string(w.Kind), Namespace: o.key.Namespace, Name: w.Name, UID: w.UID,
			}
		}
	}
	return nil
}
