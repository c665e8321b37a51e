// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package externalservice

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	chaosv1 "github.com/fairlead-dev/fairlead/api/chaos/v1"
	"github.com/fairlead-dev/fairlead/api/common"
	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/controllers/externalservice/failover"
	"github.com/fairlead-dev/fairlead/controllers/internal/dependence"
	"github.com/fairlead-dev/fairlead/controllers/internal/workloads"
	"github.com/fairlead-dev/fairlead/internal/events"
	chaosrules "github.com/fairlead-dev/fairlead/internal/rules/chaospod"
)

// dependants returns the workloads that depend on an ExternalService, as far as a decision about a fault depends on them.
func (r *Reconciler) dependants(ctx context.Context, es *networkingv1.ExternalService) (found failover.Dependants) {
	if !failover.NeedsDependants(es) {
		return found
	}
	depend, err := dependence.On(ctx, r.Client, es.Namespace, es.Name)
	if err != nil {
		return failover.Dependants{AreUnknown: true}
	}
	for _, w := range depend.Workloads {
		found.All = append(found.All, networkingv1.FaultDependant{Kind: w.Kind, Name: w.Name, Ready: r.dependantReadiness(ctx, es.Namespace, w)})
	}
	found.Mistakes = events.Summarize(depend.Mistakes)
	found.Disrupted = depend.Restarted
	if found.Disrupted == "" && len(found.All) > 0 {
		found.Disrupted, err = r.disruptedBy(ctx, es.Namespace, depend.Workloads)
		found.AreUnknown = err != nil
	}
	return found
}

// disruptedBy returns which workload loses pods to a ChaosPod or has not recovered yet; "" for none.
func (r *Reconciler) disruptedBy(ctx context.Context, namespace string, among []dependence.Workload) (string, error) {
	var pods chaosv1.ChaosPodList
	if err := r.Client.List(ctx, &pods, client.InNamespace(namespace), client.UnsafeDisableDeepCopy); err != nil {
		return "", fmt.Errorf("list ChaosPods: %w", err)
	}
	for i := range pods.Items {
		for _, owner := range chaosrules.DisruptedOwners(&pods.Items[i].Status) {
			if slices.Contains(among, dependence.Workload{Kind: owner.Kind, Name: owner.Name}) {
				return fmt.Sprintf("ChaosPod %s disrupts %s %s", pods.Items[i].Name, owner.Kind, owner.Name), nil
			}
		}
	}
	return "", nil
}

func (r *Reconciler) dependantReadiness(ctx context.Context, namespace string, of dependence.Workload) networkingv1.DependantReadiness {
	key := types.NamespacedName{Namespace: namespace, Name: of.Name}
	w, err := workloads.Get(ctx, r.Client, key, common.WorkloadKind(of.Kind), false)
	switch {
	case err != nil || w == nil:
		return networkingv1.DependantUnreadable
	case !w.Available:
		return networkingv1.DependantUnreadyBefore
	}
	return networkingv1.DependantStayedReady
}
