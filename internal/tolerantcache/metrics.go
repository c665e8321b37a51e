// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package tolerantcache

import "github.com/prometheus/client_golang/prometheus"

// maxNamed bounds the objects that the metrics name. All are counted.
const maxNamed = 100

var _ prometheus.Collector = (*Undecodable)(nil)

// descriptions are those of the metrics of a Register.
type descriptions struct{ count, named *prometheus.Desc }

func newDescriptions() descriptions {
	return descriptions{
		count: prometheus.NewDesc("fairlead_undecodable_objects",
			"Stored objects that do not fit their type, by kind. They are left as they are until they are mended.", []string{"kind"}, nil),
		named: prometheus.NewDesc("fairlead_undecodable_object",
			"1 for each stored object that does not fit its type; at most 100 are named.", []string{"kind", "namespace", "name"}, nil),
	}
}

// Describe implements prometheus.Collector.
func (r *Undecodable) Describe(to chan<- *prometheus.Desc) {
	to <- r.descriptions.count
	to <- r.descriptions.named
}

// Collect implements prometheus.Collector.
func (r *Undecodable) Collect(to chan<- prometheus.Metric) {
	collect := func(desc *prometheus.Desc, value float64, labels ...string) {
		if metric, err := prometheus.NewConstMetric(desc, prometheus.GaugeValue, value, labels...); err == nil {
			to <- metric
		}
	}
	counts := map[string]int{}
	for i, entry := range r.Entries() {
		counts[entry.Kind.Kind]++
		if i < maxNamed {
			collect(r.descriptions.named, 1, entry.Kind.Kind, entry.Key.Namespace, entry.Key.Name)
		}
	}
	for kind, count := range counts {
		collect(r.descriptions.count, float64(count), kind)
	}
}
