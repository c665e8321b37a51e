// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"errors"

	"github.com/prometheus/client_golang/prometheus"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"
)

// forgetDepth takes away what workqueue_depth says of queues that have ended. controller-runtime counts
// up and down in one gauge for all queues of a name: what was queued when a term ended would be added
// to the depth of every later one.
func forgetDepth(in prometheus.Registerer, queues ...string) {
	// The vector is controller-runtime's own, and who registers its like is given it.
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
