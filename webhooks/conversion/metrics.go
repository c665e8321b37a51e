// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package conversion

import (
	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/fairlead-dev/fairlead/webhooks/internal/meter"
)

// Values of the label result.
const (
	resultConverted = "converted"
	resultFailed    = "failed"
	resultPanic     = "panic"
)

// unknown labels objects whose kind or version is not registered; what a caller sends never
// becomes a label.
const unknown = "unknown"

type metrics struct {
	seconds *prometheus.HistogramVec
	objects *prometheus.CounterVec
	refused prometheus.Counter
}

func newMetrics(registerer prometheus.Registerer, log logr.Logger) metrics {
	return metrics{
		seconds: meter.Register(registerer, log, prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "fairlead_conversion_duration_seconds",
			Help:    "Time to convert one object, by kind and the two versions.",
			Buckets: meter.LatencyBuckets,
		}, []string{"kind", "from", "to"})),
		objects: meter.Register(registerer, log, prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "fairlead_conversion_objects_total",
			Help: "Objects by kind, the two versions, and result: converted, failed or panic.",
		}, []string{"kind", "from", "to", "result"})),
		refused: meter.Register(registerer, log, prometheus.NewCounter(prometheus.CounterOpts{
			Name: "fairlead_conversion_refused_total",
			Help: "Requests that held no ConversionReview that could be read.",
		})),
	}
}

func (m metrics) of(kind, from, to string) counts {
	return counts{
		seconds:   m.seconds.WithLabelValues(kind, from, to),
		converted: m.objects.WithLabelValues(kind, from, to, resultConverted),
		failed:    m.objects.WithLabelValues(kind, from, to, resultFailed),
		panicked:  m.objects.WithLabelValues(kind, from, to, resultPanic),
	}
}
