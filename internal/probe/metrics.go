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

// Names of the metrics, each in full.
type Names struct {
	Results, Duration, Late, Suspect, Targets, InFlight string
}

// externalServiceNames returns the default.
func externalServiceNames() Names {
	return Names{
		Results:  "fairlead_externalservice_probe_total",
		Duration: "fairlead_externalservice_probe_duration_seconds",
		Late:     "fairlead_externalservice_probe_late_total",
		Suspect:  "fairlead_externalservice_probes_inconclusive",
		Targets:  "fairlead_externalservice_probe_targets",
		InFlight: "fairlead_externalservice_probes_in_flight",
	}
}

type metrics struct {
	collectors []prometheus.Collector
	total      [][]prometheus.Counter
	duration   []prometheus.Observer
	late       prometheus.Counter
	suspect    prometheus.Gauge
	targets    prometheus.Gauge
}

// newMetrics creates every series at once, so that a probe looks none up.
func newMetrics(names Names, lookup bool, inFlight func() float64) *metrics {
	total := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: names.Results,
		Help: "Health checks that ended, by type and result. Local counts checks that failed because of this process; they decide nothing.",
	}, []string{"type", "result"})
	duration := prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name:    names.Duration,
		Help:    "How long a health check took, from dial to verdict.",
		Buckets: []float64{.005, .025, .1, .5, 2, 10},
	}, []string{"type"})
	m := &metrics{
		late: prometheus.NewCounter(prometheus.CounterOpts{
			Name: names.Late,
			Help: "Health checks that started later than they were due, by more than 1s and more than a tenth of their interval.",
		}),
		suspect: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: names.Suspect,
			Help: "1 while so much fails at once that the fault is probably on this side, and health is frozen, otherwise 0.",
		}),
		targets: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: names.Targets,
			Help: "Addresses that are checked.",
		}),
	}
	flight := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: names.InFlight,
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
