// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package chaospod

import (
	"context"
	"fmt"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	chaosv1 "github.com/fairlead-dev/fairlead/api/chaos/v1"
	"github.com/fairlead-dev/fairlead/controllers/internal/chaos"
	"github.com/fairlead-dev/fairlead/controllers/internal/controller"
)

// decide says what to do, and stores that: nothing is done that is not in the status. What kills, or is
// about to, is decided once more from what the API server has, and so is the verdict on a run.
func (r *Reconciler) decide(ctx context.Context, o *observation) (chaos.Decision, error) {
	d := r.decideAndClaim(o, r.observe(ctx, o, false))
	if kills(&d) || o.stored.Status.CurrentRun != nil && d.Status.CurrentRun == nil {
		d = r.decideAndClaim(o, r.observe(ctx, o, true))
	}
	return d, r.writeStatus(ctx, o, &d)
}

// kills says whether a decision acts, or has victims that may still die.
func kills(d *chaos.Decision) bool {
	run := d.Status.CurrentRun
	return len(d.Actions) > 0 || run != nil && run.Phase != chaosv1.RunVerifying
}

// writeStatus writes a status where it differs from the one that is stored, and only upon that: another
// version of the ChaosPod is a conflict. What the notices say is told once it is written.
func (r *Reconciler) writeStatus(ctx context.Context, o *observation, d *chaos.Decision) error {
	if apiequality.Semantic.DeepEqual(&o.stored.Status, &d.Status) {
		return nil
	}
	before := o.stored.Status
	updated := o.stored.DeepCopy()
	updated.Status = *d.Status.DeepCopy()
	if err := r.Client.Status().Update(ctx, updated); err != nil {
		return fmt.Errorf("write status: %w", err)
	}
	o.stored = updated
	o.state.lastWrite.Record(updated, r.Now())
	o.confirmed = true
	r.writeEvents(o, &before, d.Messages)
	return nil
}

// confirm makes sure that a status which was not just written is the one that is stored.
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

// act does what was decided, one after the other, each on a ChaosPod that is still as it was: one that
// was suspended in between kills no more.
func (r *Reconciler) act(ctx context.Context, o *observation, d chaos.Decision) ([]chaos.Result, error) {
	if o.blockedBy.Reason != "" || o.blackoutsUnknown {
		return nil, nil // what is barred is known by its status alone, which is no right to act
	}
	var results []chaos.Result
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
		case chaos.Forbidden:
			o.state.refuse(o.now, forbiddenText(o.stored, action, err))
			o.requeueAt(o.now.Add(actRetry))
		case chaos.Retry:
			o.requeueAt(o.now.Add(actRetry))
		case chaos.Done:
			o.state.refused = refusal{}
		case chaos.Blocked, chaos.Misconfigured, chaos.Gone:
		}
		r.metrics.countKill(o.key, &result)
		results = append(results, result)
		if result.Outcome == chaos.Forbidden || ctx.Err() != nil {
			break
		}
	}
	return results, nil //nolint:nilerr // a step that failed is logged, and its outcome is in the results
}
