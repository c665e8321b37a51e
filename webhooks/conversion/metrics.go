// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package conversion

import (
	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/fairlead-dev/fairlead/internal/metrics"
)

// Values of the label result.
const (
	resultConverted = "converted"
	resultFailed    = "failed"
)

// unknown is the label of objects whose kind or version is not registered, so that a sender cannot create series.
const unknown = "unknown"

type conversionMetrics struct {
	seconds *prometheus.HistogramVec
	objects *prometheus.CounterVec
	refused prometheus.Counter
}

func newMetrics(registerer prometheus.Registerer, log logr.Logger) conversionMetrics {
	return conversionMetrics{
		seconds: metrics.RegisterOrLog(registerer, log, prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "fairlead_conversion_duration_seconds",
			Help:    "Time to convert one object, by kind and the two versions.",
			Buckets: metrics.LatencyBuckets,
		}, []string{"kind", "from", "to"})),
		objects: metrics.RegisterOrLog(registerer, log, prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "fairlead_conversion_objects_total",
			Help: "Objects by kind, the two versions, and result: converted or failed.",
		}, []string{"kind", "from", "to", "result"})),
		refused: metrics.RegisterOrLog(registerer, log, prometheus.NewCounter(prometheus.CounterOpts{
			Name: "fairlead_conversion_refused_total",
			Help: "Requests that held no ConversionReview that could be read.",
		})),
	}
}

func (m conversionMetrics) of(kind, from, to string) counts {
	return counts{
		seconds:   m.seconds.WithLabelValues(kind, from, to),
		converted: m.objects.WithLabelValues(kind, from, to, resultConverted),
		failed:    m.objects.WithLabelValues(kind, from, to, resultFailed),
	}
}
