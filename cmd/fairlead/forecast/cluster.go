// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package forecast

import (
	"cmp"
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/cmd/fairlead/inspect"
	"github.com/fairlead-dev/fairlead/controllers/clusterrebootpolicy"
	"github.com/fairlead-dev/fairlead/internal/events"
)

// applyCluster has the policies of a ClusterRebootPolicy be those that its controller would make.
func (w *world) applyCluster(ctx context.Context, key inspect.Key, of *autorebootv1.ClusterRebootPolicy) {
	if live := w.objects[key]; live != nil {
		of.UID = live.GetUID()
	}
	of.UID = cmp.Or(of.UID, "new") // its policies have none either
	after := inspect.NewCache(w.is, w.options.Reader).Replace(w.replaced)
	found, err := clusterrebootpolicy.Foresee(ctx, after, of, metav1.NamespaceSystem, w.options.OperatorNamespace)
	if err != nil {
		message := "the policies that it would create are unknown: " + err.Error()
		w.unread = append(w.unread, inspect.Unread{Resource: key.String(), Message: message})
		return
	}
	for _, policy := range found.Policies {
		is := inspect.KeyOf(policy)
		if live := w.objects[is]; live == nil {
			w.newPolicies = append(w.newPolicies, newPolicy{is.String() + " of " + key.String(), policy})
		} else if metav1.IsControlledBy(live, of) {
			w.replaced[is] = replace(live, policy)
		} else {
			w.notes = append(w.notes, is.String()+" differs from the policy that "+key.String()+" would create, and the API server refuses the new one.")
		}
	}
	var deleted []string
	for _, policy := range found.Deleted {
		w.deleted[inspect.KeyOf(policy)] = true
		deleted = append(deleted, inspect.KeyOf(policy).String())
	}
	if len(deleted) > 0 {
		w.notes = append(w.notes, key.String()+" would delete "+events.Summarize(deleted)+", which then restarts nothing.")
	}
}
