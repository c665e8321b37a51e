// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
)

// prometheus is the server that all replicas query. Its responses are those of Prometheus, as in test/monitoring. It ends with
// the process.
var prometheus = newQueryServer()

// queryServer responds to queries with what a test has set for them in its namespace, and with nothing otherwise.
type queryServer struct {
	*httptest.Server
	results sync.Map // of namespace and query
}

const (
	noResults  = `{"status": "success", "data": {"resultType": "vector", "result": []}}`
	firing     = `{"status": "success", "data": {"resultType": "vector", "result": [{"metric": {"alertname": "Full"}, "value": [1, "1"]}]}}`
	unparsable = `{"status": "error", "errorType": "bad_data", "error": "1:8: parse error: unclosed left brace"}`
)

func newQueryServer() *queryServer {
	s := &queryServer{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, known := s.results.Load(r.URL.Query().Get("namespace") + " " + r.FormValue("query"))
		text, is := body.(string)
		switch {
		case !known:
			text = noResults
		case !is || text == "":
			w.WriteHeader(http.StatusServiceUnavailable)
		case text == unparsable:
			w.WriteHeader(http.StatusBadRequest)
		}
		_, _ = io.WriteString(w, text) // the operator may have ended
	}))
	return s
}

// results sets what a query returns in the namespace of the test; "" fails.
func (s *suite) results(query, body string) { prometheus.results.Store(s.Namespace+" "+query, body) }

// TestNoRestartBeginsWhileAQueryReturnsSomething has a server that says so, fails, and refuses the query.
func TestNoRestartBeginsWhileAQueryReturnsSomething(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	const query = "ALERTS{severity='critical'}"
	s.results(query, firing)
	s.secret("creds", "password", "first")
	s.run(deployment, "web", takes("creds"))
	s.policy("p", fmt.Sprintf("{%s, %s, cooldown: 0s, gates: [{name: quiet, type: PrometheusQueryEmpty, prometheusQueryEmpty: {query: %q}}]}",
		targets(deployment, "web"), onConfig, query))
	s.watching("p", 1)
	s.secret("creds", "password", "second")
	for _, step := range []struct{ body, because string }{
		{firing, "gate quiet: its query returns results"},
		{"", "gate quiet: the Prometheus server responds with a server error: 503"},
		{unparsable, "gate quiet: its query is refused: 1:8: parse error: unclosed left brace"},
	} {
		s.results(query, step.body)
		s.held("p", "web", autorebootv1.ReasonGateClosed)
		s.shows("p", func(st autorebootv1.RebootPolicyStatus) error {
			if c := meta.FindStatusCondition(st.Conditions, autorebootv1.ConditionWaiting); c == nil || !strings.Contains(c.Message, step.because) {
				return fmt.Errorf("it does not wait because %s", step.because)
			}
			return nil
		})
	}
	s.restarted(deployment, "web", 0)
	s.results(query, noResults)
	s.succeeded("p", 1)
	s.restarted(deployment, "web", 1)
}
