// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"context"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/cmd/fairlead/options"
	"github.com/fairlead-dev/fairlead/controllers/rebootpolicy"
	"github.com/fairlead-dev/fairlead/controllers/rebootpolicy/fingerprint"
	"github.com/fairlead-dev/fairlead/controllers/rebootpolicy/promquery"
	"github.com/fairlead-dev/fairlead/controllers/rebootpolicy/sources"
	"github.com/fairlead-dev/fairlead/internal/tolerantcache"
)

func sourcesMode(c *options.Configuration) sources.Mode {
	if c.RebootPolicies.Sources == options.SourcesPoll {
		return sources.Poll
	}
	return sources.Watch
}

// rebootPolicies returns the controller of RebootPolicies, which needs a key for fingerprints. Without the key, only
// restarts are late: webhooks and the other kinds go on.
func (b *controllerBuilder) rebootPolicies(ctx context.Context, registry prometheus.Registerer) (controller, []client.Object, error) {
	a := b.assembly
	key, err := fingerprint.Load(ctx, a.client, a.identity.namespace, a.config.RebootPolicies.FingerprintSecret)
	if err != nil {
		return nil, nil, err
	}
	c, settings := a.config.Controllers, a.config.RebootPolicies
	limited := b.assembly.controllersConfig()
	typed, err := kubernetes.NewForConfig(binary(limited))
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", a.api.origin, err)
	}
	untyped, err := metadata.NewForConfig(limited)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", a.api.origin, err)
	}
	objects, err := dynamic.NewForConfig(limited)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", a.api.origin, err)
	}
	made, err := rebootpolicy.New(b.manager, rebootpolicy.Options{
		Concurrency:             c.Concurrency["RebootPolicy"],
		CacheSyncTimeout:        c.CacheSyncTimeout.Duration,
		Logger:                  a.logger,
		Now:                     a.offset.Now,
		WebhookExemptNamespaces: webhookExemptNamespaces(a.identity),
		Ledger:                  b.disruptions.ledger,
		Restore:                 b.disruptions.restore,
		Key:                     key,
		Kubernetes:              typed,
		Metadata:                untyped,
		Dynamic:                 objects,
		SourcesMode:             sourcesMode(a.config),
		SourcesInterval:         settings.SourcesPollInterval.Duration,
		Dial:                    a.egress.dialer.Dial,
		Lookup:                  a.egress.resolver.Lookup,
		Suspicions:              &b.disruptions.suspicions,
		Reference:               a.reference,
		OnSuspect:               b.disruptions.suspicions.OnSuspect("RebootPolicy", a.suspects("RebootPolicy")),
		Prometheus: promquery.Server{
			Endpoint: settings.Prometheus.Endpoint(), NamespaceParameter: settings.Prometheus.NamespaceParameter,
		},
		ProbeWorkers: settings.ProbeWorkers,
		Freeze:       b.disruptions.freeze,
		Kinds:        b.workloadKinds,
		WithoutNodes: !a.config.ClusterAccess,
		Registerer:   registry,
		Wrap:         tolerantcache.IgnoreUndecodable("RebootPolicy", a.leadershipLog.wrap("RebootPolicy")),
	})
	if err != nil {
		return nil, nil, err
	}
	b.disruptions.addWake(made.Wake)
	return made, rebootpolicy.Kinds(sourcesMode(a.config)), nil
}
