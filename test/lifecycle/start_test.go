// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
)

// phases of the start, in the order that cannot deadlock.
var phases = []string{
	"api-server", "certificates", "webhook-server", "ca-published", "caches", "election", "reconcilers",
}

func TestMetricsAreForThoseWhomTheAPIServerAuthorizes(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	r := s.start()
	s.Eventually(r.scrapable)
	for name, test := range map[string]struct {
		token string
		codes []int
	}{
		"anonymous": {"", []int{http.StatusUnauthorized}},
		// controller-runtime's filter returns 500 if a TokenReview says why it refuses.
		"a token that is none":     {"forged", []int{http.StatusUnauthorized, http.StatusInternalServerError}},
		"an account without roles": {s.token("passer-by", ""), []int{http.StatusForbidden}},
		"a scraper":                {s.scraper(), []int{http.StatusOK}},
	} {
		t.Run(name, func(t *testing.T) {
			code, body, err := r.scrape("/metrics", test.token)
			if err != nil || !slices.Contains(test.codes, code) {
				t.Fatalf("answered %d, %v; want %v", code, err, test.codes)
			}
			if shows := strings.Contains(body, "fairlead_"); shows != (code == http.StatusOK) {
				t.Errorf("with code %d the body is %.200s", code, body)
			}
		})
	}
	plain, err := http.Get(strings.Replace(r.Metrics, "https:", "http:", 1) + "/metrics")
	s.Must(err)
	s.Must(plain.Body.Close())
	if plain.StatusCode != http.StatusBadRequest {
		t.Errorf("without TLS metrics are answered %s", plain.Status)
	}
}

// What controller-runtime calls ready waits for nothing, and what waits for caches deadlocks with
// them; here the webhooks of a replica answer while its own caches wait for the API server.
func TestWebhooksAnswerAndAreReadyWhileCachesAreStillFilling(t *testing.T) {
	t.Parallel()
	for _, elect := range []bool{true, false} {
		t.Run(fmt.Sprintf("leader-elect=%t", elect), func(t *testing.T) {
			t.Parallel()
			s := newSuite(t)
			g := s.newGateway()
			g.Hold(firstReads)
			r := s.start("--kubeconfig="+g.Kubeconfig, fmt.Sprintf("--leader-elect=%t", elect))
			s.Eventually(func() error {
				if g.Held() == 0 {
					return fmt.Errorf("no cache has asked the API server yet")
				}
				return nil
			})
			status := r.reaches("caches", "running")
			if got := status.state("reconcilers"); got != "pending" {
				t.Errorf("reconcilers are %s before the caches", got)
			}
			for _, path := range []string{"/readyz", "/healthz"} {
				if _, err := r.Probe(t.Context(), path); err != nil {
					t.Error(err)
				}
			}
			s.Must(r.converts())
			namespace := s.NewNamespace()
			s.create(namespace, "early") // admission and conversion, through the API server
			if got := r.reaches("caches", "running").Phases[4].Detail; !strings.Contains(got, "waiting for") {
				t.Errorf("/statusz does not say what the caches wait for: %q", got)
			}
			g.Resume()
			r.reconciles()
			s.reconciled(namespace, "early")
		})
	}
}
