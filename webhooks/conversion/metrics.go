// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package conversion

import (
	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/fairlead-dev/fairlead/internal/metrics"
	"github.com/fairlead-dev/fairlead/webhooks/conversion/hubspoke"
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

// restoreBuckets are in bytes; the last is what all annotations of an object may have together.
var restoreBuckets = []float64{512, 1 << 10, 2 << 10, 4 << 10, 16 << 10, 64 << 10, 256 << 10}

type conversionMetrics struct {
	seconds *prometheus.HistogramVec
	objects *prometheus.CounterVec
	restore *prometheus.HistogramVec
	dropped *prometheus.CounterVec
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
			Help: "Objects by kind, the two versions, and result: converted, failed or panic.",
		}, []string{"kind", "from", "to", "result"})),
		restore: metrics.RegisterOrLog(registerer, log, prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "fairlead_conversion_restore_annotation_bytes",
			Help:    "Size of the restore annotation of those converted objects that needed one, by kind and the two versions.",
			Buckets: restoreBuckets,
		}, []string{"kind", "from", "to"})),
		dropped: metrics.RegisterOrLog(registerer, log, prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "fairlead_conversion_restore_dropped_total",
			Help: "Converted objects of which some content found no room in the restore annotation, by kind and the two versions.",
		}, []string{"kind", "from", "to"})),
		refused: metrics.RegisterOrLog(registerer, log, prometheus.NewCounter(prometheus.CounterOpts{
			Name: "fairlead_conversion_refused_total",
			Help: "Requests that held no ConversionReview that could be read.",
		})),
	}
}

func (m conversionMetrics) of(kind, from, to string) counts {
	return counts{
		seconds:   m.seconds.WithLabelValues(kind, from, to),
		restore:   m.restore.WithLabelValues(kind, from, to),
		dropped:   m.dropped.WithLabelValues(kind, from, to),
		converted: m.objects.WithLabelValues(kind, from, to, resultConverted),
		failed:    m.objects.WithLabelValues(kind, from, to, resultFailed),
		panicked:  m.objects.WithLabelValues(kind, from, to, resultPanic),
	}
}

// done counts a converted object.
func (c counts) done(converted hubspoke.Converted) {
	c.converted.Inc()
	if converted.Saved > 0 {
		c.restore.Observe(float64(converted.Saved))
	}
	if converted.Dropped {
		c.dropped.Inc()
	}
}
