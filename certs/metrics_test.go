// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package certs

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
)

func TestSourcesShareTheMetricsOfOneRegistry(t *testing.T) {
	registry := prometheus.NewRegistry()
	for range 2 {
		metrics, err := NewMetrics(registry)
		if err != nil {
			t.Fatal(err)
		}
		metrics.CountReload(ReloadChanged)
		metrics.SetExpiry(ExpiryServing, time.Unix(100, 0))
		metrics.SetExpiry(ExpiryRoot, time.Unix(300, 0))
		metrics.SetExpiry(ExpiryNext, time.Unix(200, 0))
		metrics.SetExpiry(ExpiryNext, time.Time{}) // the rotation has ended
	}
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			got[family.GetName()+" "+metric.GetLabel()[0].GetValue()] = metric.GetGauge().GetValue() + metric.GetCounter().GetValue()
		}
	}
	want := map[string]float64{
		"fairlead_certificate_expiry_timestamp_seconds serving": 100,
		"fairlead_certificate_expiry_timestamp_seconds root":    300,
		"fairlead_certificate_reloads_total changed":            2,
		"fairlead_certificate_reloads_total failed":             0,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestAMetricWhoseNameIsTakenIsAnError(t *testing.T) {
	for _, name := range []string{"fairlead_certificate_expiry_timestamp_seconds", "fairlead_certificate_reloads_total"} {
		registry := prometheus.NewRegistry()
		registry.MustRegister(prometheus.NewSummary(prometheus.SummaryOpts{Name: name, Help: "taken"}))
		if _, err := NewMetrics(registry); err == nil {
			t.Errorf("%s is taken, and accepted", name)
		}
	}
}
