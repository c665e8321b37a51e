// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	"cmp"
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

// decide returns what to do, once it is in the stored status: nothing else is ever done.
func (r *Reconciler) decide(ctx context.Context, o *observation) (restart.Decision, error) {
	messages := o.recordPostponed()
	d := r.decideOnWhatExists(ctx, o)
	o.requeueAt(d.RequeueAt)
	o.setClockSkew(&d)
	messages = append(messages, d.Messages...)
	if err := r.writeStatus(ctx, o, o.withConditions(&d.Status, d.PendingMessage, messages), messages); err != nil {
		return d, err
	}
	o.state.unrecorded = nil
	r.releaseClaims(o, d.WaitsForOthers)
	return d, nil
}

// setClockSkew keeps in mind that times of the status were in the future for as long as anything waits.
func (o *observation) setClockSkew(d *restart.Decision) {
	o.state.clockSkew = cmp.Or(d.ClockSkew, o.state.clockSkew)
	waits := slices.ContainsFunc(d.Status.Targets, func(t autorebootv1.TargetStatus) bool { return t.Pending != nil })
	if !waits && len(d.Status.InFlight) == 0 && d.Status.Halt == nil {
		o.state.clockSkew = ""
	}
	if o.clockSkew = o.state.clockSkew; o.clockSkew != "" {
		o.clockSkew = "; " + o.clockSkew
	}
}

// decideOnWhatExists decides until what each restart that starts depends on was seen to exist. Each workload is looked at
// once: where one waits, another one may start.
func (r *Reconciler) decideOnWhatExists(ctx context.Context, o *observation) restart.Decision {
	for {
		d := r.decideAndClaim(o)
		missing, absent := r.checkRequiredSources(ctx, o, &d), r.checkLevelPods(ctx, o, &d)
		if !missing && !absent {
			return d
		}
	}
}

// decideAndClaim decides while the ledger is locked. The policy then claims what the stored status and the
// decided one say, until the latter is stored: however the write ends, no other object disrupts these workloads.
func (r *Reconciler) decideAndClaim(o *observation) restart.Decision {
	var d restart.Decision
	r.Ledger.Do(holderOf(o.key), groupOf(o.policy), func(view disruption.View) []disruption.Claim {
		stored, in := claimsOf(&o.stored.Status), o.decisionInput()
		in.Others = othersOf(view, stored)
		d = restart.Decide(o.effectivePolicy(), in)
		disrupted := map[types.UID]bool{}
		for _, w := range o.workloads {
			if view.Disrupted[w.UID] {
				disrupted[w.UID] = true
			}
		}
		if !maps.Equal(disrupted, o.state.disrupted) && rules.HasProbe(&o.policy.Spec) {
			o.requeueAt(o.now) // probeSignals has already set which pods are checked
		}
		o.state.disrupted = disrupted
		o.waitForOthers(view, d.WaitsForOthers)
		o.claimed = slices.Concat(stored, claimsOf(&d.Status))
		return o.claimed
	})
	return d
}

// othersOf returns what the ledger has for others, beside the claims that are stored.
func othersOf(view disruption.View, stored []disruption.Claim) restart.Others {
	return restart.Others{
		Group: view.Group, Free: view.Beyond(stored), Full: view.Full, Share: view.Share, Disrupted: view.Disrupted, Lapsed: view.Lapsed,
	}
}

// releaseClaims claims what is in the stored status, and no more.
func (r *Reconciler) releaseClaims(o *observation, waits bool) {
	claims := claimsOf(&o.stored.Status)
	if maps.Equal(claimSet(o.claimed), claimSet(claims)) {
		return
	}
	o.claimed = claims
	r.Ledger.Do(holderOf(o.key), groupOf(o.policy), func(view disruption.View) []disruption.Claim {
		o.waitForOthers(view, waits)
		return claims
	})
}

// waitForOthers has the policy enqueued once others disrupt less: where a restart waits for that, or pods are not
// checked because of it.
func (o *observation) waitForOthers(view disruption.View, waits bool) {
	if waits || len(o.state.disrupted) > 0 && rules.HasProbe(&o.policy.Spec) {
		view.Wait(slices.Collect(maps.Keys(o.state.disrupted))...)
	}
}

// Restore adds to the ledger what is in flight according to the stored status of all policies. It comes before
// the first decision of this process.
func Restore(ctx context.Context, from client.Reader, ledger *disruption.Ledger, among ...client.ListOption) error {
	var policies autorebootv1.RebootPolicyList
	if err := from.List(ctx, &policies, append(among, shared)...); err != nil {
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

// claimsOf returns the workloads that a status has in flight. One that soaks and is available takes no slot.
func claimsOf(status *autorebootv1.RebootPolicyStatus) []disruption.Claim {
	claims := make([]disruption.Claim, 0, len(status.InFlight))
	for i := range status.InFlight {
		f := &status.InFlight[i]
		claims = append(claims, disruption.Claim{UID: f.UID, Soaking: restart.IsSoaking(f)})
	}
	return claims
}

func claimSet(claims []disruption.Claim) map[disruption.Claim]bool {
	set := make(map[disruption.Claim]bool, len(claims))
	for _, c := range claims {
		set[c] = true
	}
	return set
}
