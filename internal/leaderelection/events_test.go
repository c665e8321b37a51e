// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package leaderelection

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/prometheus/client_golang/prometheus"
	coordinationv1 "k8s.io/api/coordination/v1"
)

func TestAnnouncementsAndMetricsSayWhoLeads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, registry := &server{}, prometheus.NewRegistry()
		notes := make(chan string, 2)
		o := options(s, "a")
		o.Metrics = registry
		o.Announce = func(_ context.Context, lease *coordinationv1.Lease, reason, note string) {
			notes <- lease.Name + " " + reason + ": " + note
		}
		r := start(t, o)
		leads(t, r)
		if note := <-notes; note != "fairlead-manager LeaderElected: a leads" {
			t.Errorf("announced %q", note)
		}
		synctest.Wait()
		for _, name := range []string{"fairlead_leader", "fairlead_leader_transitions_total"} {
			if got := value(t, registry, name); got != 1 {
				t.Errorf("%s %v", name, got)
			}
		}
		r.stop()
		if err := finish(t, r, nil); err != nil {
			t.Fatal(err)
		}
		if note := <-notes; note != "fairlead-manager LeaderStopped: a stopped leading" {
			t.Errorf("announced %q", note)
		}
		if got := value(t, registry, "fairlead_leader"); got != 0 {
			t.Errorf("fairlead_leader %v", got)
		}
	})
}

func value(t *testing.T, registry *prometheus.Registry, name string) float64 {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		if family.GetName() == name {
			metric := family.GetMetric()[0]
			return metric.GetGauge().GetValue() + metric.GetCounter().GetValue()
		}
	}
	t.Fatalf("no metric %s", name)
	return 0
}
