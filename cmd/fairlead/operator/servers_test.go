// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"testing"

	"k8s.io/client-go/util/workqueue"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"
)

// The queue is one that controller-runtime counts: that the vector is found depends on its name, help
// and labels, which are not promised.
func TestTheDepthOfAQueueThatHasEndedIsForgotten(t *testing.T) {
	queue := workqueue.NewTypedRateLimitingQueueWithConfig(workqueue.DefaultTypedControllerRateLimiter[string](),
		workqueue.TypedRateLimitingQueueConfig[string]{Name: "depth-test"})
	queue.Add("one")
	queue.ShutDown()
	depth := func() int {
		t.Helper()
		families, err := ctrlmetrics.Registry.Gather()
		if err != nil {
			t.Fatal(err)
		}
		series := 0
		for _, family := range families {
			for _, metric := range family.GetMetric() {
				if family.GetName() == "workqueue_depth" && metric.GetLabel()[1].GetValue() == "depth-test" {
					series++
				}
			}
		}
		return series
	}
	if depth() != 1 {
		t.Fatalf("%d series of the queue", depth())
	}
	deleteQueueDepth(ctrlmetrics.Registry, "another")
	if depth() != 1 {
		t.Error("another queue's series has gone")
	}
	deleteQueueDepth(ctrlmetrics.Registry, "depth-test")
	if depth() != 0 {
		t.Error("the series is still there")
	}
}
