// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import "github.com/prometheus/client_golang/prometheus"

// bounds are the upper ends of the buckets, in seconds: from a single pod to a slow StatefulSet.
func bounds() []float64 { return []float64{10, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200} }

// Histogram counts spans of time. Its zero value is ready for use.
type Histogram struct {
	Count uint64
	Sum   float64
	// within counts those of each bucket that no smaller one holds.
	within []uint64
}

// Observe counts a span of time in seconds.
func (h *Histogram) Observe(seconds float64) {
	all := bounds()
	if h.within == nil {
		h.within = make([]uint64, len(all))
	}
	h.Count++
	h.Sum += seconds
	for i, bound := range all {
		if seconds <= bound {
			h.within[i]++
			return
		}
	}
}

// Cumulative are the counts as Prometheus wants them: each bucket holds the smaller ones.
func (h *Histogram) Cumulative() map[float64]uint64 {
	out := make(map[float64]uint64, len(h.within))
	total := uint64(0)
	for i, bound := range bounds() {
		if i < len(h.within) {
			total += h.within[i]
		}
		out[bound] = total
	}
	return out
}

// Samples gathers what a collector sends for many objects while it holds its lock: a slow reader of metrics
// must not hold the lock that reconcilers need.
type Samples []prometheus.Metric

// Add adds a value.
func (s *Samples) Add(desc *prometheus.Desc, kind prometheus.ValueType, value float64, labels ...string) {
	s.add(prometheus.NewConstMetric(desc, kind, value, labels...))
}

// AddHistogram adds a histogram that has counted anything.
func (s *Samples) AddHistogram(desc *prometheus.Desc, h *Histogram, labels ...string) {
	if h.Count > 0 {
		s.add(prometheus.NewConstHistogram(desc, h.Count, h.Sum, h.Cumulative(), labels...))
	}
}

func (s *Samples) add(metric prometheus.Metric, err error) {
	if err == nil {
		*s = append(*s, metric)
	}
}

// Send sends all samples.
func (s *Samples) Send(out chan<- prometheus.Metric) {
	for _, metric := range *s {
		out <- metric
	}
}
