// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	"context"
	"fmt"
	"strings"
	"time"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/controllers/internal/controller"
	"github.com/fairlead-dev/fairlead/controllers/rebootpolicy/restart"
)

const (
	// actRetry is the wait after an action that failed for now.
	actRetry = time.Second
	// refusedRetry is the wait after a restart that was forbidden. It doubles up to refusedLongest.
	refusedRetry   = 10 * time.Second
	refusedLongest = 30 * time.Minute
)

// decide says what to do, and stores that: nothing is done that is not in the status.
func (r *Reconciler) decide(ctx context.Context, o *observation) (restart.Decision, error) {
	notices := o.recordPostponed()
	d := r.decideAndClaim(o)
	if more, err := r.checkRequiredSources(ctx, o, &d); err != nil {
		return d, err
	} else if more {
		d = r.decideAndClaim(o)
	}
	o.requeueAt(d.RequeueAt)
	notices = append(notices, d.Messages...)
	if err := r.writeStatus(ctx, o, o.withConditions(&d.Status, d.PendingMessage, notices), notices); err != nil {
		return d, err
	}
	o.state.unrecorded = nil
	r.releaseClaims(o, d.WaitsForOthers)
	return d, nil
}

// effectivePolicy is the policy that is decided about. One that is barred starts nothing, and its triggers are
// those that it had: what they have seen is not forgotten over a mistake.
func (o *observation) effectivePolicy() *autorebootv1.RebootPolicy {
	if o.blockedBy == "" {
		return o.policy
	}
	policy := o.policy.DeepCopy()
	policy.Spec.Suspend = ptr.To(true)
	policy.Spec.Triggers = nil
	for i := range o.policy.Status.Triggers {
		trigger := autorebootv1.Trigger{Name: o.policy.Status.Triggers[i].Name}
		for j := range o.policy.Spec.Triggers {
			if t := &o.policy.Spec.Triggers[j]; t.Name == trigger.Name {
				trigger.Type = t.Type
			}
		}
		policy.Spec.Triggers = append(policy.Spec.Triggers, trigger)
	}
	return policy
}

// writeStatus writes a status where it differs from the one that stands, and only upon that: another version
// of the policy is a conflict. What the notices say is told once it is written.
func (r *Reconciler) writeStatus(ctx context.Context, o *observation, status *autorebootv1.RebootPolicyStatus, notices []restart.Message) error {
	if apiequality.Semantic.DeepEqual(&o.stored.Status, status) {
		return nil
	}
	before := o.stored.Status
	updated := o.stored.DeepCopy()
	updated.Status = *status
	if err := r.Client.Status().Update(ctx, updated); err != nil {
		return fmt.Errorf("write status: %w", err)
	}
	o.stored = updated
	o.policy = o.policy.DeepCopy()
	o.policy.Status, o.policy.ResourceVersion = updated.Status, updated.ResourceVersion
	o.state.lastWrite.Record(updated, r.Now())
	o.confirmed = true
	if len(updated.Status.InFlight) < len(before.InFlight) {
		o.requeueAt(o.now) // the pods of what has ended are checked from now on
	}
	r.writeEvents(o, &before, notices)
	return nil
}

// confirm makes sure that a status which was not just written is the one that is stored.
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

// act does what was decided, one after the other.
func (r *Reconciler) act(ctx context.Context, o *observation, d restart.Decision) ([]restart.Result, error) {
	if len(d.Actions) == 0 || o.blockedBy != "" {
		return nil, nil // what is barred is known by its status alone, which is no right to act
	}
	if err := r.confirm(ctx, o); err != nil {
		return nil, err
	}
	var results []restart.Result
	for _, action := range d.Actions {
		if ctx.Err() != nil {
			return results, ctx.Err()
		}
		uid := action.Workload.UID
		if refused, ok := o.state.refused[uid]; ok && o.now.Before(refused.until) {
			o.reportRefusal(refused)
			continue
		}
		deed := r.Actor.Do(ctx, o.stored, action, o.workloadVersion(uid))
		if deed.Err != nil {
			ctrllog.FromContext(ctx).Info("A restart did not go on", "restart", action.ID, "kind", action.Workload.Kind,
				"workload", action.Workload.Name, "verb", action.Verb, "outcome", deed.Outcome, "cause", deed.Err.Error())
		}
		switch deed.Outcome {
		case restart.Forbidden:
			o.addRefusal(action, deed)
		case restart.Retry:
			o.requeueAt(o.now.Add(actRetry))
		case restart.Done, restart.Gone:
			delete(o.state.refused, uid)
		}
		results = append(results, restart.Result{Action: action, Outcome: deed.Outcome, Generation: deed.Generation, Budget: deed.Budget})
	}
	return results, nil
}

// workloadVersion is that of a workload as it was looked at.
func (o *observation) workloadVersion(uid types.UID) string {
	if w := o.workload(uid); w != nil {
		return w.Version
	}
	return ""
}

// addRefusal remembers that a restart is forbidden, and puts the next try off.
func (o *observation) addRefusal(action restart.Action, deed ActionResult) {
	refused := o.state.refused[action.Workload.UID]
	refused.until = o.now.Add(min(refusedRetry<<refused.tries, refusedLongest))
	refused.tries = min(refused.tries+1, 10)
	who := "the operator"
	if name := o.policy.Spec.ServiceAccountName; name != "" {
		who = "ServiceAccount " + name
	}
	what := fmt.Sprintf("patch %s %s", action.Workload.Kind, action.Workload.Name)
	if action.Verb == restart.Evict {
		what = fmt.Sprintf("evict the pods of %s %s", action.Workload.Kind, action.Workload.Name)
	}
	refused.message = fmt.Sprintf("%s may not %s, or an admission webhook forbids it", who, what)
	switch {
	case deed.Err != nil && strings.Contains(deed.Err.Error(), "impersonate"):
		refused.message = fmt.Sprintf("the operator may not impersonate %s: grant it that verb on the resource serviceaccounts of namespace %s", who, o.key.Namespace)
	case deed.Err == nil:
		refused.message = fmt.Sprintf("%s may not %s", who, what)
	}
	o.state.refused[action.Workload.UID] = refused
	o.reportRefusal(refused)
}

func (o *observation) reportRefusal(refused refusal) {
	o.addProblem(autorebootv1.ReasonForbidden, refused.message)
	o.requeueAt(refused.until)
}

// recordResults stores what came of the actions, and returns when to look again.
func (r *Reconciler) recordResults(ctx context.Context, o *observation, d restart.Decision, results []restart.Result) (time.Time, error) {
	if o.postponeRecord(d, results) {
		return d.RequeueAt, nil
	}
	status, message, notices, again := &o.stored.Status, d.PendingMessage, []restart.Message(nil), d.RequeueAt
	if len(results) > 0 {
		next := restart.Record(o.effectivePolicy(), results, r.Now())
		status, notices, again = &next.Status, next.Messages, controller.Earliest(again, next.RequeueAt)
		if next.PendingMessage != "" {
			message = next.PendingMessage
		}
	}
	if err := r.writeStatus(ctx, o, o.withConditions(status, message, notices), notices); err != nil {
		return again, err
	}
	r.releaseClaims(o, d.WaitsForOthers)
	return again, nil
}
