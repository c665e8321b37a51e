// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package chaospod

import (
	"context"
	"fmt"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"

	chaosv1 "github.com/fairlead-dev/fairlead/api/chaos/v1"
	"github.com/fairlead-dev/fairlead/controllers/chaospod/chaos"
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
func Restore(ctx context.Context, from client.Reader, ledger *disruption.Ledger, among ...client.ListOption) error {
	var all chaosv1.ChaosPodList
	if err := from.List(ctx, &all, append(among, shared)...); err != nil {
		return fmt.Errorf("list ChaosPods: %w", err)
	}
	for i := range all.Items {
		ledger.Restore(holderOf(client.ObjectKeyFromObject(&all.Items[i])), "", chaos.ClaimsOf(&all.Items[i].Status))
	}
	return nil
}
