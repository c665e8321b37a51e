// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build nightly

package lifecycle

import (
	"fmt"
	"testing"
	"time"
)

// Any pod reaches the port. Connections that send nothing keep neither a user from an apply nor the kubelet from the probes.
func TestConnectionsToTheWebhookPortThatSendNothingDelayNobody(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	r := s.start()
	r.reconciles()
	s.Eventually(r.scrapable)
	before := r.mustMetric("process_resident_memory_bytes")
	s.halfOpen(r.Webhook, 3000)
	namespace := s.NewNamespace()
	var slowestApply, slowestProbe time.Duration
	for i := range 20 {
		began := time.Now()
		s.create(namespace, fmt.Sprintf("db-%d", i))
		slowestApply = max(slowestApply, time.Since(began))
		began = time.Now()
		if _, err := r.Probe(s.Context(), "/readyz"); err != nil {
			t.Errorf("the kubelet, with object %d: %v", i, err)
		}
		slowestProbe = max(slowestProbe, time.Since(began))
	}
	s.reconciled(namespace, "db-19")
	grown := r.mustMetric("process_resident_memory_bytes") - before
	t.Logf("an apply within %s, /readyz within %s, %.0f MiB more", slowestApply, slowestProbe, grown/(1<<20))
	if slowestApply > 5*time.Second { // as long as the API server waits for a webhook
		t.Errorf("an apply took %s", slowestApply)
	}
	if slowestProbe > time.Second { // as long as the kubelet waits
		t.Errorf("/readyz took %s", slowestProbe)
	}
	if grown > 128<<20 {
		t.Errorf("%.0f MiB more", grown/(1<<20))
	}
	if state, err := r.status(); err != nil || !state.leads() {
		t.Errorf("it leads no more: %v", err)
	}
}
