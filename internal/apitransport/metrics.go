// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package apitransport

import (
	"fmt"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Metrics of all transports of a process.
type Metrics struct {
	replaced, foreign prometheus.Counter
	ended             *prometheus.CounterVec
	age               *prometheus.Desc

	mu      sync.Mutex // guards what follows
	watches map[*watchBody]struct{}
}

var _ prometheus.Collector = (*Metrics)(nil)

// NewMetrics returns metrics for Options.Metrics, which the caller registers.
func NewMetrics() *Metrics {
	return &Metrics{
		replaced: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "fairlead_apiserver_connections_replaced_total",
			Help: "How often requests to the API server were sent over a new connection, since one had waited too long for its response.",
		}),
		foreign: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "fairlead_apiserver_foreign_responses_total",
			Help: "How many responses 404 were not the API server's, but of a proxy or a load balancer in front of it. They count as errors.",
		}),
		ended: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "fairlead_apiserver_silent_watches_total",
			Help: "How many watches of a resource were started again because nothing had arrived on them.",
		}, []string{"resource"}),
		age: prometheus.NewDesc("fairlead_apiserver_watch_silence_seconds",
			"How long ago something arrived on the watch of a resource that has been silent longest. The API server sends a bookmark each minute.",
			[]string{"resource"}, nil),
		watches: map[*watchBody]struct{}{},
	}
}

// Describe implements prometheus.Collector.
func (m *Metrics) Describe(to chan<- *prometheus.Desc) {
	m.replaced.Describe(to)
	m.foreign.Describe(to)
	m.ended.Describe(to)
	to <- m.age
}

// Collect implements prometheus.Collector.
func (m *Metrics) Collect(to chan<- prometheus.Metric) {
	m.replaced.Collect(to)
	m.foreign.Collect(to)
	m.ended.Collect(to)
	for resource, age := range m.ages() {
		to <- prometheus.MustNewConstMetric(m.age, prometheus.GaugeValue, age.Seconds(), resource)
	}
}

func (m *Metrics) open(b *watchBody) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.watches[b] = struct{}{}
}

func (m *Metrics) close(b *watchBody) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.watches, b)
}

// ages are the greatest ones of the open watches of each resource.
func (m *Metrics) ages() map[string]time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	ages := map[string]time.Duration{}
	for b := range m.watches {
		ages[b.resource] = max(ages[b.resource], b.age())
	}
	return ages
}

// silent returns a message about the watch on which nothing has arrived for the longest time, if that is above the threshold;
// otherwise "".
func (m *Metrics) silent(threshold time.Duration) string {
	longest := ""
	ages := m.ages()
	for resource, age := range ages {
		if age > threshold && (longest == "" || age > ages[longest]) {
			longest = resource
		}
	}
	if longest == "" {
		return ""
	}
	return fmt.Sprintf("nothing has arrived on the watch of %s for %s", longest, ages[longest].Round(time.Second))
}
