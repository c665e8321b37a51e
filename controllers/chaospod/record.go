// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package chaospod

import (
	"context"
	"fmt"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime"

	chaosv1 "github.com/fairlead-dev/fairlead/api/chaos/v1"
	"github.com/fairlead-dev/fairlead/api/common"
	"github.com/fairlead-dev/fairlead/controllers/chaospod/chaos"
	"github.com/fairlead-dev/fairlead/controllers/internal/controller"
	"github.com/fairlead-dev/fairlead/internal/disruption"
)

// recordResults stores the results of the actions, and returns when to reconcile again.
func (r *Reconciler) recordResults(ctx context.Context, o *observation, d *chaos.Decision, results []chaos.Result) (time.Time, error) {
	if len(results) == 0 {
		return d.RequeueAt, nil
	}
	recorded := chaos.Record(o.stored, results, r.Now(), r.requests(o))
	return controller.Earliest(d.RequeueAt, recorded.RequeueAt), r.writeStatus(ctx, o, &recorded)
}

// writeStatus writes a status that differs from the stored one, upon the version that was read: if the ChaosPod has
// changed since, the write is a conflict. Events follow a write that succeeded.
func (r *Reconciler) writeStatus(ctx context.Context, o *observation, d *chaos.Decision) error {
	if apiequality.Semantic.DeepEqual(&o.stored.Status, &d.Status) {
		return nil
	}
	before := o.stored.Status
	if err := r.storeStatus(ctx, o, &d.Status); err != nil {
		return err
	}
	r.writeEvents(o, &before, d.Messages)
	return nil
}

// restoreStatus writes again what another writer removed of the status since this process has stored or read it. It
// comes before a decision, which would otherwise begin with a ChaosPod that has never run.
func (r *Reconciler) restoreStatus(ctx context.Context, o *observation) error {
	if seen := o.state.seen; seen != nil {
		if status, lost := chaos.RestoreStatus(&o.stored.Status, seen); len(lost) > 0 {
			if err := r.storeStatus(ctx, o, status); err != nil {
				return err
			}
			r.Events.Eventf(o.stored, nil, controller.EventType(true), common.EventStatusLost, actionSchedule,
				"another writer removed %s from the status: it was written again", strings.Join(lost, ", "))
		}
	}
	o.state.seen = o.stored.Status.DeepCopy()
	return nil
}

// storeStatus writes a status upon the version that was read.
func (r *Reconciler) storeStatus(ctx context.Context, o *observation, status *chaosv1.ChaosPodStatus) error {
	updated := o.stored.DeepCopy()
	updated.Status = *status.DeepCopy()
	err := r.Client.Status().Update(ctx, updated)
	if err != nil && !controller.IsRefused(err) {
		o.state.seen = nil // what is read next may be this write, whose answer was lost, and not that of another writer
	}
	if err := o.state.refusedStatus.Check(ctx, err, o.stored, r.Events, r.Now(), actionSchedule); err != nil {
		return fmt.Errorf("write status: %w", err)
	}
	r.ownWrites.Record(updated)
	o.stored = updated
	o.state.seen = updated.Status.DeepCopy()
	o.state.lastWrite.Record(updated, r.Now())
	o.confirmed = true
	return nil
}

// confirm ensures that the status which is acted on is the one that the API server has.
func (r *Reconciler) confirm(ctx context.Context, o *observation) error {
	if o.confirmed {
		return nil
	}
	if err := controller.ConfirmStored(ctx, r.Live, o.stored, &chaosv1.ChaosPod{}); err != nil {
		return err
	}
	o.confirmed = true
	return nil
}

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
		owner = &corev1.ObjectReference{APIVersion: appsv1.SchemeGroupVersion.String(), Kind: o.Kind, Namespace: namespace,
			Name: o.Name, UID: o.UID}
	}
	return pod, owner
}
