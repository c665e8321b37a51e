// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	"context"
	"fmt"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"

	chaosv1 "github.com/fairlead-dev/fairlead/api/chaos/v1"
)

// budgetBlocks finds the targets of which a ChaosPod could evict no pod although all were ready: where the
// policy evicts, the same PodDisruptionBudget refuses its restart. What was refused while pods were missing,
// or of fewer pods than there are to be now, says nothing.
func (r *Reconciler) budgetBlocks(ctx context.Context, o *observation) error {
	if !o.evicts() {
		return nil
	}
	var all chaosv1.ChaosPodList
	if err := r.Client.List(ctx, &all, client.InNamespace(o.key.Namespace), shared); err != nil {
		return fmt.Errorf("list ChaosPods: %w", err)
	}
	for i := range all.Items {
		c := &all.Items[i]
		for j := range c.Status.Blocked {
			b := &c.Status.Blocked[j]
			if w := o.workload(b.UID); w == nil || w.Unselected || w.Desired == 0 || b.Ready < w.Desired {
				continue
			}
			budget := "a PodDisruptionBudget"
			if b.BlockedBy != "" {
				budget = "PodDisruptionBudget " + b.BlockedBy
			}
			o.budgetBlocks = append(o.budgetBlocks, fmt.Sprintf("%s %s: %s let ChaosPod %s evict no pod although %s",
				b.Kind, b.Name, budget, c.Name, plural(int(b.Ready), "pod was ready", "pods were ready")))
		}
	}
	slices.Sort(o.budgetBlocks) // the cache has no order
	return nil
}
