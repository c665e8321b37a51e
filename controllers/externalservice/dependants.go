// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package externalservice

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	chaosv1 "github.com/fairlead-dev/fairlead/api/chaos/v1"
	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/controllers/externalservice/failover"
	"github.com/fairlead-dev/fairlead/controllers/internal/dependence"
	"github.com/fairlead-dev/fairlead/controllers/internal/workloads"
	chaosrules "github.com/fairlead-dev/fairlead/internal/rules/chaospod"
)

// dependants returns the targets of the RebootPolicies that name an ExternalService, as far as a decision about a fault
// depends on them.
func (r *Reconciler) dependants(ctx context.Context, es *networkingv1.ExternalService) (found failover.Dependants) {
	if !failover.NeedsDependants(es) {
		return found
	}
	policies, err := dependence.On(ctx, r.Client, es.Namespace, es.Name)
	if err != nil {
		return failover.Dependants{AreUnknown: true}
	}
	seen := map[networkingv1.FaultDependant]bool{}
	for i := range policies {
		policy := &policies[i]
		for j := range policy.Status.Targets {
			t := &policy.Status.Targets[j]
			d := networkingv1.FaultDependant{Kind: string(t.Kind), Name: t.Name}
			if !seen[d] {
				seen[d] = true
				d.Ready = r.dependantReadiness(ctx, es.Namespace, t)
				found.All = append(found.All, d)
			}
		}
		if len(policy.Status.InFlight) > 0 && found.Disrupted == "" {
			found.Disrupted = fmt.Sprintf("RebootPolicy %s restarts %s %s", policy.Name, policy.Status.InFlight[0].Kind,
				policy.Status.InFlight[0].Name)
		}
	}
	slices.SortFunc(found.All, func(a, b networkingv1.FaultDependant) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name))
	})
	if found.Disrupted == "" && len(found.All) > 0 {
		found.Disrupted, err = r.disruptedBy(ctx, es.Namespace, seen)
		found.AreUnknown = err != nil
	}
	return found
}

// disruptedBy returns which workload loses pods to a ChaosPod or has not recovered yet; "" for none.
func (r *Reconciler) disruptedBy(ctx context.Context, namespace string, among map[networkingv1.FaultDependant]bool) (string, error) {
	var pods chaosv1.ChaosPodList
	if err := r.Client.List(ctx, &pods, client.InNamespace(namespace), client.UnsafeDisableDeepCopy); err != nil {
		return "", fmt.Errorf("list ChaosPods: %w", err)
	}
	for i := range pods.Items {
		for _, owner := range chaosrules.DisruptedOwners(&pods.Items[i].Status) {
			if among[networkingv1.FaultDependant{Kind: owner.Kind, Name: owner.Name}] {
				return fmt.Sprintf("ChaosPod %s disrupts %s %s", pods.Items[i].Name, owner.Kind, owner.Name), nil
			}
		}
	}
	return "", nil
}

func (r *Reconciler) dependantReadiness(
	ctx context.Context, namespace string, t *autorebootv1.TargetStatus,
) networkingv1.DependantReadiness {
	w, err := workloads.Get(ctx, r.Client, types.NamespacedName{Namespace: namespace, Name: t.Name}, t.Kind, false)
	switch {
	case err != nil || w == nil:
		return networkingv1.DependantUnreadable
	case !w.Available:
		return networkingv1.DependantUnreadyBefore
	}
	return networkingv1.DependantStayedReady
}
