// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package chaospod

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	chaosv1 "github.com/fairlead-dev/fairlead/api/chaos/v1"
	"github.com/fairlead-dev/fairlead/controllers/chaospod/chaos"
	"github.com/fairlead-dev/fairlead/controllers/internal/controller"
	"github.com/fairlead-dev/fairlead/controllers/internal/eviction"
	"github.com/fairlead-dev/fairlead/internal/disruption"
	rules "github.com/fairlead-dev/fairlead/internal/rules/chaospod"
	"github.com/fairlead-dev/fairlead/internal/text"
)

const (
	// actRetry is the wait after an action that failed for now.
	actRetry = time.Second
	// maxRefusal is the length of the API server's words in the status, in bytes.
	maxRefusal = 512
)

// act runs the actions of a decision one after the other, and returns their results. The ChaosPod is confirmed
// before each: one that was suspended in between kills no more.
func (r *Reconciler) act(ctx context.Context, o *observation, d chaos.Decision) ([]chaos.Result, error) {
	if o.blockedBy.Reason != "" || o.blackoutsUnknown {
		return nil, nil // the status alone of a ChaosPod that is blocked must not kill anything
	}
	var results []chaos.Result
	isRefused := false
	for _, action := range d.Actions {
		if action.RunID != "" && r.Suspicions.Any() {
			break // since the decision
		}
		if err := r.confirm(ctx, o); err != nil {
			return results, err
		}
		o.confirmed = false
		result, err := r.runAction(ctx, o, action)
		if err != nil {
			ctrllog.FromContext(ctx).Info("A step of a run did not succeed", "run", action.RunID, "verb", action.Verb,
				"pod", action.Pod, "outcome", result.Outcome, "cause", err.Error())
		}
		switch result.Outcome {
		case chaos.Refused:
			isRefused, result.Reason = true, refusalReason(err)
			o.state.refused.Record(o.now, refusalText(o.stored, action, err))
			o.state.refusedReason = result.Reason
			o.requeueAt(o.now.Add(actRetry))
		case chaos.Retry:
			o.requeueAt(o.now.Add(actRetry))
		case chaos.Done:
			if !isRefused {
				o.state.refused = controller.Refusal{}
			}
		case chaos.Blocked, chaos.Misconfigured, chaos.Gone:
		}
		r.metrics.countKill(o.key, &result)
		results = append(results, result)
		if ctx.Err() != nil {
			break
		}
	}
	return results, nil //nolint:nilerr // a step that failed is logged, and its outcome is in the results
}

// runAction runs one action, as the ServiceAccount that the ChaosPod names.
func (r *Reconciler) runAction(ctx context.Context, o *observation, action chaos.Action) (chaos.Result, error) {
	result := chaos.Result{Action: action, Outcome: chaos.Retry}
	account := o.spec.Spec.ServiceAccountName
	if action.Verb == chaos.DeleteCanary {
		account = "" // the operator's own pod
	}
	c, err := r.As(ctx, o.key.Namespace, account)
	if err != nil {
		if controller.IsRefused(err) {
			result.Outcome = chaos.Refused
			return result, err
		}
		return result, fmt.Errorf("client for ServiceAccount %s: %w", account, err)
	}
	pod := types.NamespacedName{Namespace: o.key.Namespace, Name: action.Pod}
	options := eviction.Options{GracePeriodSeconds: action.GracePeriodSeconds, DryRun: action.DryRun}
	var evicted eviction.Result
	switch action.Verb {
	case chaos.Evict:
		evicted = eviction.Evict(ctx, c, pod, action.UID, options)
	case chaos.Delete, chaos.DeleteCanary:
		evicted = eviction.Delete(ctx, c, pod, action.UID, options)
	case chaos.CreateCanary:
		result.Outcome, err = createCanary(ctx, c, o, action)
		return result, err
	default:
		return result, fmt.Errorf("unknown verb %s", action.Verb)
	}
	result.Outcome, result.Budget = outcomes[evicted.Outcome], evicted.Budget
	return result, evicted.Err
}

// outcomes maps the outcome of an eviction to the outcome for a run. A conflict may concern the UID or a concurrent change of
// the pod. The next reconcile finds out whether the victim still exists.
var outcomes = map[eviction.Outcome]chaos.Outcome{
	eviction.Done: chaos.Done, eviction.Gone: chaos.Gone, eviction.Replaced: chaos.Retry, eviction.Blocked: chaos.Blocked,
	eviction.Misconfigured: chaos.Misconfigured, eviction.Refused: chaos.Refused, eviction.Retry: chaos.Retry,
}

// createCanary creates the canary. An existing pod of its name is left as it is, whatever owns it: the next
// reconcile observes it.
func createCanary(ctx context.Context, c client.Client, o *observation, action chaos.Action) (chaos.Outcome, error) {
	if o.stored.Spec.Target.Template == nil {
		return chaos.Retry, errors.New("there is no target.template")
	}
	pod := rules.Canary(o.stored)
	pod.OwnerReferences = []metav1.OwnerReference{{
		APIVersion: chaosv1.GroupVersion.String(), Kind: disruption.ChaosPod, Name: o.stored.Name, UID: o.stored.UID, Controller: ptr.To(true),
	}}
	if pod.Labels == nil {
		pod.Labels = map[string]string{}
	}
	pod.Labels[chaosv1.TemplateHashLabel] = action.Hash
	err := c.Create(ctx, pod)
	switch {
	case err == nil:
		return chaos.Done, nil
	case controller.IsRefused(err):
		return chaos.Refused, err // quota, Pod Security, a policy, or a template that makes no valid pod
	}
	return chaos.Retry, err
}

// refusalReason returns why an action was refused: because a right is missing, or for another reason.
func refusalReason(err error) string {
	if err == nil || apierrors.IsForbidden(err) {
		return chaosv1.ReasonForbidden
	}
	return chaosv1.ReasonWriteRefused
}

// refusalText returns what was refused to whom, with the API server's message.
func refusalText(object *chaosv1.ChaosPod, action chaos.Action, err error) string {
	who := "the operator"
	if name := object.Spec.ServiceAccountName; name != "" && action.Verb != chaos.DeleteCanary {
		who = "ServiceAccount " + name
	}
	what := map[chaos.Verb]string{
		chaos.Evict: "evict pod " + action.Pod, chaos.Delete: "delete pod " + action.Pod,
		chaos.DeleteCanary: "delete the canary " + action.Pod, chaos.CreateCanary: "create the canary",
	}[action.Verb]
	switch {
	case err == nil:
		return fmt.Sprintf("%s may not %s", who, what)
	case apierrors.IsForbidden(err):
		return text.Truncate(fmt.Sprintf("%s may not %s: %v", who, what, err), maxRefusal)
	}
	return text.Truncate(fmt.Sprintf("%s could not %s: %v", who, what, err), maxRefusal)
}
