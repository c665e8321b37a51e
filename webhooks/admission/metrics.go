// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"net/http"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	admissionv1 "k8s.io/api/admission/v1"
	stock "sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/fairlead-dev/fairlead/internal/metrics"
)

// Values of the label result.
const (
	resultAllowed = "allowed"
	resultPatched = "patched"
	resultDenied  = "denied"  // a rule refused the object
	resultError   = "error"   // the review is of another kind, or a function failed
	resultPanic   = "panic"   // a function panicked
	resultRefused = "refused" // the body is no review
)

// resultOf returns the result of a review that was decided without a panic.
func resultOf(resp stock.Response) string {
	switch {
	case resp.Allowed && resp.Patch != nil:
		return resultPatched
	case resp.Allowed:
		return resultAllowed
	case slices.Contains([]int32{http.StatusBadRequest, http.StatusInternalServerError, http.StatusGatewayTimeout}, resp.Result.Code):
		return resultError
	}
	return resultDenied
}

type admissionMetrics struct {
	webhook, kind string
	requests      *prometheus.CounterVec
	seconds       *prometheus.HistogramVec
}

func newMetrics(o Options, webhook string) admissionMetrics {
	return admissionMetrics{
		webhook: webhook,
		kind:    o.Kind.Kind,
		requests: metrics.RegisterOrLog(o.Registerer, o.Logger, prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "fairlead_admission_requests_total",
			Help: "Admission requests by webhook (mutating or validating), kind, operation and result.",
		}, []string{"webhook", "kind", "operation", "result"})),
		seconds: metrics.RegisterOrLog(o.Registerer, o.Logger, prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "fairlead_admission_duration_seconds",
			Help:    "Time to answer an admission request, by webhook (mutating or validating), kind and operation.",
			Buckets: metrics.LatencyBuckets,
		}, []string{"webhook", "kind", "operation"})),
	}
}

func (m admissionMetrics) observe(operation admissionv1.Operation, result string, took time.Duration) {
	op := string(operation)
	switch operation {
	case admissionv1.Create, admissionv1.Update, admissionv1.Delete, admissionv1.Connect:
	default:
		op = "unknown" // a caller cannot create series
	}
	m.requests.WithLabelValues(m.webhook, m.kind, op, result).Inc()
	m.seconds.WithLabelValues(m.webhook, m.kind, op).Observe(took.Seconds())
}
