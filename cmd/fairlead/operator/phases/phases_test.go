// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package phases

import (
	"context"
	"encoding/json"
	"errors"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	clocktesting "k8s.io/utils/clock/testing"
)

type fixture struct {
	recorder *Recorder
	clock    *clocktesting.FakeClock
	registry *prometheus.Registry
	log      []string
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	f := &fixture{clock: clocktesting.NewFakeClock(time.Unix(1000, 0)), registry: prometheus.NewRegistry()}
	var err error
	f.recorder, err = New(Options{
		Logger:  funcr.New(func(_, line string) { f.log = append(f.log, line) }, funcr.Options{}),
		Metrics: f.registry, Version: "v1.2.3", Clock: f.clock,
	})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func (f *fixture) do(phase Phase, took time.Duration, err error) error {
	return f.recorder.Do(context.Background(), phase, func(context.Context) error {
		f.clock.Step(took)
		return err
	})
}

func TestEachPhaseIsALineAMetricAndARow(t *testing.T) {
	f := newFixture(t)
	f.clock.Step(time.Second)
	if err := f.do(Certificates, 250*time.Millisecond, nil); err != nil {
		t.Fatal(err)
	}
	if len(f.log) != 1 || !strings.Contains(f.log[0], `"phase"="certificates" "seconds"=0.25 "sinceStart"=1.25`) {
		t.Errorf("log: %q", f.log)
	}
	families, err := f.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	if len(families) != 1 || len(families[0].GetMetric()) != 1 || families[0].GetMetric()[0].GetGauge().GetValue() != 0.25 {
		t.Errorf("metrics: %v", families)
	}
	got := f.recorder.Status().Phases[1]
	want := PhaseStatus{Phase: Certificates, State: Done, AfterSeconds: 1, Seconds: 0.25}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestAFailedPhaseNamesItselfAndHasNoMetric(t *testing.T) {
	f := newFixture(t)
	cause := errors.New("no such secret")
	err := f.do(Certificates, time.Second, cause)
	if !errors.Is(err, cause) || err.Error() != "certificates: no such secret" {
		t.Errorf("error %q", err)
	}
	if families, _ := f.registry.Gather(); len(families) != 0 {
		t.Errorf("metrics: %v", families)
	}
	if got := f.recorder.Status().Phases[1]; got.State != Failed || got.Detail != "no such secret" {
		t.Errorf("row: %+v", got)
	}
}

func TestARunningPhaseShowsHowLongItWaitsAndForWhat(t *testing.T) {
	f := newFixture(t)
	err := f.recorder.Do(context.Background(), Caches, func(context.Context) error {
		defer f.recorder.Wait(Caches, "ExternalService")()
		f.recorder.Wait(Caches, "DaemonSet")()
		f.clock.Step(3 * time.Second)
		got := f.recorder.Status().Phases[4]
		want := PhaseStatus{Phase: Caches, State: Running, Seconds: 3, Detail: "waiting for ExternalService"}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := f.recorder.Status().Phases[4]; got.Detail != "" {
		t.Errorf("a phase that is done still waits: %q", got.Detail)
	}
}

func TestThePageIsATableOrJSON(t *testing.T) {
	f := newFixture(t)
	f.recorder.Skip(CAPublished, "cert-manager does")
	f.recorder.SetInfo("leader", func() string { return "none yet" })
	f.recorder.SetInfo("leader", func() string { return "another replica" }) // in its place
	if err := f.do(Certificates, time.Second, nil); err != nil {
		t.Fatal(err)
	}

	page := httptest.NewRecorder()
	f.recorder.ServeHTTP(page, httptest.NewRequest("GET", "/statusz", nil))
	want := strings.Join([]string{
		"fairlead v1.2.3, up 1s",
		"",
		"PHASE           STATE    AFTER  TOOK  DETAIL",
		"api-server      pending  -      -     ",
		"certificates    done     0s     1s    ",
		"webhook-server  pending  -      -     ",
		"ca-published    skipped  -      -     cert-manager does",
		"caches          pending  -      -     ",
		"election        pending  -      -     ",
		"reconcilers     pending  -      -     ",
		"",
		"leader  another replica",
		"",
	}, "\n")
	if diff := cmp.Diff(want, page.Body.String()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}

	for name, how := range map[string][2]string{
		"by query":                    {"/statusz?format=json", ""},
		"by header":                   {"/statusz", "application/json"},
		"the query outdoes a header":  {"/statusz?format=json", "text/html"},
		"header with several choices": {"/statusz", "text/html;q=0.5, application/json"},
	} {
		t.Run(name, func(t *testing.T) {
			request := httptest.NewRequest("GET", how[0], nil)
			request.Header.Set("Accept", how[1])
			page := httptest.NewRecorder()
			f.recorder.ServeHTTP(page, request)
			var got Status
			if err := json.Unmarshal(page.Body.Bytes(), &got); err != nil {
				t.Fatalf("%v: %s", err, page.Body)
			}
			if diff := cmp.Diff(f.recorder.Status(), got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestTwoRecordersInOneRegistryAreAnErrorNotAPanic(t *testing.T) {
	f := newFixture(t)
	if _, err := New(Options{Metrics: f.registry}); err == nil {
		t.Error("accepted")
	}
}
