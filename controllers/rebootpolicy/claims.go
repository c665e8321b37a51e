// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/controllers/rebootpolicy/restart"
	"github.com/fairlead-dev/fairlead/internal/disruption"
	rules "github.com/fairlead-dev/fairlead/internal/rules/rebootpolicy"
)

func holderOf(key types.NamespacedName) disruption.Holder {
	return disruption.Holder{Kind: disruption.RebootPolicy, NamespacedName: key}
}

// decideAndClaim decides, with the ledger held. What the policy claims from then on is what either status says,
// the one that stands and the one that is to stand, until the latter is stored: no other policy takes what
// may be in use, however the write ends.
func (r *Reconciler) decideAndClaim(s *observation) restart.Decision {
	var d restart.Decision
	r.Ledger.Do(holderOf(s.key), groupOf(s.policy), func(view disruption.View) []disruption.Claim {
		stored, o := claimsOf(&s.stored.Status), s.decisionInput()
		o.Others = restart.Others{Group: view.Group, Free: view.Beyond(stored), Disrupted: view.Disrupted}
		d = restart.Decide(s.effectivePolicy(), o)
		disrupted := s.disrupted(view)
		if !maps.Equal(disrupted, s.state.disrupted) && rules.HasProbe(&s.policy.Spec) {
			s.requeueAt(s.now) // whose pods are checked was said before
		}
		s.state.disrupted = disrupted
		s.waitForOthers(view, d.WaitsForOthers)
		s.claimed = slices.Concat(stored, claimsOf(&d.Status))
		return s.claimed
	})
	return d
}

// releaseClaims claims what the status says that was stored, and no more.
func (r *Reconciler) releaseClaims(o *observation, waits bool) {
	claims := claimsOf(&o.stored.Status)
	if sameClaims(o.claimed, claims) {
		return
	}
	o.claimed = claims
	r.Ledger.Do(holderOf(o.key), groupOf(o.policy), func(view disruption.View) []disruption.Claim {
		o.waitForOthers(view, waits)
		return claims
	})
}

// disrupted are the workloads of the policy that others disrupt.
func (o *observation) disrupted(view disruption.View) map[types.UID]bool {
	var busy map[types.UID]bool
	for _, w := range o.workloads {
		if view.Disrupted[w.UID] {
			if busy == nil {
				busy = map[types.UID]bool{}
			}
			busy[w.UID] = true
		}
	}
	return busy
}

// waitForOthers has the policy woken once others need less: where a restart waits for that, and where pods are
// not checked for that reason.
func (o *observation) waitForOthers(view disruption.View, waits bool) {
	if waits || len(o.state.disrupted) > 0 && rules.HasProbe(&o.policy.Spec) {
		view.Wait(slices.Collect(maps.Keys(o.state.disrupted))...)
	}
}

// Restore tells the ledger what was in flight before this process, for all policies at once: nothing may
// decide before that.
func Restore(ctx context.Context, from client.Reader, ledger Ledger) error {
	var policies autorebootv1.RebootPolicyList
	if err := from.List(ctx, &policies, shared); err != nil {
		return fmt.Errorf("list RebootPolicies: %w", err)
	}
	for i := range policies.Items {
		policy := &policies.Items[i]
		ledger.Restore(holderOf(client.ObjectKeyFromObject(policy)), groupOf(policy), claimsOf(&policy.Status))
	}
	return nil
}

func groupOf(policy *autorebootv1.RebootPolicy) string {
	if c := policy.Spec.Concurrency; c != nil {
		return c.Group
	}
	return ""
}

// claimsOf are the workloads that a status says are being restarted.
func claimsOf(status *autorebootv1.RebootPolicyStatus) []disruption.Claim {
	claims := make([]disruption.Claim, 0, len(status.InFlight))
	for i := range status.InFlight {
		claims = append(claims, disruption.Claim{UID: status.InFlight[i].UID})
	}
	return claims
}

func sameClaims(a, b []disruption.Claim) bool {
	set := map[disruption.Claim]bool{}
	for _, c := range a {
		set[c] = true
	}
	n := len(set)
	for _, c := range b {
		if !set[c] {
			return false
		}
		delete(set, c)
		n--
	}
	return n == 0
}
