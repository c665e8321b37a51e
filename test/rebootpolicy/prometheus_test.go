// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
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
