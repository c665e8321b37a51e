// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package injection

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/fairlead-dev/fairlead/certs/internal/metric"
	"github.com/fairlead-dev/fairlead/certs/internal/retry"
)

// The results that fairlead_ca_injections_total{target_kind,result} counts.
const (
	written   = "written"
	unchanged = "unchanged"
	failed    = "failed"
	withheld  = "withheld" // not written, since somebody keeps changing it
)

// Injector keeps the CA bundle in its targets. Any number of replicas may run one: all write the
// same bytes, and none writes what another has written.
type Injector struct {
	options    Options
	targets    []target
	injections *prometheus.CounterVec
	nudge      chan struct{}
	budget     *budget
	mu         sync.Mutex // one pass over the targets at a time
}

// New makes an injector. It fails where options are missing, and exchanges nothing with the API
// server.
func New(options Options) (*Injector, error) {
	options, err := options.withDefaults()
	if err != nil {
		return nil, err
	}
	injections, err := metric.Counter(options.Registerer, "fairlead_ca_injections_total",
		"How often a target was looked at and the CA bundle written, found unchanged, failed to get there, or withheld as somebody keeps changing it.", "target_kind", "result")
	if err != nil {
		return nil, err
	}
	return &Injector{
		options: options, targets: options.targets(), injections: injections,
		nudge: make(chan struct{}, 1), budget: newBudget(options),
	}, nil
}

// Publish brings the bundle to all targets and returns nil once it stands in every one. Targets
// that fail do not keep the others waiting, and are tried again: against a dead or slow API
// server until ctx ends, without a target, a permission or ownership for Options.Patience. A
// bundle that is empty or does not parse is refused before anything is read.
func (i *Injector) Publish(ctx context.Context, bundle []byte) error {
	if err := usable(bundle); err != nil {
		return err
	}
	pending := i.targets
	policy := retry.Policy{Clock: i.options.Clock, Log: i.options.Log, Attempt: i.options.AttemptTimeout, Stubborn: i.options.Patience}
	err := retry.Until(ctx, policy, func(ctx context.Context) error {
		var err error
		pending, err = i.pass(ctx, pending, bundle)
		return err
	})
	if err != nil {
		return fmt.Errorf("publish the CA bundle: %w", err)
	}
	return nil
}

// Trigger makes Run look at the targets at once, as when the bundle has changed. It never blocks
// and may be called at any time.
func (i *Injector) Trigger() {
	select {
	case i.nudge <- struct{}{}:
	default: // Run has been told and has not come to it yet
	}
}

// Run keeps the bundle in the targets until ctx ends, and then returns nil: a target that was
// installed anew without it is healed within the interval. While bundle answers nil nothing is
// done, since somebody else injects it.
func (i *Injector) Run(ctx context.Context, bundle func() []byte) error {
	var seen retry.Distinct
	for pause := i.options.Interval; ; {
		select {
		case <-ctx.Done():
			return nil
		case <-i.nudge:
		case <-i.options.Clock.After(i.options.Jitter(pause)):
		}
		pause = i.options.Interval
		if err := i.once(ctx, bundle()); err == nil {
			seen.Reset()
		} else if ctx.Err() == nil {
			pause = i.options.Interval / 10
			if seen.Add(err) {
				i.options.Log.Error(err, "the CA bundle did not reach every target; calls to the webhook may fail")
			}
		}
	}
}

func (i *Injector) once(ctx context.Context, bundle []byte) error {
	if bundle == nil {
		return nil
	}
	if err := usable(bundle); err != nil {
		return err
	}
	bounded, cancel := context.WithTimeout(ctx, i.options.AttemptTimeout)
	defer cancel()
	_, err := i.pass(bounded, i.targets, bundle)
	return err
}

// pass tries each target once, all at the same time, and answers those that failed. One after the
// other they take the larger part of a first start: the API server answers the write of a CRD only
// after some 200 ms.
func (i *Injector) pass(ctx context.Context, targets []target, bundle []byte) ([]target, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	errs := make([]error, len(targets))
	var injecting sync.WaitGroup
	for n, t := range targets {
		injecting.Go(func() {
			var result string
			result, errs[n] = i.inject(ctx, t, bundle)
			i.injections.WithLabelValues(t.kind.name, result).Inc()
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
