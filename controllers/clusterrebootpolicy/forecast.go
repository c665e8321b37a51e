// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package clusterrebootpolicy

import (
	"context"
	"maps"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/controllers/internal/controller"
	rules "github.com/fairlead-dev/fairlead/internal/rules/rebootpolicy"
)

// Forecast is which policies an object would have.
type Forecast struct {
	// Policies are those that it would make or keep, and Deleted those that it has and would delete, by namespace.
	Policies, Deleted []*autorebootv1.RebootPolicy
}

// Foresee returns which policies an object would have, by the code that makes them. Of one that exists, the UID must be that
// which it has. Nothing is written; from must have namespaces, policies and workloads of the whole cluster. In exempt
// namespaces no policy is made.
func Foresee(ctx context.Context, from client.Reader, of *autorebootv1.ClusterRebootPolicy, exempt ...string) (*Forecast, error) {
	if errs := rules.ValidateCluster(of, nil); len(errs) > 0 {
		return nil, errs.ToAggregate()
	}
	r := &Reconciler{Client: controller.ReadOnly{Reader: from}, WebhookExemptNamespaces: exempt}
	wanted, err := r.wanted(ctx, of)
	if err != nil {
		return nil, err
	}
	made, err := r.made(ctx, of)
	if err != nil {
		return nil, err
	}
	f := &Forecast{}
	for _, namespace := range slices.Sorted(maps.Keys(wanted)) {
		f.Policies = append(f.Policies, newPolicy(of, namespace))
		delete(made, namespace)
	}
	for _, namespace := range slices.Sorted(maps.Keys(made)) {
		f.Deleted = append(f.Deleted, made[namespace])
	}
	return f, nil
}
