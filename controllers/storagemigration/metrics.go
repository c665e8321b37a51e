// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package storagemigration

import (
	"errors"

	"github.com/prometheus/client_golang/prometheus"

	ownmetrics "github.com/fairlead-dev/fairlead/internal/metrics"
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

func newMetrics(registerer prometheus.Registerer) (m metrics, err error) {
	var errs [3]error
	m.objects, errs[0] = ownmetrics.Counter(registerer, "fairlead_storage_migration_objects_total",
		"Objects that the storage migration looked at, by kind and result: rewritten, unchanged, gone or failed.", "kind", "result")
	m.pending, errs[1] = ownmetrics.Gauge(registerer, "fairlead_storage_migration_pending_objects",
		"Objects that the pass under way has not reached yet, by kind.", "kind")
	m.complete, errs[2] = ownmetrics.Gauge(registerer, "fairlead_storage_migration_complete",
		"1 where every object of the kind is stored at the storage version, otherwise 0.", "kind")
	return m, errors.Join(errs[:]...)
}

func (m metrics) completed(kind string, yes bool) {
	value := 0.0
	if yes {
		value = 1
	}
	m.complete.WithLabelValues(kind).Set(value)
}
