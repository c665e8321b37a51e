// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package leaderelection

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
)

type metrics struct {
	leader      prometheus.Gauge
	transitions prometheus.Counter
}

func newMetrics() metrics {
	return metrics{
		leader: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "fairlead_leader",
			Help: "1 while this replica leads and reconciles, otherwise 0.",
		}),
		transitions: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "fairlead_leader_transitions_total",
			Help: "How often this replica saw a new leader, itself included.",
		}),
	}
}

func (m metrics) register(with prometheus.Registerer) error {
	for _, collector := range []prometheus.Collector{m.leader, m.transitions} {
		if err := with.Register(collector); err != nil {
			return fmt.Errorf("election metrics: %w", err)
		}
	}
	return nil
}

func (m metrics) leading(yes bool) {
	if yes {
		m.leader.Set(1)
		return
	}
	m.leader.Set(0)
}
