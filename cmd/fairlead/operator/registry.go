// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"errors"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"
)

// swappableRegistry exposes the metrics of the current term. Each term has a registry of its own, since a metric
// that stays registered would collide with that of the next term, and keep what it was made from.
type swappableRegistry struct {
	current atomic.Pointer[prometheus.Registry]
}

var _ prometheus.Collector = (*swappableRegistry)(nil)

// set replaces the registry; nil exposes nothing.
func (e *swappableRegistry) set(r *prometheus.Registry) { e.current.Store(r) }

// Describe sends nothing: what is collected changes.
func (e *swappableRegistry) Describe(chan<- *prometheus.Desc) {}

// Collect collects what the registry does.
func (e *swappableRegistry) Collect(metrics chan<- prometheus.Metric) {
	if r := e.current.Load(); r != nil {
		r.Collect(metrics)
	}
}

// deleteQueueDepth deletes the series of workqueue_depth of queues that have ended. controller-runtime counts
// up and down in one gauge for all queues of a name: what was queued when a term ended would be added
// to the depth of every later one.
func deleteQueueDepth(in prometheus.Registerer, queues ...string) {
	// The vector belongs to controller-runtime; to register an equal one returns it in the error.
	like := prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Subsystem: ctrlmetrics.WorkQueueSubsystem, Name: ctrlmetrics.DepthKey,
		Help: "Current depth of workqueue by workqueue and priority",
	}, []string{"name", "controller", "priority"})
	err := in.Register(like)
	if err == nil { // it is not there, and need not be
		in.Unregister(like)
		return
	}
	var there prometheus.AlreadyRegisteredError
	if !errors.As(err, &there) {
		return
	}
	if depth, ok := there.ExistingCollector.(*prometheus.GaugeVec); ok {
		for _, name := range queues {
			depth.DeletePartialMatch(prometheus.Labels{"name": name})
		}
	}
}
