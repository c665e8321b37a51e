// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package chaospod

import (
	"context"
	"fmt"
	"slices"
	"strings"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	chaosv1 "github.com/fairlead-dev/fairlead/api/chaos/v1"
	"github.com/fairlead-dev/fairlead/controllers/chaospod/chaos"
	"github.com/fairlead-dev/fairlead/controllers/internal/controller"
	"github.com/fairlead-dev/fairlead/internal/disruption"
)

// decide returns what to do, once it is in the stored status: nothing else is ever done. A decision that kills or
// is about to, or that ends a run, is made again from what the API server has.
func (r *Reconciler) decide(ctx context.Context, o *observation) (chaos.Decision, error) {
	before := o.stored.Status.CurrentRun
	live := isKilling(before) // a cache may not have its victims yet
	d := r.decideAndClaim(o, r.observe(ctx, o, live))
	if !live && (len(d.Actions) > 0 || isKilling(d.Status.CurrentRun) || before != nil && d.Status.CurrentRun == nil) {
		d = r.decideAndClaim(o, r.observe(ctx, o, true))
	}
	return d, r.writeStatus(ctx, o, &d)
}

// isKilling reports whether a run has victims that may still be killed.
func isKilling(run *chaosv1.CurrentRun) bool { return run != nil && run.Phase != chaosv1.RunVerifying }

func holderOf(key types.NamespacedName) disruption.Holder {
	return disruption.Holder{Kind: disruption.ChaosPod, NamespacedName: key}
}

// decideAndClaim decides while the ledger is locked. The ChaosPod then claims what the stored status and the
// decided one say, until the latter is stored: however the write ends, no other object disrupts these workloads.
func (r *Reconciler) decideAndClaim(o *observation, in chaos.Observation) chaos.Decision {
	var d chaos.Decision
	r.Ledger.Do(holderOf(o.key), "", func(view disruption.View) []disruption.Claim {
		stored := chaos.ClaimsOf(&o.stored.Status)
		in.Others = chaos.Others{Free: view.Beyond(stored), Full: view.Full, Disrupted: view.Disrupted}
		d = chaos.Decide(o.stored, in)
		if d.WaitsForOthers {
			view.Wait(d.WaitsFor...)
		}
		return slices.Concat(stored, chaos.ClaimsOf(&d.Status))
	})
	return d
}

// releaseClaims claims what is in the stored status, and no more.
func (r *Reconciler) releaseClaims(o *observation, d *chaos.Decision) {
	r.Ledger.Do(holderOf(o.key), "", func(view disruption.View) []disruption.Claim {
		if d.WaitsForOthers {
			view.Wait(d.WaitsFor...)
		}
		return chaos.ClaimsOf(&o.stored.Status)
	})
}

// Restore adds to the ledger the runs that are under way according to the stored status of all ChaosPods. It comes
// before the first decision of this process.
func Restore(ctx context.Context, from client.Reader, ledger Ledger, among ...client.ListOption) error {
	var all chaosv1.ChaosPodList
	if err := from.List(ctx, &all, append(among, shared)...); err != nil {
		return fmt.Errorf("list ChaosPods: %w", err)
	}
	for i := range all.Items {
		ledger.Restore(holderOf(client.ObjectKeyFromObject(&all.Items[i])), "", chaos.ClaimsOf(&all.Items[i].Status))
	}
	return nil
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
			r.Events.Eventf(o.stored, nil, controller.EventType(true), "StatusLost", actionSchedule,
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
