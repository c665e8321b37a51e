// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"context"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/cmd/fairlead/operator/lifecycle"
	"github.com/fairlead-dev/fairlead/cmd/fairlead/options"
	"github.com/fairlead-dev/fairlead/controllers/rebootpolicy"
	"github.com/fairlead-dev/fairlead/controllers/rebootpolicy/fingerprint"
	"github.com/fairlead-dev/fairlead/controllers/rebootpolicy/promquery"
	"github.com/fairlead-dev/fairlead/controllers/rebootpolicy/sources"
	"github.com/fairlead-dev/fairlead/internal/retry"
	"github.com/fairlead-dev/fairlead/internal/tolerantcache"
)

// keyRetry is the pause between two attempts to load the key of the fingerprints.
const keyRetry = 10 * time.Second

// rebootPolicies is the controller of RebootPolicies. It is made once there is a key for fingerprints. One
// that is broken stops restarts alone: webhooks and the other kinds go on, since the whole cluster
// depends on them.
type rebootPolicies struct {
	builder    *controllerBuilder
	logger     logr.Logger
	controller *rebootpolicy.Controller
}

func (b *controllerBuilder) rebootPolicies(context.Context) (lifecycle.Reconciler, error) {
	r := &rebootPolicies{builder: b, logger: b.assembly.logger.WithName(rebootpolicy.Name)}
	return lifecycle.Reconciler{Name: rebootpolicy.Name, Warm: r.warm, Start: r.start}, nil
}

func sourcesMode(c *options.Configuration) sources.Mode {
	if c.RebootPolicies.Sources == options.SourcesPoll {
		return sources.Poll
	}
	return sources.Watch
}

// create makes the controller, unless it is made.
func (r *rebootPolicies) create(key *fingerprint.Key) error {
	if r.controller != nil {
		return nil
	}
	b, a := r.builder, r.builder.assembly
	c, settings := a.config.Controllers, a.config.RebootPolicies
	limited := b.assembly.controllersConfig()
	typed, err := kubernetes.NewForConfig(binary(limited))
	if err != nil {
		return fmt.Errorf("%s: %w", a.api.origin, err)
	}
	untyped, err := metadata.NewForConfig(limited)
	if err != nil {
		return fmt.Errorf("%s: %w", a.api.origin, err)
	}
	made, err := rebootpolicy.New(b.cluster, rebootpolicy.Options{
		Concurrency:             c.Concurrency["RebootPolicy"],
		CacheSyncTimeout:        c.CacheSyncTimeout.Duration,
		Warmup:                  true, // when to warm is decided by the lifecycle
		Logger:                  a.logger,
		Now:                     a.offset.Now,
		WebhookExemptNamespaces: webhookExemptNamespaces(a.identity),
		Ledger:                  b.disruptions.ledger,
		Restore:                 b.disruptions.restore,
		Key:                     key,
		Kubernetes:              typed,
		Metadata:                untyped,
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
		Registerer:   b.registry,
		Wrap:         tolerantcache.IgnoreUndecodable("RebootPolicy", a.leadershipLog.Wrap("RebootPolicy")),
	})
	if err != nil {
		return err
	}
	r.controller = made
	b.disruptions.addWake(made.Wake)
	return nil
}

func (r *rebootPolicies) key(ctx context.Context) (*fingerprint.Key, error) {
	a := r.builder.assembly
	return fingerprint.Load(ctx, a.client, a.identity.namespace, a.config.RebootPolicies.FingerprintSecret)
}

// warm fills the caches. Without a key there is nothing to fill yet.
func (r *rebootPolicies) warm(ctx context.Context) error {
	key, err := r.key(ctx)
	if err != nil {
		r.logger.Error(err, "RebootPolicies are not reconciled yet")
		return nil
	}
	if err := r.create(key); err != nil {
		return err
	}
	kinds := rebootpolicy.Kinds(sourcesMode(r.builder.assembly.config))
	if err := r.builder.waitForInformers(ctx, r.builder.warmPhase(), &autorebootv1.RebootPolicy{}, kinds); err != nil {
		return err
	}
	return r.controller.Warmup(ctx)
}

// start reconciles, as soon as there is a key.
func (r *rebootPolicies) start(ctx context.Context) error {
	err := retry.Until(ctx, retry.Policy{MinDelay: keyRetry, MaxDelay: keyRetry, AttemptTimeout: -1,
		OnRetry: func(err error, delay time.Duration) {
			r.logger.Error(err, "RebootPolicies are not reconciled", "retry", delay.String())
		}}, func(ctx context.Context) error {
		if r.controller != nil {
			return nil
		}
		key, err := r.key(ctx)
		if err == nil {
			err = r.create(key)
			if err != nil {
				err = retry.Final(err)
			}
		}
		return err
	})
	switch {
	case err == nil:
		return r.controller.Start(ctx)
	case ctx.Err() == nil:
		return err
	}
	return nil
}
