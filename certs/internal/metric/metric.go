// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package metric makes the labeled metrics of certificates. A source that is made twice in one process
// shares what the first one has registered.
package metric

import (
	"errors"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
)

// Counter registers a counter. A nil registerer keeps it unpublished. It fails where the registerer holds
// something else under the name.
func Counter(registerer prometheus.Registerer, name, help string, labels ...string) (*prometheus.CounterVec, error) {
	return registered(registerer, name, prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels))
}

// Gauge is Counter for a gauge.
func Gauge(registerer prometheus.Registerer, name, help string, labels ...string) (*prometheus.GaugeVec, error) {
	return registered(registerer, name, prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, labels))
}

// registered returns the collector, or the equal one that stands there already.
func registered[C prometheus.Collector](registerer prometheus.Registerer, name string, collector C) (C, error) {
	if registerer == nil {
		return collector, nil
	}
	err := registerer.Register(collector)
	if err == nil {
		return collector, nil
	}
	var already prometheus.AlreadyRegisteredError
	if errors.As(err, &already) {
		if existing, same := already.ExistingCollector.(C); same {
			return existing, nil
		}
	}
	var none C
	return none, fmt.Errorf("register metric %s: %w", name, err)
}
