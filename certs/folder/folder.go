// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package folder

import (
	"context"
	"crypto/tls"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/fairlead-dev/fairlead/certs"
	"github.com/fairlead-dev/fairlead/certs/keypair"
	"github.com/fairlead-dev/fairlead/internal/retry"
)

// Folder is the certs.Source of this package.
type Folder struct {
	options Options
	metrics *certs.Metrics
	reads   *certs.Reads
	current atomic.Pointer[keypair.Pair]
}

var _ certs.Source = (*Folder)(nil)

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
	return &Folder{options: options, metrics: metrics, reads: certs.NewReads(metrics, options.Log, options.OnFailure)}, nil
}

// Prepare waits until the folder holds a valid certificate, at most for Options.PrepareTimeout. Its error
// is the last one.
func (f *Folder) Prepare(ctx context.Context) error {
	policy := retry.Policy{Clock: f.options.Clock, Log: f.options.Log, MaxDelay: retryInterval, BoundedTimeout: f.options.PrepareTimeout}
	err := retry.Until(ctx, policy, func(context.Context) error {
		found, err := load(f.options.Path, f.options.ServerName, f.options.Clock.Now())
		if err != nil {
			return retry.Bounded(err)
		}
		f.use(found)
		return nil
	})
	if err != nil {
		return fmt.Errorf("prepare the webhook's certificate: %w", err)
	}
	return nil
}

// GetCertificate returns the last valid certificate, for any server name.
func (f *Folder) GetCertificate(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	if current := f.current.Load(); current != nil {
		return current.Served, nil
	}
	return nil, fmt.Errorf("certificate folder %s: no certificate has been read yet", f.options.Path)
}

// CABundle returns the certificates of ca.crt, or nil where there is no such file: then the component that
// writes the folder distributes the bundle.
func (f *Folder) CABundle() []byte {
	if current := f.current.Load(); current != nil {
		return current.Bundle
	}
	return nil
}

// Err returns why the folder as it was last read is not in use.
func (f *Folder) Err() error { return f.reads.Err() }

// Run loads every change of the folder until ctx ends. A watch that fails is started again at every
// interval.
func (f *Folder) Run(ctx context.Context) error {
	watcher, err := fsnotify.NewWatcher()
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
			timer.Reset(f.refresh())
		}
	}
}

// refresh reads the folder and returns when to read it next.
func (f *Folder) refresh() time.Duration {
	found, err := load(f.options.Path, f.options.ServerName, f.options.Clock.Now())
	f.reads.Record(err, "the certificate folder cannot be used; the last good certificate stays in use")
	if err != nil {
		return min(retryInterval, f.options.Interval)
	}
	f.use(found)
	return f.options.Interval
}

// use serves the pair from now on, unless it is the current one.
func (f *Folder) use(found *keypair.Pair) {
	before := f.current.Load()
	if before != nil && before.Same(found) {
		return
	}
	f.current.Store(found)
	leaf := found.Served.Leaf
	f.metrics.SetExpiry(certs.ExpiryServing, leaf.NotAfter)
	f.metrics.SetExpiry(certs.ExpiryRoot, found.RootExpiry())
	f.options.Log.Info("serving certificate read", "path", f.options.Path, "serial", leaf.SerialNumber.Text(16),
		"expires", leaf.NotAfter, "chain", len(found.Served.Certificate), "bundle", found.Bundle != nil)
	if before != nil {
		f.metrics.CountReload(certs.ReloadChanged)
	}
	if f.options.OnChange != nil && (before == nil || string(before.Bundle) != string(found.Bundle)) {
		f.options.OnChange()
	}
}
