// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package monitoring

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/promslog"
	"github.com/prometheus/common/route"
	"github.com/prometheus/prometheus/config"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/promql/promqltest"
	promapi "github.com/prometheus/prometheus/web/api/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-dev/fairlead/controllers/rebootpolicy/promquery"
	"github.com/fairlead-dev/fairlead/internal/outbound"
)

// queryAPI serves the API of a real Prometheus with these series.
func queryAPI(t *testing.T, series string) string {
	t.Helper()
	storage := promqltest.LoadedStorage(t, series)
	t.Cleanup(func() { _ = storage.Close() }) // its directory ends with the test
	engine := promqltest.NewTestEngineWithOpts(t, promql.EngineOpts{MaxSamples: 1000, Timeout: time.Minute, LookbackDelta: 100 * 365 * 24 * time.Hour})
	api := promapi.NewAPI(engine, storage, nil, nil, nil, nil, nil, func() config.Config { return config.DefaultConfig }, nil,
		promapi.GlobalURLOptions{}, func(f http.HandlerFunc) http.HandlerFunc { return f }, nil, "", false, false, 0, promslog.NewNopLogger(), nil, 0, 0, 0, false,
		nil, nil, nil, nil, nil, nil, nil, nil, false, nil, false, false, false, time.Minute, false, false, nil, nil, promapi.OpenAPIOptions{},
		parser.NewParser(parser.Options{}), false, time.Minute)
	router := route.New()
	api.Register(router.WithPrefix("/api/v1"))
	server := httptest.NewServer(router)
	t.Cleanup(server.Close)
	return server.URL
}

// TestGatesReadTheAnswersOfPrometheus has queries that a user would write, and those that go wrong.
func TestGatesReadTheAnswersOfPrometheus(t *testing.T) {
	url := queryAPI(t, `load 1m
		ALERTS{alertname="Full", alertstate="firing", severity="critical", pod="a"} 1
		ALERTS{alertname="Full", alertstate="firing", severity="critical", pod="b"} 1
		up{job="api", instance="secret-instance"} 0
		down{job="api", instance="other"} 0
		down{job="api", instance="another"} 0
	`)
	answered := make(chan types.NamespacedName, 100)
	queries := promquery.New(promquery.Server{Endpoint: outbound.Endpoint{URL: url}}, func(policy types.NamespacedName) { answered <- policy })
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- queries.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	const full = "its query returns results"
	for query, want := range map[string]string{
		`ALERTS{alertstate="firing", severity="critical"}`: full,
		`ALERTS{alertstate="firing", severity="page"}`:     "",
		`up == 1`:                  "",
		`up == bool 1`:             full,
		`absent(up{job="web"})`:    full,
		`count(up{job="web"}) > 0`: "",
		`vector(0)`:                full,
		`1`:                        "its query returns a scalar",
		`"text"`:                   "the Prometheus server responds with what is no result",
		`up[5m]`:                   "its query returns a matrix",
		`ALERTS{alertstate="f`:     "its query is refused: ",
		`no_function(up)`:          "its query is refused: ",
		`up + on(job) down`:        "the Prometheus server cannot run its query: execution",
	} {
		policy := types.NamespacedName{Namespace: "shop", Name: query}
		queries.Set(policy, []string{query})
		select {
		case <-answered:
		case <-time.After(30 * time.Second):
			t.Fatalf("%s: no answer", query)
		}
		got := queries.Closed(policy, query)
		if (got == "") != (want == "") || !strings.HasPrefix(got, want) || strings.Contains(got, "secret-instance") {
			t.Errorf("%s: closed by %q, want %q", query, got, want)
		}
	}
}
