// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package certs

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/fairlead-dev/fairlead/internal/metrics"
)

// The certificates whose expiry is published.
const (
	ExpiryServing = "serving" // what the webhook server presents
	ExpiryRoot    = "root"    // the root that signs it
	ExpiryNext    = "next"    // the root that will, during a rotation
)

// The results of a reload.
const (
	ReloadChanged = "changed" // another certificate or bundle is in use now
	ReloadFailed  = "failed"  // what was read is invalid; the last valid certificate stays in use
)

// Metrics are those of every source: fairlead_certificate_expiry_timestamp_seconds{certificate} and
// fairlead_certificate_reloads_total{result}.
type Metrics struct {
	expiry  *prometheus.GaugeVec
	reloads *prometheus.CounterVec
}

// NewMetrics registers the metrics. A nil registerer keeps them unpublished. It fails where the registerer
// holds a different collector under one of the names.
func NewMetrics(registerer prometheus.Registerer) (*Metrics, error) {
	expiry, err := metrics.Gauge(registerer, "fairlead_certificate_expiry_timestamp_seconds",
		"When a certificate expires, in seconds since 1970: the serving one, the root that signs it, and the next root during a rotation.", "certificate")
	if err != nil {
		return nil, err
	}
	reloads, err := metrics.Counter(registerer, "fairlead_certificate_reloads_total",
		"How often the webhook's serving certificate or CA bundle was read again (changed), or could not be (failed).", "result")
	if err != nil {
		return nil, err
	}
	for _, result := range []string{ReloadChanged, ReloadFailed} {
		reloads.WithLabelValues(result)
	}
	return &Metrics{expiry: expiry, reloads: reloads}, nil
}

// SetExpiry publishes when a certificate expires. The zero time removes it.
func (m *Metrics) SetExpiry(certificate string, at time.Time) {
	if at.IsZero() {
		m.expiry.DeleteLabelValues(certificate)
		return
	}
	m.expiry.WithLabelValues(certificate).Set(float64(at.Unix()))
}

// CountReload counts one reload by its result.
func (m *Metrics) CountReload(result string) { m.reloads.WithLabelValues(result).Inc() }
