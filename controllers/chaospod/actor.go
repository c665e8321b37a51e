// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package chaospod

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/types"

	chaosv1 "github.com/fairlead-dev/fairlead/api/chaos/v1"
	"github.com/fairlead-dev/fairlead/controllers/internal/chaos"
	"github.com/fairlead-dev/fairlead/controllers/internal/eviction"
)

// runAction does one action, in whose name the ChaosPod says.
func (r *Reconciler) runAction(ctx context.Context, s *observation, action chaos.Action) (chaos.Result, error) {
	result := chaos.Result{Action: action, Outcome: chaos.Retry}
	account := s.spec.Spec.ServiceAccountName
	if action.Verb == chaos.DeleteCanary {
		account = "" // the operator's own pod
	}
	c, err := r.As(s.key.Namespace, account)
	if err != nil {
		return result, fmt.Errorf("client for ServiceAccount %s: %w", account, err)
	}
	pod := types.NamespacedName{Namespace: s.key.Namespace, Name: action.Pod}
	o := eviction.Options{GracePeriodSeconds: action.GracePeriodSeconds, DryRun: action.DryRun}
	var came eviction.Result
	switch action.Verb {
	case chaos.Evict:
		came = eviction.Evict(ctx, c, pod, action.UID, o)
	case chaos.Delete, chaos.DeleteCanary:
		came = eviction.Delete(ctx, c, pod, action.UID, o)
	case chaos.CreateCanary:
		return r.create(ctx, c, s, action)
	default:
		return result, fmt.Errorf("unknown verb %s", action.Verb)
	}
	result.Outcome, result.Budget = outcomes[came.Outcome], came.Budget
	return result, came.Err
}

// outcomes are what the API server's replies mean for a run. A conflict may be about the UID or about a
// change of the pod at the same time: the next look finds out whether the victim is still there.
var outcomes = map[eviction.Outcome]chaos.Outcome{
	eviction.Done: chaos.Done, eviction.Gone: chaos.Gone, eviction.Replaced: chaos.Retry, eviction.Blocked: chaos.Blocked,
	eviction.Misconfigured: chaos.Misconfigured, eviction.Forbidden: chaos.Forbidden, eviction.Retry: chaos.Retry,
}

// forbiddenText says who may not do what, in the API server's words.
func forbiddenText(object *chaosv1.ChaosPod, action chaos.Action, err error) string {
	who := "the operator"
	if name := object.Spec.ServiceAccountName; name != "" && action.Verb != chaos.DeleteCanary {
		who = "ServiceAccount " + name
	}
	what := map[chaos.Verb]string{
		chaos.Evict: "evict pod " + action.Pod, chaos.Delete: "delete pod " + action.Pod,
		chaos.DeleteCanary: "delete the canary " + action.Pod, chaos.CreateCanary: "create the canary",
	}[action.Verb]
	if err == nil {
		return fmt.Sprintf("%s may not %s", who, what)
	}
	return fmt.Sprintf("%s may not %s: %v", who, what, err)
}
