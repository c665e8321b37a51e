// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"encoding/json"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	clocktesting "k8s.io/utils/clock/testing"
)

type startFixture struct {
	*startup
	clock    *clocktesting.FakeClock
	registry *prometheus.Registry
	log      []string
}

func newStartFixture(t *testing.T) *startFixture {
	t.Helper()
	f := &startFixture{clock: clocktesting.NewFakeClock(time.Unix(1000, 0)), registry: prometheus.NewRegistry()}
	logger := funcr.New(func(_, line string) { f.log = append(f.log, line) }, funcr.Options{})
	var err error
	if f.startup, err = newStartup(&assembly{logger: logger, version: "v1.2.3", clock: f.clock, metrics: f.registry}); err != nil {
		t.Fatal(err)
	}
	return f
}

func (f *startFixture) do(phase string, took time.Duration) {
	done := f.begin(phase)
	f.clock.Step(took)
	done()
}

func TestEachPhaseIsALineAMetricAndARow(t *testing.T) {
	f := newStartFixture(t)
	f.clock.Step(time.Second)
	f.do(phaseCertificates, 250*time.Millisecond)
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
	want := phaseStatus{Phase: phaseCertificates, State: stateDone, AfterSeconds: 1, Seconds: 0.25}
	if diff := cmp.Diff(want, f.status().Phases[1]); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestARunningPhaseShowsHowLongItWaitsAndForWhat(t *testing.T) {
	f := newStartFixture(t)
	done := f.begin(phaseCaches)
	filled := f.wait(phaseCaches, "ExternalService")
	f.wait(phaseCaches, "DaemonSet")()
	f.clock.Step(3 * time.Second)
	want := phaseStatus{Phase: phaseCaches, State: stateRunning, Seconds: 3, Detail: "waiting for ExternalService"}
	if diff := cmp.Diff(want, f.status().Phases[4]); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	filled()
	f.progress(phaseCaches, "Service: 500 objects so far")
	if got := f.status().Phases[4].Detail; got != "Service: 500 objects so far" {
		t.Errorf("detail %q", got)
	}
	done()
	if got := f.status().Phases[4]; got.Detail != "" {
		t.Errorf("a phase that is done still waits: %q", got.Detail)
	}
}

func TestThePageIsATableOrJSON(t *testing.T) {
	f := newStartFixture(t)
	f.skip("cert-manager does", phaseCAPublished)
	f.setInfo("leader", func() string { return "none yet" })
	f.setInfo("leader", func() string { return "another replica" }) // in its place
	f.do(phaseCertificates, time.Second)

	page := httptest.NewRecorder()
	f.ServeHTTP(page, httptest.NewRequest("GET", "/statusz", nil))
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

	page = httptest.NewRecorder()
	f.ServeHTTP(page, httptest.NewRequest("GET", "/statusz?format=json", nil))
	var got startStatus
	if err := json.Unmarshal(page.Body.Bytes(), &got); err != nil {
		t.Fatalf("%v: %s", err, page.Body)
	}
	if diff := cmp.Diff(f.status(), got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestWithoutWebhooksAReplicaIsReadyWhenItCouldTakeOver(t *testing.T) {
	f := newStartFixture(t)
	expect := func(when, wanted string) {
		t.Helper()
		err := f.leadable()
		if wanted == "" && err != nil || wanted != "" && (err == nil || !strings.Contains(err.Error(), wanted)) {
			t.Errorf("%s: %v, want %q", when, err, wanted)
		}
	}
	expect("at first", "api-server is pending")
	f.do(phaseAPIServer, 0)
	f.skip("other replicas serve webhooks", phaseCertificates, phaseWebhookServer, phaseCAPublished)
	filled := f.begin(phaseCaches)
	waited := f.wait(phaseCaches, "Service")
	expect("while caches fill", "caches is running: waiting for Service")
	waited()
	filled()
	expect("before the election", "election is pending")
	elected := f.begin(phaseElection)
	expect("as a standby", "")
	elected()
	f.begin(phaseReconcilers)
	expect("as the leader", "")
}
