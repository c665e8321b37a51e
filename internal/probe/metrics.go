// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// kinds returns the values of the label type, in the order of checkPlan.kindIndex.
func kinds() []string { return []string{"tcp", "http", "https", "grpc"} }

type metrics struct {
	collectors []prometheus.Collector
	total      [][]prometheus.Counter
	duration   []prometheus.Observer
	late       prometheus.Counter
	suspect    prometheus.Gauge
	targets    prometheus.Gauge
}

// newMetrics creates every series at once, so that a probe looks none up. Each has the kind of the objects as a label.
func newMetrics(kind string, lookup bool, inFlight func() float64) *metrics {
	of := prometheus.Labels{"kind": kind}
	total := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "fairlead_probe_results_total", ConstLabels: of,
		Help: "Health checks that ended, by type and result. Local counts those that failed for want of something in this process, and that decide nothing.",
	}, []string{"type", "result"})
	duration := prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "fairlead_probe_duration_seconds", ConstLabels: of,
		Help:    "How long a health check took, from dial to verdict.",
		Buckets: []float64{.005, .025, .1, .5, 2, 10},
	}, []string{"type"})
	m := &metrics{
		late: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "fairlead_probe_late_total", ConstLabels: of,
			Help: "Health checks that started later than they were due, by more than 1s and more than a tenth of their interval.",
		}),
		suspect: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "fairlead_probe_inconclusive", ConstLabels: of,
			Help: "1 while so much fails at once that the fault is probably on this side, and health is frozen, otherwise 0.",
		}),
		targets: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "fairlead_probe_targets", ConstLabels: of,
			Help: "Addresses and hosts that are checked, each port by itself.",
		}),
	}
	flight := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "fairlead_probe_in_flight", ConstLabels: of,
		Help: "Health checks under way.",
	}, inFlight)
	m.collectors = []prometheus.Collector{total, duration, m.late, m.suspect, m.targets, flight}
	for _, name := range kinds() {
		row := make([]prometheus.Counter, outcomes)
		for o := connected; o < outcomes; o++ {
			if o == unresolved && !lookup {
				continue
			}
			row[o] = total.WithLabelValues(name, o.reason())
		}
		m.total = append(m.total, row)
		m.duration = append(m.duration, duration.WithLabelValues(name))
	}
	return m
}

func (m *metrics) register(with prometheus.Registerer) error {
	for _, collector := range m.collectors {
		if err := with.Register(collector); err != nil {
			return fmt.Errorf("probing metrics: %w", err)
		}
	}
	return nil
}

func (m *metrics) observe(plan *checkPlan, result outcome, took time.Duration) {
	m.total[plan.kindIndex()][result].Inc()
	m.duration[plan.kindIndex()].Observe(took.Seconds())
}

func (m *metrics) setSuspect(suspect bool) {
	if suspect {
		m.suspect.Set(1)
		return
	}
	m.suspect.Set(0)
}

// kindIndex returns the index of a check's type in kinds.
func (plan *checkPlan) kindIndex() int {
	switch {
	case plan.GRPC != nil:
		return 3
	case plan.isHTTPS():
		return 2
	case plan.HTTPGet != nil:
		return 1
	}
	return 0
}
