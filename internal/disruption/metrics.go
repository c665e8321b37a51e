// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package disruption

import "github.com/prometheus/client_golang/prometheus"

var (
	slotsDesc = prometheus.NewDesc("fairlead_disruption_slots",
		"Slots of rebootPolicies.maxRestarts that the restarts and kills of a namespace take.", []string{"namespace"}, nil)
	lapsedDesc = prometheus.NewDesc("fairlead_disruption_slots_lapsed",
		"Restarts and kills of a namespace that have lasted so long that they take no slot any more.", []string{"namespace"}, nil)
	limitDesc = prometheus.NewDesc("fairlead_disruption_slots_limit",
		"Slots that the cluster has, which is rebootPolicies.maxRestarts.", nil, nil)
	waitingDesc = prometheus.NewDesc("fairlead_disruption_waiting",
		"RebootPolicies and ChaosPods that wait for a slot, or for a workload that another object disrupts.", nil, nil)
)

var _ prometheus.Collector = (*Ledger)(nil)

// Describe implements prometheus.Collector.
func (l *Ledger) Describe(out chan<- *prometheus.Desc) {
	for _, desc := range []*prometheus.Desc{slotsDesc, lapsedDesc, limitDesc, waitingDesc} {
		out <- desc
	}
}

// Collect implements prometheus.Collector. A namespace has a row as long as it has claims.
func (l *Ledger) Collect(out chan<- prometheus.Metric) {
	s := l.Snapshot()
	for namespace, n := range s.Slots {
		out <- prometheus.MustNewConstMetric(slotsDesc, prometheus.GaugeValue, float64(n), namespace)
		out <- prometheus.MustNewConstMetric(lapsedDesc, prometheus.GaugeValue, float64(s.Lapsed[namespace]), namespace)
	}
	out <- prometheus.MustNewConstMetric(limitDesc, prometheus.GaugeValue, float64(s.MaxDisrupted))
	out <- prometheus.MustNewConstMetric(waitingDesc, prometheus.GaugeValue, float64(s.Waiting))
}
