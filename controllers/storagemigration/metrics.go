// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package storagemigration

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
)

// result of looking at one object.
type result string

const (
	rewritten result = "rewritten"
	unchanged result = "unchanged" // stored as it should be already
	gone      result = "gone"      // deleted, or rewritten by another client, meanwhile
	failed    result = "failed"
)

type metrics struct {
	objects  *prometheus.CounterVec
	pending  *prometheus.GaugeVec
	complete *prometheus.GaugeVec
}

func newMetrics(registerer prometheus.Registerer) (metrics, error) {
	m := metrics{
		objects: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "fairlead_storage_migration_objects_total",
			Help: "Objects that the storage migration looked at, by kind and result: rewritten, unchanged, gone or failed.",
		}, []string{"kind", "result"}),
		pending: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "fairlead_storage_migration_pending_objects",
			Help: "Objects that the pass under way has not reached yet, by kind.",
		}, []string{"kind"}),
		complete: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "fairlead_storage_migration_complete",
			Help: "1 where every object of the kind is stored at the storage version, otherwise 0.",
		}, []string{"kind"}),
	}
	if registerer == nil {
		return m, nil
	}
	for _, collector := range []prometheus.Collector{m.objects, m.pending, m.complete} {
		if err := registerer.Register(collector); err != nil {
			return m, fmt.Errorf("metrics of the storage migration: %w", err)
		}
	}
	return m, nil
}

func (m metrics) completed(kind string, yes bool) {
	value := 0.0
	if yes {
		value = 1
	}
	m.complete.WithLabelValues(kind).Set(value)
}
