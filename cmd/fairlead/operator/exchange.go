// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
)

// exchange shows the metrics of the term that there is. Each term has a registry of its own, since a
// metric that stays registered would collide with the next one's, and keep what it was made from.
type exchange struct {
	current atomic.Pointer[prometheus.Registry]
}

var _ prometheus.Collector = (*exchange)(nil)

// show puts a registry in the place of the one before; nil shows nothing.
func (e *exchange) show(r *prometheus.Registry) { e.current.Store(r) }

// Describe says nothing: what is collected changes.
func (e *exchange) Describe(chan<- *prometheus.Desc) {}

// Collect collects what the registry does.
func (e *exchange) Collect(metrics chan<- prometheus.Metric) {
	if r := e.current.Load(); r != nil {
		r.Collect(metrics)
	}
}
