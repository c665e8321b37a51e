// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package metrics registers the metrics of what may be made more than once in a process: the second one
// shares the collectors of the first. It holds no metric of its own and no global registry.
package metrics

import (
	"errors"
	"fmt"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
)

// LatencyBuckets are in seconds; they cover an in-memory answer (50 µs) up to the 30 s after which the API
// server gives up on a conversion.
var LatencyBuckets = []float64{.00005, .0001, .00025, .0005, .001, .0025, .005, .01, .05, .25, 1, 5, 30}

// Counter registers a counter with labels, as Register does.
func Counter(registerer prometheus.Registerer, name, help string, labels ...string) (*prometheus.CounterVec, error) {
	counter, err := Register(registerer, prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels))
	return counter, named(name, err)
}

// Gauge is Counter for a gauge.
func Gauge(registerer prometheus.Registerer, name, help string, labels ...string) (*prometheus.GaugeVec, error) {
	gauge, err := Register(registerer, prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, labels))
	return gauge, named(name, err)
}

// named puts the name into an error, as that of a duplicate has none.
func named(name string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("register metric %s: %w", name, err)
}

// Register adds the collector to the registerer and returns it, or the equal one that is registered already.
// A nil registerer keeps it unpublished. It fails where another metric has the name.
func Register[C prometheus.Collector](registerer prometheus.Registerer, collector C) (C, error) {
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
	return collector, err
}

// RegisterOrLog is Register for a webhook, which must not fail because of its metrics: a collector that
// cannot be registered is logged, and stays unpublished.
func RegisterOrLog[C prometheus.Collector](registerer prometheus.Registerer, log logr.Logger, collector C) C {
	collector, err := Register(registerer, collector)
	if err != nil {
		log.Error(err, "A metric is not exposed: another one has its name")
	}
	return collector
}
