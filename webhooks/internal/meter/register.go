// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package meter

import (
	"errors"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
)

// LatencyBuckets are in seconds; they cover an in-memory answer (50 µs) up to the 30 s after which the API
// server gives up on a conversion.
var LatencyBuckets = []float64{.00005, .0001, .00025, .0005, .001, .0025, .005, .01, .05, .25, 1, 5, 30}

// Register adds the collector to the registerer and returns it, or the equal one that stands
// there already, so that several handlers share one family. A nil registerer keeps the collector
// to its owner; a conflict is logged and does the same, as no handler may fail over its metrics.
func Register[C prometheus.Collector](registerer prometheus.Registerer, log logr.Logger, collector C) C {
	if registerer == nil {
		return collector
	}
	err := registerer.Register(collector)
	if err == nil {
		return collector
	}
	var already prometheus.AlreadyRegisteredError
	if errors.As(err, &already) {
		if existing, same := already.ExistingCollector.(C); same {
			return existing
		}
	}
	log.Error(err, "A metric is not exposed: another one stands under its name")
	return collector
}
