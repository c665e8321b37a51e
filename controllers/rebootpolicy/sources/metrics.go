// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package sources

import (
	"github.com/prometheus/client_golang/prometheus"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
)

// metrics never have the name of a source, nor of an owner.
type metrics struct {
	objects *prometheus.Desc
	reads   *prometheus.CounterVec
	count   func() map[autorebootv1.SourceKind]int
}

var _ prometheus.Collector = (*metrics)(nil)

func newMetrics(count func() map[autorebootv1.SourceKind]int) *metrics {
	return &metrics{
		count: count,
		objects: prometheus.NewDesc("fairlead_rebootpolicy_sources",
			"Sources that are observed, each once.", []string{"kind"}, nil),
		reads: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "fairlead_rebootpolicy_source_reads_total",
			Help: "Live reads of ConfigMaps and Secrets by result: Found, NotFound, Forbidden or Error.",
		}, []string{"kind", "result"}),
	}
}

func (m *metrics) read(kind autorebootv1.SourceKind, err error) {
	result := "Error"
	switch {
	case err == nil:
		result = "Found"
	case apierrors.IsNotFound(err):
		result = "NotFound"
	case apierrors.IsForbidden(err):
		result = "Forbidden"
	}
	m.reads.WithLabelValues(string(kind), result).Inc()
}

// Describe sends what Collect may.
func (m *metrics) Describe(out chan<- *prometheus.Desc) {
	out <- m.objects
	m.reads.Describe(out)
}

// Collect counts.
func (m *metrics) Collect(out chan<- prometheus.Metric) {
	for kind, n := range m.count() {
		if metric, err := prometheus.NewConstMetric(m.objects, prometheus.GaugeValue, float64(n), string(kind)); err == nil {
			out <- metric
		}
	}
	m.reads.Collect(out)
}
