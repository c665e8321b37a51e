// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package resolution

import (
	"context"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/fairlead-dev/fairlead/internal/dns"
)

// metrics count lookups. A shared one is counted once.
type metrics struct {
	total   *prometheus.CounterVec
	seconds prometheus.Histogram
}

func newMetrics() metrics {
	m := metrics{
		total: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "fairlead_externalservice_resolve_total",
			Help: "Lookups of DNS names, by how they ended: Resolved where one family did.",
		}, []string{"result"}),
		seconds: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name:    "fairlead_externalservice_resolve_seconds",
			Help:    "How long lookups of DNS names took, all questions of a name together.",
			Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2, 4, 8, 16},
		}),
	}
	for _, result := range []dns.Outcome{dns.Resolved, dns.NXDomain, dns.ServFail, dns.Truncated, dns.AliasLoop, dns.Timeout, dns.Denied} {
		m.total.WithLabelValues(string(result))
	}
	return m
}

func (m metrics) register(with prometheus.Registerer) error {
	if with == nil {
		return nil
	}
	for _, collector := range []prometheus.Collector{m.total, m.seconds} {
		if err := with.Register(collector); err != nil {
			return fmt.Errorf("resolution metrics: %w", err)
		}
	}
	return nil
}

// measuredLookup is Lookup with metrics.
func (t *Tracker) measuredLookup(ctx context.Context, q query) dns.Answer {
	begin := time.Now()
	answer := t.options.Lookup(ctx, q.host, q.records)
	if ctx.Err() == nil {
		t.metrics.seconds.Observe(time.Since(begin).Seconds())
		t.metrics.total.WithLabelValues(string(answer.Outcome())).Inc()
	}
	return answer
}
