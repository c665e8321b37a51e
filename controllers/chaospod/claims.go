// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package chaospod

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	chaosv1 "github.com/fairlead-dev/fairlead/api/chaos/v1"
	"github.com/fairlead-dev/fairlead/controllers/internal/chaos"
	"github.com/fairlead-dev/fairlead/internal/disruption"
)

func holderOf(key types.NamespacedName) disruption.Holder {
	return disruption.Holder{Kind: disruption.ChaosPod, NamespacedName: key}
}

// decideAndClaim decides, with the ledger held. What the ChaosPod claims from then on is what either status says,
// the one that is stored and the one that is to be, until the latter is stored: nothing else takes what
// may be in use, however the write ends.
func (r *Reconciler) decideAndClaim(s *observation, o chaos.Observation) chaos.Decision {
	var d chaos.Decision
	r.Ledger.Do(holderOf(s.key), "", func(view disruption.View) []disruption.Claim {
		stored := claimsOf(&s.stored.Status)
		o.Others = chaos.Others{Free: view.Beyond(stored), Disrupted: view.Disrupted}
		d = chaos.Decide(s.stored, o)
		if d.WaitsForOthers {
			view.Wait(d.WaitsFor...)
		}
		s.claimed = slices.Concat(stored, claimsOf(&d.Status))
		return s.claimed
	})
	return d
}

// releaseClaims claims what the status says that was stored, and no more.
func (r *Reconciler) releaseClaims(o *observation, d *chaos.Decision) {
	r.Ledger.Do(holderOf(o.key), "", func(view disruption.View) []disruption.Claim {
		if d.WaitsForOthers {
			view.Wait(d.WaitsFor...)
		}
		return claimsOf(&o.stored.Status)
	})
}

// Restore tells the ledger which runs were under way before this process, for all ChaosPods at once:
// nothing may decide before that.
func Restore(ctx context.Context, from client.Reader, ledger Ledger) error {
	var all chaosv1.ChaosPodList
	if err := from.List(ctx, &all, shared); err != nil {
		return fmt.Errorf("list ChaosPods: %w", err)
	}
	for i := range all.Items {
		ledger.Restore(holderOf(client.ObjectKeyFromObject(&all.Items[i])), "", claimsOf(&all.Items[i].Status))
	}
	return nil
}

func claimsOf(status *chaosv1.ChaosPodStatus) []disruption.Claim {
	var claims []disruption.Claim
	for _, uid := range chaos.ClaimsOf(status) {
		claims = append(claims, disruption.Claim{UID: uid})
	}
	return claims
}
