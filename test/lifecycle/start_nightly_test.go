// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build nightly

package lifecycle

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
)

func TestTheStartShowsItsPhasesInOrderOnStatuszInTheLogAndInMetrics(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	r := s.start()
	shown := r.reconciles()

	var names []string
	var before float64
	for _, p := range shown.Phases {
		names = append(names, p.Phase)
		if p.State != "done" || p.Seconds < 0 || p.AfterSeconds < before {
			t.Errorf("phase %s is %s, began %.3f s after the start of the process and took %.3f s; the one before began after %.3f s",
				p.Phase, p.State, p.AfterSeconds, p.Seconds, before)
		}
		before = p.AfterSeconds
		if got := r.mustMetric(fmt.Sprintf("fairlead_startup_phase_seconds{phase=%q}", p.Phase)); got != p.Seconds {
			t.Errorf("phase %s took %v s by its metric and %v s by /statusz", p.Phase, got, p.Seconds)
		}
	}
	if !slices.Equal(names, phases) {
		t.Errorf("/statusz shows %v, want %v", names, phases)
	}
	var logged []string
	for _, line := range r.entries("start: phase done") {
		logged = append(logged, fmt.Sprint(line["phase"]))
		if _, ok := line["seconds"].(float64); !ok {
			t.Errorf("the log does not say how long a phase took: %v", line)
		}
	}
	if !slices.Equal(logged, phases) {
		t.Errorf("the log has the phases %v, want one line for each of %v", logged, phases)
	}
	for path, wanted := range map[string][]string{
		"/statusz": append([]string{"PHASE", "TOOK", "leader"}, phases...), "/healthz": {"ok"}, "/readyz": {"ok"},
	} {
		text, err := r.Probe(t.Context(), path)
		s.Must(err)
		s.Expect(text, wanted...)
	}
}

func TestACacheThatNeverFillsIsNamedAndFilledLater(t *testing.T) {
	t.Parallel()
	for kind, resource := range map[string]string{
		"RebootPolicy.autoreboot.fairlead.dev":    "/rebootpolicies",
		"ExternalService.networking.fairlead.dev": "/externalservices",
		"EndpointSlice.discovery.k8s.io":          "/endpointslices",
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			s := newSuite(t)
			g := s.newGateway()
			g.Hold(func(r *http.Request) bool { return strings.HasSuffix(r.URL.Path, resource) })
			// Long enough for the other kinds on a busy machine: the first that is late is named.
			r := s.launch("--kubeconfig="+g.Kubeconfig, "--set=controllers.cacheSyncTimeout=20s")
			r.late("caches", kind, "not synced within 20s", "controllers.cacheSyncTimeout")
			r.reaches("reconcilers", "done") // those of the other kinds
			g.Resume()
			r.whole()
		})
	}
}
