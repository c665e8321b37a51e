// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

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
