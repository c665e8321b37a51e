// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package certs

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
)

func TestExpiriesAreThereWhileTheCertificateIs(t *testing.T) {
	registry := prometheus.NewRegistry()
	expiries, err := NewExpiries(registry)
	if err != nil {
		t.Fatal(err)
	}
	again, err := NewExpiries(registry)
	if err != nil {
		t.Fatal(err)
	}
	expiries.Set(ExpiryServing, time.Unix(100, 0))
	expiries.Set(ExpiryNext, time.Unix(200, 0))
	again.Set(ExpiryRoot, time.Unix(300, 0))
	again.Set(ExpiryNext, time.Time{})
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	for _, metric := range families[0].GetMetric() {
		got[metric.GetLabel()[0].GetValue()] = metric.GetGauge().GetValue()
	}
	if diff := cmp.Diff(map[string]float64{"serving": 100, "root": 300}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	taken := prometheus.NewRegistry()
	taken.MustRegister(prometheus.NewCounter(prometheus.CounterOpts{Name: families[0].GetName(), Help: "taken"}))
	if _, err := NewExpiries(taken); err == nil {
		t.Error("a name that is taken is accepted")
	}
}
