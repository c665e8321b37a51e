// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package injection

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/fairlead-dev/fairlead/certs"
	"github.com/fairlead-dev/fairlead/internal/metrics"
	"github.com/fairlead-dev/fairlead/internal/panics"
	"github.com/fairlead-dev/fairlead/internal/retry"
)

// attemptTimeout bounds one pass over all targets: a busy API server may take more than 10 s to apply a
// caBundle to a large CRD.
const attemptTimeout = 30 * time.Second

// The results that fairlead_ca_injections_total{target_kind,result} counts.
const (
	written   = "written"
	unchanged = "unchanged"
	failed    = "failed"
	withheld  = "withheld" // not written, since another writer keeps changing it, or it calls another Service
)

// Injector keeps the CA bundle in its targets. Any number of replicas may run one: all write the same
// bytes, and none repeats the write of another.
type Injector struct {
	options    Options
	targets    []target
	injections *prometheus.CounterVec
	triggered  chan struct{}
	budget     *writeBudget
	health     *health
	mu         sync.Mutex // one pass over the targets at a time
}

// New returns an Injector. It fails where options are missing, and sends no request.
func New(options Options) (*Injector, error) {
	options, err := options.withDefaults()
	if err != nil {
		return nil, err
	}
	injections, err := metrics.Counter(options.Registerer, "fairlead_ca_injections_total",
		"How often a target was looked at and the CA bundle written, found unchanged, failed to get there, or withheld as another manager keeps changing it, or the target calls another Service.", "target_kind", "result")
	if err != nil {
		return nil, err
	}
	present, err := metrics.Gauge(options.Registerer, "fairlead_ca_bundle_present",
		"1 where the target was last seen with the CA bundle of the webhooks, 0 where it was not, or was gone.", "target_kind", "target")
	if err != nil {
		return nil, err
	}
	return &Injector{
		options: options, targets: options.targets(), injections: injections,
		triggered: make(chan struct{}, 1), budget: newWriteBudget(options), health: newHealth(present),
	}, nil
}

// Publish writes the bundle to all targets and returns nil once every one has it. A target that fails does
// not delay the others, and is retried: until ctx ends where the API server responds for no target, for
// Options.PublishTimeout otherwise, since Run keeps them all, and a bundle that changes meanwhile. A bundle that is empty or
// invalid is refused before anything is read.
func (i *Injector) Publish(ctx context.Context, bundle []byte) error {
	if err := validateBundle(bundle); err != nil {
		return err
	}
	pending := i.targets
	policy := retry.Policy{Clock: i.options.Clock, Log: i.options.Log, AttemptTimeout: attemptTimeout,
		BoundedTimeout: i.options.PublishTimeout}
	err := retry.Until(ctx, policy, func(ctx context.Context) error {
		var err error
		if pending, err = i.injectPending(ctx, pending, bundle); len(pending) < len(i.targets) && err != nil {
			return retry.Bounded(err)
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("publish the CA bundle: %w", err)
	}
	return nil
}

// Trigger makes Run check the targets at once, as when the bundle has changed. It never blocks.
func (i *Injector) Trigger() {
	select {
	case i.triggered <- struct{}{}:
	default: // one is pending
	}
}

// injectAll tries each target once. Those in changing that have the bundle afterwards are removed from there.
func (i *Injector) injectAll(ctx context.Context, bundle []byte, changing map[target]bool) error {
	if bundle == nil {
		return nil
	}
	if err := validateBundle(bundle); err != nil {
		return err
	}
	bounded, cancel := context.WithTimeout(ctx, attemptTimeout)
	defer cancel()
	failed, err := i.injectInto(bounded, i.targets, bundle, func(t target) bool { return changing[t] })
	maps.DeleteFunc(changing, func(t target, _ bool) bool { return !slices.Contains(failed, t) })
	return err
}

// injectPending is injectInto for a bundle that has changed.
func (i *Injector) injectPending(ctx context.Context, targets []target, bundle []byte) ([]target, error) {
	return i.injectInto(ctx, targets, bundle, func(target) bool { return true })
}

// injectInto tries each target once, all concurrently, and returns those that failed. In sequence they would
// take most of a first start: the API server takes some 200 ms to write a CRD.
func (i *Injector) injectInto(ctx context.Context, targets []target, bundle []byte, changed func(target) bool) ([]target, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	errs := make([]error, len(targets))
	var injecting sync.WaitGroup
	for n, t := range targets {
		injecting.Go(func() {
			result := failed
			errs[n] = panics.Try("CA injection", func() (err error) {
				result, err = i.inject(ctx, t, bundle, changed(t))
				return err
			})
			i.injections.WithLabelValues(t.kind.name, result).Inc()
			i.health.recordResult(t, errs[n])
		})
	}
	injecting.Wait()
	var remaining []target
	for n, t := range targets {
		if errs[n] != nil {
			remaining = append(remaining, t)
		}
	}
	return remaining, errors.Join(errs...)
}

// Observed reads all targets and returns nil where every one trusts all that the bundle trusts, regardless
// of who wrote it. The error wraps certs.ErrBundleMissing where a target lacks part of it, and
// certs.ErrTrustedNowhere too where each that could be read does; any other error says why a target could not be
// read. Nothing is written.
func (i *Injector) Observed(ctx context.Context, bundle []byte) error {
	if err := validateBundle(bundle); err != nil {
		return err
	}
	errs := i.readEach(func(_ int, t target) error { return i.checkTarget(ctx, t, bundle) })
	if slices.Contains(errs, nil) || !errors.Is(errors.Join(errs...), certs.ErrBundleMissing) {
		return errors.Join(errs...)
	}
	return errors.Join(append([]error{certs.ErrTrustedNowhere}, errs...)...)
}

// readEach calls read for each target, all concurrently, and returns its errors in the order of the targets.
func (i *Injector) readEach(read func(n int, t target) error) []error {
	errs := make([]error, len(i.targets))
	var reading sync.WaitGroup
	for n, t := range i.targets {
		reading.Go(func() {
			errs[n] = panics.Try("CA injection", func() error { return read(n, t) })
		})
	}
	reading.Wait()
	return errs
}

func (i *Injector) checkTarget(ctx context.Context, t target, bundle []byte) error {
	object, slots, err := i.read(ctx, t)
	if err != nil {
		return err
	}
	if i.checkService(t, slots) != nil {
		return nil //nolint:nilerr // it calls the webhooks of others, who publish their own authority
	}
	if !allInclude(slots, bundle) {
		return fmt.Errorf("%s: %w; the present value was written by %s", t, certs.ErrBundleMissing, writer(t.kind, object, slots, bundle))
	}
	return nil
}
