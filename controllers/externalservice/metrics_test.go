// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package externalservice

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/fairlead-dev/fairlead/internal/egress"
)

func TestMetricsSayWhatIsKnownAndForgetWhatIsGone(t *testing.T) {
	const spec = `{ports: [{name: sql, port: 5432}], healthCheck: {tcpSocket: {}}, endpoints: [{name: a, addresses: [192.0.2.1, 192.0.2.2, 10.0.0.1]}, {name: b, priority: 1, dns: {name: db.example.com}}]}`
	s := newSuite(t, spec)
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(s.metrics)
	s.policy["10.0.0.1"] = egress.ReasonPod
	s.names.answers["db.example.com"] = []string{"198.51.100.1"}
	s.reconcileOnce()
	s.health.setHealth("a", "192.0.2.1", up)
	s.health.setHealth("a", "192.0.2.2", down)
	s.health.setHealth("b", "198.51.100.1", up)
	s.reconcileOnce()
	s.health.setHealth("a", "192.0.2.1", down)
	s.reconcileOnce()
	s.reconcileUnchanged("nothing new")
	s.advance(90 * time.Second)
	const object = "name=db namespace=shop"
	want := []string{
		"active_priority{" + object + "} 1",
		"addresses{" + object + " state=Denied} 1",
		"addresses{" + object + " state=Healthy} 1",
		"addresses{" + object + " state=LeftOut} 0",
		"addresses{" + object + " state=Published} 1",
		"addresses{" + object + " state=Unhealthy} 2",
		"addresses{" + object + " state=Unknown} 0",
		"denied_addresses_total{reason=Pod} 1",
		"endpoint_healthy{endpoint=a " + object + "} 0",
		"endpoint_healthy{endpoint=b " + object + "} 1",
		"failovers_total{" + object + "} 1",
		"resolve_age_seconds{endpoint=b " + object + "} 90",
	}
	if diff := cmp.Diff(want, gathered(t, registry)); diff != "" {
		t.Errorf("metrics (-want +got):\n%s", diff)
	}
	s.DrainPeriod = 0
	s.must(s.store.Delete(t.Context(), s.object()))
	s.reconcileOnce()
	s.reconcileOnce()
	if got := gathered(t, registry); len(got) != 1 { // the denials, which belong to no object
		t.Errorf("left are %q", got)
	}
}

// gathered are the metrics as lines, sorted.
func gathered(t *testing.T, registry prometheus.Gatherer) []string {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			var labels []string
			for _, label := range metric.GetLabel() {
				labels = append(labels, label.GetName()+"="+label.GetValue())
			}
			value := metric.GetGauge().GetValue() + metric.GetCounter().GetValue()
			name := strings.TrimPrefix(family.GetName(), "fairlead_externalservice_")
			lines = append(lines, fmt.Sprintf("%s{%s} %v", name, strings.Join(labels, " "), value))
		}
	}
	slices.Sort(lines)
	return lines
}
