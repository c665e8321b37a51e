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

// Expiries publishes when certificates expire:
// fairlead_certificate_expiry_timestamp_seconds{certificate}.
type Expiries struct{ vec *prometheus.GaugeVec }

// NewExpiries registers the gauge. A nil registerer keeps it unpublished. It fails where the registerer
// holds a different collector under the name.
func NewExpiries(registerer prometheus.Registerer) (*Expiries, error) {
	vec, err := metrics.Gauge(registerer, "fairlead_certificate_expiry_timestamp_seconds",
		"When a certificate expires, in seconds since 1970: the serving one, the root that signs it, and the next root during a rotation.", "certificate")
	if err != nil {
		return nil, err
	}
	return &Expiries{vec: vec}, nil
}

// Set publishes the expiry of a certificate. The zero time removes it.
func (e *Expiries) Set(certificate string, at time.Time) {
	if at.IsZero() {
		e.vec.DeleteLabelValues(certificate)
		return
	}
	e.vec.WithLabelValues(certificate).Set(float64(at.Unix()))
}

// The results that Reloads counts.
const (
	ReloadChanged = "changed" // another certificate or bundle is in use now
	ReloadFailed  = "failed"  // what was found cannot be used; the last good certificate stays
)

// Reloads counts how often a source loaded another certificate or failed to:
// fairlead_certificate_reloads_total{result}.
type Reloads struct{ vec *prometheus.CounterVec }

// NewReloads registers the counter. A nil registerer keeps it unpublished. It fails where the registerer
// holds a different collector under the name.
func NewReloads(registerer prometheus.Registerer) (*Reloads, error) {
	vec, err := metrics.Counter(registerer, "fairlead_certificate_reloads_total",
		"How often the webhook's serving certificate or CA bundle was read again (changed), or could not be (failed).", "result")
	if err != nil {
		return nil, err
	}
	for _, result := range []string{ReloadChanged, ReloadFailed} {
		vec.WithLabelValues(result)
	}
	return &Reloads{vec: vec}, nil
}

// Count adds one reload of the result.
func (r *Reloads) Count(result string) { r.vec.WithLabelValues(result).Inc() }
