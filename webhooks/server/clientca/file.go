// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package clientca

import (
	"bytes"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/fairlead-dev/fairlead/internal/metrics"
)

// interval is how often the file is read. Reading it is more robust than a watch, and fast enough: authorities are
// added long before a certificate of theirs is used.
const interval = 5 * time.Second

// Options of a File.
type Options struct {
	// Path is the PEM file. Required.
	Path string
	// Logger logs changes, and each error once. Defaults to logr.Discard().
	Logger logr.Logger
	// Registerer exposes the metrics. Defaults to nil: metrics are not registered.
	Registerer prometheus.Registerer
}

// The results of a reload.
const (
	changed = "changed"
	failed  = "failed"
)

// File holds the authorities that a file lists. Its methods are safe for concurrent use.
type File struct {
	options Options
	current atomic.Pointer[authorities]
	reloads *prometheus.CounterVec
	expiry  prometheus.Gauge
}

// New reads the file. A file that cannot be used is an error: no caller would be trusted, and the webhooks would refuse
// everything.
func New(o Options) (*File, error) {
	if o.Path == "" {
		return nil, errors.New("authorities of the webhooks' clients: no file is given")
	}
	if o.Logger.GetSink() == nil {
		o.Logger = logr.Discard()
	}
	first, err := read(o.Path)
	if err != nil {
		return nil, fmt.Errorf("authorities of the webhooks' clients: %w", err)
	}
	f := &File{
		options: o,
		reloads: metrics.RegisterOrLog(o.Registerer, o.Logger, prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "fairlead_webhook_client_ca_reloads_total",
			Help: "How often the authorities of the webhooks' clients were read again (changed), or could not be (failed).",
		}, []string{"result"})),
		expiry: metrics.RegisterOrLog(o.Registerer, o.Logger, prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "fairlead_webhook_client_ca_expiry_timestamp_seconds",
			Help: "When the first of the authorities of the webhooks' clients expires, in seconds since 1970.",
		})),
	}
	for _, result := range []string{changed, failed} {
		f.reloads.WithLabelValues(result)
	}
	f.take(first)
	return f, nil
}

// Pool returns the current authorities.
func (f *File) Pool() *x509.CertPool { return f.current.Load().pool }

// Run follows the file until the context ends.
func (f *File) Run(ctx context.Context) error {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	var complaint string
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
			complaint = f.reload(complaint)
		}
	}
}

// reload reads the file again. It returns the error that it found, as text; complaint is that of the previous call. It
// logs and counts each error once.
func (f *File) reload(complaint string) string {
	found, err := read(f.options.Path)
	switch {
	case err != nil && err.Error() == complaint:
		return complaint
	case err != nil:
		f.reloads.WithLabelValues(failed).Inc()
		f.options.Logger.Error(err, "The authorities of the webhooks' clients cannot be read; those that were read last stay")
		return err.Error()
	case !bytes.Equal(found.text, f.current.Load().text):
		f.take(found)
		f.reloads.WithLabelValues(changed).Inc()
		f.options.Logger.Info("The authorities of the webhooks' clients have changed", "path", f.options.Path, "firstExpires", found.expiry)
	}
	return ""
}

func (f *File) take(found *authorities) {
	f.current.Store(found)
	f.expiry.Set(float64(found.expiry.Unix()))
}
