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

// claim decides, with the ledger held. What the policy claims from then on is what either status says,
// the one that stands and the one that is to stand, until the latter is stored: no other policy takes what
// may be in use, however the write ends.
func (r *Reconciler) claim(s *survey) restart.Decision {
	var d restart.Decision
	r.Ledger.Do(holderOf(s.key), groupOf(s.policy), func(view disruption.View) []disruption.Claim {
		stored, o := claimsOf(&s.stored.Status), s.observation()
		o.Others = restart.Others{Group: view.Group, Free: view.Beyond(stored), Busy: view.Busy}
		d = restart.Decide(s.decided(), o)
		disrupted := s.disrupted(view)
		if !maps.Equal(disrupted, s.memory.disrupted) && rules.HasProbe(&s.policy.Spec) {
			s.look(s.now) // whose pods are checked was said before
		}
		s.memory.disrupted = disrupted
		s.wait(view, d.Waits)
		s.claimed = slices.Concat(stored, claimsOf(&d.Status))
		return s.claimed
	})
	return d
}

// settle claims what the status says that was stored, and no more.
func (r *Reconciler) settle(s *survey, waits bool) {
	claims := claimsOf(&s.stored.Status)
	if sameClaims(s.claimed, claims) {
		return
	}
	s.claimed = claims
	r.Ledger.Do(holderOf(s.key), groupOf(s.policy), func(view disruption.View) []disruption.Claim {
		s.wait(view, waits)
		return claims
	})
}

// disrupted are the workloads of the policy that others disrupt.
func (s *survey) disrupted(view disruption.View) map[types.UID]bool {
	var busy map[types.UID]bool
	for _, w := range s.workloads {
		if view.Busy[w.UID] {
			if busy == nil {
				busy = map[types.UID]bool{}
			}
			busy[w.UID] = true
		}
	}
	return busy
}

// wait has the policy woken once others need less: where a restart waits for that, and where pods are
// not checked for that reason.
func (s *survey) wait(view disruption.View, waits bool) {
	if waits || len(s.memory.disrupted) > 0 && rules.HasProbe(&s.policy.Spec) {
		view.Wait(slices.Collect(maps.Keys(s.memory.disrupted))...)
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
