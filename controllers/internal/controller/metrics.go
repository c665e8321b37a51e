// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"
)

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

// Table collects metrics from a row for each object of a kind, which is dropped with the object.
type Table[R any] struct {
	// Descs are those of all samples.
	Descs []*prometheus.Desc
	// New returns an empty row.
	New func() *R
	// Sample adds what a row has to some samples.
	Sample func(of types.NamespacedName, row *R, to *Samples)

	mu   sync.Mutex
	rows map[types.NamespacedName]*R
}

// Update changes the row of an object.
func (t *Table[R]) Update(of types.NamespacedName, change func(row *R)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.rows == nil {
		t.rows = map[types.NamespacedName]*R{}
	}
	if t.rows[of] == nil {
		t.rows[of] = t.New()
	}
	change(t.rows[of])
}

// Drop removes the row of an object.
func (t *Table[R]) Drop(of types.NamespacedName) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.rows, of)
}

// Len returns how many objects have a row.
func (t *Table[R]) Len() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.rows)
}

// Describe implements prometheus.Collector.
func (t *Table[R]) Describe(out chan<- *prometheus.Desc) {
	for _, desc := range t.Descs {
		out <- desc
	}
}

// Collect implements prometheus.Collector.
func (t *Table[R]) Collect(out chan<- prometheus.Metric) { t.samples().Send(out) }

func (t *Table[R]) samples() *Samples {
	t.mu.Lock()
	defer t.mu.Unlock()
	all := &Samples{}
	for of, row := range t.rows {
		t.Sample(of, row, all)
	}
	return all
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
