// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build nightly

package lifecycle

import (
	"fmt"
	"testing"
	"time"
)

func TestAStartWithFewObjectsIsShort(t *testing.T) {
	s := newSuite(t)
	namespace := s.NewNamespace()
	began := time.Now() // before the process: the times of /statusz begin a little later
	r := s.start()
	s.create(namespace, "one")
	status := r.reconciles()
	later := time.Since(began).Seconds() - status.Seconds
	after := map[string]float64{}
	for _, p := range status.Phases {
		after[p.Phase] = later + p.AfterSeconds + p.Seconds
	}
	s.Eventually(func() error {
		reconciles, err := r.metric(`controller_runtime_reconcile_total{controller="externalservice",result="success"}`)
		if err == nil && reconciles == 0 {
			err = fmt.Errorf("nothing has been reconciled")
		}
		return err
	})
	t.Logf("process start to webhook serving %.0f ms (target 150), CA published %.0f ms, caches synced %.0f ms, reconciling %.0f ms (target 500); resident %.0f MiB",
		1000*after["webhook-server"], 1000*after["ca-published"], 1000*after["caches"], 1000*after["reconcilers"],
		r.mustMetric("process_resident_memory_bytes")/(1<<20))
	if after["reconcilers"] > 30 { // to be slow is for the benchmarks to find
		t.Errorf("the start took %.1f s", after["reconcilers"])
	}
}
