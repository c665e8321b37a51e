// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package shard

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
)

// Status returns what the shard has, for /statusz.
func (s *Shard) Status() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	counts := map[phase]int{}
	var others []string
	for name, e := range s.entries {
		counts[e.phase]++
		if e.holder != "" {
			others = append(others, fmt.Sprintf("%s has %s", e.holder, name))
		}
	}
	text := fmt.Sprintf("%s: namespaces with %s; ", s.options.Name, s.options.Selector)
	var parts []string
	for _, p := range slices.Sorted(maps.Keys(counts)) {
		parts = append(parts, fmt.Sprintf("%d %s", counts[p], p))
	}
	if len(parts) == 0 {
		parts = []string{"none"}
	}
	text += strings.Join(parts, ", ")
	if slices.Sort(others); len(others) > 0 {
		text += ": " + strings.Join(others[:min(len(others), 10)], ", ")
	}
	return text
}

var namespacesDesc = prometheus.NewDesc("fairlead_shard_namespaces",
	"Namespaces of the shard: owned are reconciled, waiting are claimed by another shard, or this replica does not lead.", []string{"shard", "phase"}, nil)

// Describe is part of prometheus.Collector.
func (s *Shard) Describe(to chan<- *prometheus.Desc) { to <- namespacesDesc }

// Collect is part of prometheus.Collector.
func (s *Shard) Collect(to chan<- prometheus.Metric) {
	counts := map[phase]int{arriving: 0, waiting: 0, owned: 0, leaving: 0}
	s.mu.Lock()
	for _, e := range s.entries {
		counts[e.phase]++
	}
	s.mu.Unlock()
	for p, count := range counts {
		to <- prometheus.MustNewConstMetric(namespacesDesc, prometheus.GaugeValue, float64(count), s.options.Name, string(p))
	}
}
