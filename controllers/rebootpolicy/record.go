// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/api/common"
	"github.com/fairlead-dev/fairlead/controllers/internal/conditions"
	"github.com/fairlead-dev/fairlead/controllers/internal/controller"
	"github.com/fairlead-dev/fairlead/controllers/rebootpolicy/restart"
	rules "github.com/fairlead-dev/fairlead/internal/rules/rebootpolicy"
)

// recordResults stores the results of the actions, and returns when to reconcile again.
func (r *Reconciler) recordResults(ctx context.Context, o *observation, d restart.Decision, results []restart.Result) (time.Time, error) {
	if o.postponeRecord(d, results) {
		return d.RequeueAt, nil
	}
	status, pending, messages, requeue := &o.stored.Status, d.PendingMessage, []restart.Message(nil), d.RequeueAt
	if len(results) > 0 {
		next := restart.Record(o.effectivePolicy(), results, r.Now(), o.requests)
		status, messages, requeue = &next.Status, next.Messages, controller.Earliest(requeue, next.RequeueAt)
		if next.PendingMessage != "" {
			pending = next.PendingMessage
		}
	}
	return requeue, r.writeStatus(ctx, o, o.withConditions(status, pending, messages), messages)
}

// postponeRecord leaves it to the next reconcile to record that workloads were annotated, where nothing else has
// happened: one write of the status is enough for both. If the process ends before that, the next one finds the
// restart's id on the workload.
func (o *observation) postponeRecord(d restart.Decision, results []restart.Result) bool {
	other := func(r restart.Result) bool { return r.Action.Verb != restart.Annotate || r.Outcome != restart.Done }
	if len(results) == 0 || len(results) < len(d.Actions) || slices.ContainsFunc(results, other) {
		return false
	}
	o.state.unrecorded = results
	o.requeueAt(o.now.Add(o.interval()))
	return true
}

// recordPostponed records what was postponed. A workload that was restarted under another id since is skipped.
func (o *observation) recordPostponed() []restart.Message {
	if len(o.state.unrecorded) == 0 {
		return nil
	}
	recorded := restart.Record(o.effectivePolicy(), o.state.unrecorded, o.now, o.requests)
	o.policy.Status = recorded.Status
	return recorded.Messages
}

// writeStatus writes a status that differs from the stored one, upon the version that was read: if the policy has
// changed since, the write is a conflict. Events follow a write that succeeded.
func (r *Reconciler) writeStatus(
	ctx context.Context, o *observation, status *autorebootv1.RebootPolicyStatus, messages []restart.Message,
) error {
	if apiequality.Semantic.DeepEqual(&o.stored.Status, status) {
		return nil
	}
	before := o.stored.Status
	updated := o.stored.DeepCopy()
	updated.Status = *status
	began := r.Now()
	err := r.Client.Status().Update(ctx, updated)
	if err := o.state.refusedStatus.Check(ctx, err, o.stored, r.Events, r.Now(), actionWatch); err != nil {
		return fmt.Errorf("write status: %w", err)
	}
	r.ownWrites.Record(updated)
	o.state.writeTook = r.Now().Sub(began)
	o.stored = updated
	r.former.record(updated)
	o.policy = o.policy.DeepCopy()
	o.policy.Status, o.policy.ResourceVersion = updated.Status, updated.ResourceVersion
	o.state.lastWrite.Record(updated, r.Now())
	o.confirmed = true
	if len(updated.Status.InFlight) < len(before.InFlight) && rules.HasProbe(&o.policy.Spec) {
		o.requeueAt(o.now) // the pods of workloads that are not in flight any more are to be checked
	}
	if o.succeeds {
		o.succeeds = false
		r.Events.Eventf(o.stored, nil, corev1.EventTypeNormal, autorebootv1.EventStatusKept, actionWatch, "%s",
			"a policy of this name was just deleted: its restarts in flight and its pending restarts continue")
	}
	if o.statusLost {
		o.statusLost = false
		r.Events.Eventf(o.stored, nil, corev1.EventTypeWarning, common.EventStatusLost, actionWatch, "%s",
			"another writer removed the status: the current content is the new baseline, and earlier changes cause no restart")
	}
	r.writeEvents(o, &before, messages)
	return nil
}

// recordDeleting records that a policy restarts nothing any more, since it is being deleted: finalizers of others may keep it.
func (r *Reconciler) recordDeleting(ctx context.Context, policy *autorebootv1.RebootPolicy) error {
	updated := policy.DeepCopy()
	c := &conditions.Update{Conditions: &updated.Status.Conditions, Generation: policy.Generation, Now: metav1.NewTime(r.Now())}
	updated.Status.ObservedGeneration = policy.Generation
	const effect = "nothing is restarted, and a restart in flight is not verified"
	c.SetDeleting(policy, effect)
	c.SetNotWaiting()
	c.Set(autorebootv1.ConditionProgressing, metav1.ConditionFalse, autorebootv1.ReasonDeleting, effect)
	c.RemoveOthers(autorebootv1.ConditionStalled)
	if apiequality.Semantic.DeepEqual(&policy.Status, &updated.Status) {
		return nil
	}
	if err := r.Client.Status().Update(ctx, updated); err != nil {
		return fmt.Errorf("rebootpolicy %s/%s: write status: %w", policy.Namespace, policy.Name, err)
	}
	controller.WriteReadyEvent(r.Events, updated, policy.Status.Conditions, updated.Status.Conditions, actionWatch)
	return nil
}

// confirm ensures that the status which is acted on is the one that the API server has.
func (r *Reconciler) confirm(ctx context.Context, o *observation) error {
	if o.confirmed {
		return nil
	}
	if err := controller.ConfirmStored(ctx, r.Live, o.stored, &autorebootv1.RebootPolicy{}); err != nil {
		return err
	}
	o.confirmed = true
	return nil
}

// Actions of events: what the operator was doing.
const (
	actionRestart = "Restart"
	actionWatch   = "Watch"
)

// writeEvents writes the events of one write of a status: the start of a restart about the workload, a failure
// about the policy and the workload, everything else about the policy. A restart that succeeds has two.
func (r *Reconciler) writeEvents(o *observation, before *autorebootv1.RebootPolicyStatus, messages []restart.Message) {
	controller.WriteReadyEvent(r.Events, o.stored, before.Conditions, o.stored.Status.Conditions, actionWatch)
	written := map[string]int{}
	for i := range messages {
		m := &messages[i]
		if m.Ended != nil {
			r.metrics.ended(o.policy, m.Ended)
		}
		if m.Reason == restart.TriggerFired {
			continue // the message of the restart names its triggers, and until then the status does
		}
		if written[m.Reason]++; written[m.Reason] > controller.MaxEvents {
			continue
		}
		kind := controller.EventType(m.Warning)
		target := o.reference(m.Target)
		if target == nil {
			r.Events.Eventf(o.stored, nil, kind, m.Reason, actionRestart, "%s", m.Text)
			continue
		}
		started := m.Reason == autorebootv1.EventRestartStarted
		if m.Warning || !started {
			r.Events.Eventf(o.stored, target, kind, m.Reason, actionRestart, "%s", m.Text)
		}
		if m.Warning || started {
			r.Events.Eventf(target, o.stored, kind, m.Reason, actionRestart, "%s", "RebootPolicy "+o.key.Name+": "+m.Text)
		}
	}
}

// reference returns a reference to a target; nil if it does not exist.
func (o *observation) reference(target common.WorkloadReference) *corev1.ObjectReference {
	for _, w := range o.workloads {
		if w.Kind == common.KindOfGroup(target.Group, target.Kind) && w.Name == target.Name {
			return &corev1.ObjectReference{
				APIVersion: w.APIVersion, Kind: string(w.Kind.Name()), Namespace: o.key.Namespace, Name: w.Name, UID: w.UID,
			}
		}
	}
	return nil
}
