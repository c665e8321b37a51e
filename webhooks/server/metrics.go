// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/fairlead-dev/fairlead/internal/metrics"
)

type serverMetrics struct {
	ready             prometheus.Gauge
	expiry            prometheus.Gauge
	inFlight          *prometheus.GaugeVec
	requests          *prometheus.CounterVec
	seconds           *prometheus.HistogramVec
	panics            *prometheus.CounterVec
	handshakeFailures prometheus.Counter
	selfCheckFailures prometheus.Counter
	refusedCallers    *prometheus.CounterVec
	evicted           prometheus.Counter
}

func newMetrics(registerer prometheus.Registerer, log logr.Logger) serverMetrics {
	return serverMetrics{
		ready: metrics.RegisterOrLog(registerer, log, prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "fairlead_webhook_ready",
			Help: "1 while the server listens with a valid certificate that it verified by a handshake with itself.",
		})),
		expiry: metrics.RegisterOrLog(registerer, log, prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "fairlead_webhook_certificate_expiry_timestamp_seconds",
			Help: "When the serving certificate expires, in seconds since 1970.",
		})),
		inFlight: metrics.RegisterOrLog(registerer, log, prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "fairlead_webhook_requests_in_flight",
			Help: "Requests being answered or waiting for their turn, by path.",
		}, []string{"path"})),
		requests: metrics.RegisterOrLog(registerer, log, prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "fairlead_webhook_requests_total",
			Help: "Requests by path and HTTP code.",
		}, []string{"path", "code"})),
		seconds: metrics.RegisterOrLog(registerer, log, prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "fairlead_webhook_request_duration_seconds",
			Help:    "Time to answer a request, by path.",
			Buckets: metrics.LatencyBuckets,
		}, []string{"path"})),
		panics: metrics.RegisterOrLog(registerer, log, prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "fairlead_webhook_panics_total",
			Help: "Panics that reached the server, by path.",
		}, []string{"path"})),
		handshakeFailures: metrics.RegisterOrLog(registerer, log, prometheus.NewCounter(prometheus.CounterOpts{
			Name: "fairlead_webhook_tls_handshake_failures_total",
			Help: "TLS handshakes that clients did not complete.",
		})),
		refusedCallers: metrics.RegisterOrLog(registerer, log, prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "fairlead_webhook_refused_callers_total",
			Help: "Handshakes and requests refused for the caller's certificate, by reason: none, expired, untrusted or name.",
		}, []string{"reason"})),
		selfCheckFailures: metrics.RegisterOrLog(registerer, log, prometheus.NewCounter(prometheus.CounterOpts{
			Name: "fairlead_webhook_self_check_failures_total",
			Help: "Requests of the server to itself that failed.",
		})),
		evicted: metrics.RegisterOrLog(registerer, log, prometheus.NewCounter(prometheus.CounterOpts{
			Name: "fairlead_webhook_evicted_connections_total",
			Help: "Connections closed for keeping the server waiting while it had no room for another one.",
		})),
	}
}
