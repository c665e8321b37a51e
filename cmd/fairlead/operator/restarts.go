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

	"github.com/fairlead-dev/fairlead/cmd/fairlead/operator/phases"
	"github.com/fairlead-dev/fairlead/cmd/fairlead/options"
	"github.com/fairlead-dev/fairlead/controllers/rebootpolicy"
	"github.com/fairlead-dev/fairlead/controllers/rebootpolicy/fingerprint"
	"github.com/fairlead-dev/fairlead/controllers/rebootpolicy/sources"
	"github.com/fairlead-dev/fairlead/internal/tolerantcache"
)

// keyRetry is how often the key of the fingerprints is asked for where it cannot be had.
const keyRetry = 10 * time.Second

// restarts is the controller of RebootPolicies. It is made once there is a key for fingerprints. One
// that is broken stops restarts alone: webhooks and the other kinds go on, since the whole cluster
// depends on them.
type restarts struct {
	incumbent   *incumbent
	logger      logr.Logger
	disruptions *disruptions
	made        *rebootpolicy.Controller
}

func (i *incumbent) restarts(shared *disruptions) *restarts {
	return &restarts{incumbent: i, logger: i.Logger.WithName(rebootpolicy.Name), disruptions: shared}
}

func sourcesMode(c *options.Configuration) sources.Mode {
	if c.RebootPolicies.Sources == options.SourcesPoll {
		return sources.Poll
	}
	return sources.Watch
}

// make makes the controller, unless it is made.
func (r *restarts) make(key *fingerprint.Key) error {
	if r.made != nil {
		return nil
	}
	a := r.incumbent
	c, settings := a.config.Controllers, a.config.RebootPolicies
	limited := a.limited()
	typed, err := kubernetes.NewForConfig(binary(limited))
	if err != nil {
		return fmt.Errorf("%s: %w", a.api.origin, err)
	}
	untyped, err := metadata.NewForConfig(limited)
	if err != nil {
		return fmt.Errorf("%s: %w", a.api.origin, err)
	}
	made, err := rebootpolicy.New(a.cluster, rebootpolicy.Options{
		Concurrency:      c.Concurrency["RebootPolicy"],
		CacheSyncTimeout: c.CacheSyncTimeout.Duration,
		Warmup:           true, // when to warm is decided by the lifecycle
		Logger:           a.Logger,
		Unasked:          unasked(a.place),
		Ledger:           r.disruptions.ledger,
		Restore:          r.disruptions.restore,
		Key:              key,
		Kubernetes:       typed,
		Metadata:         untyped,
		SourcesMode:      sourcesMode(a.config),
		SourcesInterval:  settings.SourcesPollInterval.Duration,
		Dial:             a.outside.dialer.Dial,
		Lookup:           a.outside.resolver.Lookup,
		Suspicions:       &r.disruptions.suspicions,
		Reference:        a.reference,
		OnSuspect:        r.disruptions.suspicions.OnSuspect("RebootPolicy", a.suspects("RebootPolicy")),
		ProbeWorkers:     settings.ProbeWorkers,
		Freeze:           r.disruptions.freeze,
		Registerer:       a.metrics,
		Wrap:             tolerantcache.Spare("RebootPolicy", a.witness.of("RebootPolicy")),
	})
	if err != nil {
		return err
	}
	r.made = made
	r.disruptions.wakes(made.Wake)
	return nil
}

func (r *restarts) key(ctx context.Context) (*fingerprint.Key, error) {
	return fingerprint.Load(ctx, r.incumbent.client, r.incumbent.place.namespace, r.incumbent.config.RebootPolicies.FingerprintSecret)
}

// warm fills the caches. Without a key there is nothing to fill yet.
func (r *restarts) warm(ctx context.Context, phase phases.Phase) error {
	key, err := r.key(ctx)
	if err != nil {
		r.logger.Error(err, "RebootPolicies are not reconciled yet")
		return nil
	}
	if err := r.make(key); err != nil {
		return err
	}
	if err := r.incumbent.synced(ctx, phase, rebootpolicy.Kinds(sourcesMode(r.incumbent.config))); err != nil {
		return err
	}
	return r.made.Warmup(ctx)
}

// start reconciles, as soon as there is a key.
func (r *restarts) start(ctx context.Context) error {
	for r.made == nil {
		key, err := r.key(ctx)
		if err == nil {
			if err := r.make(key); err != nil {
				return err
			}
			break
		}
		r.logger.Error(err, "RebootPolicies are not reconciled", "retry", keyRetry.String())
		retry := time.NewTimer(keyRetry)
		select {
		case <-ctx.Done():
			retry.Stop()
			return nil
		case <-retry.C:
		}
	}
	return r.made.Start(ctx)
}
