// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package folder

import (
	"context"
	"fmt"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/fairlead-dev/fairlead/certs"
	"github.com/fairlead-dev/fairlead/certs/trust"
	"github.com/fairlead-dev/fairlead/internal/retry"
)

// Folder is the certs.Source of this package.
type Folder struct {
	options       Options
	reads         *certs.Reads
	*trust.Holder // what is served and published
}

var _ certs.Keeper = (*Folder)(nil)

// New returns a Folder. It fails where options are missing, and reads nothing.
func New(options Options) (*Folder, error) {
	options, err := options.withDefaults()
	if err != nil {
		return nil, err
	}
	metrics, err := certs.NewMetrics(options.Registerer)
	if err != nil {
		return nil, err
	}
	return &Folder{
		options: options, reads: certs.NewReads(metrics, options.Log, options.OnFailure),
		Holder: trust.NewHolder(trust.Options{
			Source: "certificate folder " + options.Path, Secrets: options.Secrets, Namespace: options.Namespace, Validity: options.Validity,
			Targets: options.Targets, OnChange: options.OnChange, Metrics: metrics, Clock: options.Clock, Log: options.Log,
		}),
	}, nil
}

// Prepare waits until the folder holds a valid certificate, at most for Options.PrepareTimeout, and until the targets trust
// it, where they trust others. Its error is the last one.
func (f *Folder) Prepare(ctx context.Context) error {
	policy := retry.Policy{Clock: f.options.Clock, Log: f.options.Log, MaxDelay: retryInterval, BoundedTimeout: f.options.PrepareTimeout}
	err := retry.Until(ctx, policy, func(ctx context.Context) error {
		found, err := load(f.options.Path, f.options.ServerName, f.options.Clock.Now())
		if err != nil {
			return retry.Bounded(err)
		}
		_, err = f.Use(ctx, found)
		return err
	})
	if err == nil {
		err = f.AwaitTrust(ctx)
	}
	if err != nil {
		return fmt.Errorf("prepare the webhook's certificate: %w", err)
	}
	return nil
}

// Err returns why the folder as it was last read is not in use.
func (f *Folder) Err() error { return f.reads.Err() }

// Run loads every change of the folder until ctx ends. A watch that fails is started again at every
// interval.
func (f *Folder) Run(ctx context.Context) error {
	watcher, err := f.options.NewWatcher()
	var events chan fsnotify.Event
	var errs chan error
	if err != nil {
		f.options.Log.Info("the certificate folder cannot be watched, so changes count only when it is next read",
			"path", f.options.Path, "interval", f.options.Interval.String(), "reason", err.Error())
	} else {
		defer func() { _ = watcher.Close() }()
		events, errs = watcher.Events, watcher.Errors
	}
	var seen retry.Distinct
	timer := f.options.Clock.NewTimer(0)
	defer timer.Stop()
	scheduled := false
	schedule := func() {
		if !scheduled { // only the first of many notifications counts, or a busy folder is never read
			scheduled = true
			timer.Reset(settleDelay)
		}
	}
	for {
		select {
		case <-ctx.Done():
			return nil
		case _, open := <-events:
			if !open {
				events = nil
				continue
			}
			schedule()
		case err, open := <-errs:
			if !open {
				errs = nil
				continue
			}
			if seen.Add(err) { // such as an overflow of the queue
				f.options.Log.Info("watching the certificate folder failed", "path", f.options.Path, "reason", err.Error())
			}
			schedule()
		case <-timer.C():
			scheduled = false
			if watcher != nil {
				// No-op where it is watched already; needed where the folder was replaced. Reading it
				// below reports what is wrong with it.
				_ = watcher.Add(f.options.Path)
			}
			timer.Reset(f.refresh(ctx))
		}
	}
}

// refresh reads the folder and returns when to read it next.
func (f *Folder) refresh(ctx context.Context) time.Duration {
	waits := false
	found, err := load(f.options.Path, f.options.ServerName, f.options.Clock.Now())
	if err == nil {
		waits, err = f.Use(ctx, found)
	}
	if ctx.Err() == nil {
		f.reads.Record(err, "the certificate folder cannot be used; the last good certificate stays in use")
	}
	if waits || err != nil {
		return min(retryInterval, f.options.Interval)
	}
	return f.options.Interval
}
