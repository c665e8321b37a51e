// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package certmanager

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/cert-manager/cert-manager/pkg/controller"
	"golang.org/x/sync/errgroup"

	// Each of them registers itself in controller.Known.
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificaterequests/approver"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificaterequests/ca"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificaterequests/selfsigned"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/issuing"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/keymanager"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/readiness"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/requestmanager"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/revisionmanager"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/trigger"
	_ "github.com/cert-manager/cert-manager/pkg/controller/clusterissuers"
	_ "github.com/cert-manager/cert-manager/pkg/controller/issuers"
	_ "github.com/cert-manager/cert-manager/pkg/issuer/ca"
	_ "github.com/cert-manager/cert-manager/pkg/issuer/selfsigned"
)

// workers is how many objects each controller works on at once, as cert-manager's own default.
const workers = 5

// controllers runs all that issue, until ctx ends. It calls started once they run.
func controllers(ctx context.Context, o Options, started func()) error {
	factory, err := controller.NewContextFactory(ctx, controller.ContextOptions{
		Kubeconfig:         o.Kubeconfig,
		KubernetesAPIQPS:   200,
		KubernetesAPIBurst: 400,
		IssuerOptions:      controller.IssuerOptions{ClusterResourceNamespace: o.ClusterResourceNamespace},
		CertificateOptions: controller.CertificateOptions{
			// Shorter than in a cluster, where an hour is usual: a suite that provokes a failure
			// wants to see the way out of it.
			CertificateRequestMinimumBackoffDuration: time.Second,
			CertificateRequestMaximumBackoffDuration: time.Minute,
			CopiedAnnotationPrefixes:                 []string{"*", "-kubectl.kubernetes.io/"},
		},
		SchedulerOptions: controller.SchedulerOptions{MaxConcurrentChallenges: 1},
	})
	if err != nil {
		return fmt.Errorf("cert-manager's controllers: %w", err)
	}
	group, ctx := errgroup.WithContext(ctx)
	var running []controller.Interface
	known := controller.Known()
	for _, name := range slices.Sorted(maps.Keys(known)) {
		made, err := known[name](factory)
		if err != nil {
			return fmt.Errorf("cert-manager's controller %s: %w", name, err)
		}
		running = append(running, made)
	}
	built, err := factory.Build()
	if err != nil {
		return fmt.Errorf("cert-manager's controllers: %w", err)
	}
	// After the controllers were made: each asks for its informers, and only those are started.
	built.SharedInformerFactory.Start(ctx.Done())
	built.KubeSharedInformerFactory.Start(ctx.Done())
	for _, one := range running {
		group.Go(func() error { return one.Run(workers, ctx) })
	}
	started()
	return group.Wait()
}
