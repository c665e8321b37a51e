// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package promquery

import (
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fairlead-dev/fairlead/internal/outbound"
)

const (
	none = `{"status": "success", "data": {"resultType": "vector", "result": []}}`
	one  = `{"status": "success", "data": {"resultType": "vector", "result": [{"metric": {}, "value": [1, "0"]}]}}`
)

// serve returns a server over TLS that its file of certificates trusts.
func serve(t *testing.T, handler http.HandlerFunc) Server {
	t.Helper()
	server := httptest.NewTLSServer(handler)
	t.Cleanup(server.Close)
	file := filepath.Join(t.TempDir(), "ca.crt")
	authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	if err := os.WriteFile(file, authority, 0o600); err != nil {
		t.Fatal(err)
	}
	return Server{Endpoint: outbound.Endpoint{URL: server.URL, CAFile: file}}
}

func ask(t *testing.T, s Server, q query) (bool, error) {
	t.Helper()
	return s.evaluator()(t.Context(), q)
}

func TestAResultIsAnInstantVectorOrAnError(t *testing.T) {
	for name, test := range map[string]struct {
		code int
		body string
		some bool
		err  string
	}{
		"nothing":                                {200, none, false, ""},
		"an element":                             {200, one, true, ""},
		"a part of nothing":                      {200, strings.Replace(none, "{", `{"warnings": ["store-1 did not answer"], `, 1), false, "may be incomplete"},
		"a part of nothing, by a member alone":   {200, strings.Replace(none, "{", `{"isPartial": true, `, 1), false, "may be incomplete"},
		"a part of something, by a member alone": {200, strings.Replace(one, "{", `{"isPartial": true, `, 1), true, ""},
		"a part in another form":                 {200, strings.Replace(none, "{", `{"isPartial": "true", `, 1), false, "may be incomplete"},
		"all of nothing":                         {200, strings.Replace(none, "{", `{"isPartial": false, `, 1), false, ""},
		"a part of something":                    {200, strings.Replace(one, "{", `{"warnings": ["results truncated due to limit"], `, 1), true, ""},
		"a number":                               {200, `{"status": "success", "data": {"resultType": "scalar", "result": [1, "0"]}}`, false, "returns a scalar"},
		"a range":                                {200, `{"status": "success", "data": {"resultType": "matrix", "result": []}}`, false, "returns a matrix"},
		"a bad query":                            {400, `{"status": "error", "errorType": "bad_data", "error": "1:3: parse error: unexpected <eof>"}`, false, "its query is refused: 1:3: parse error: unexpected <eof>"},
		"what fails":                             {422, `{"status": "error", "errorType": "execution", "error": "duplicate series {secret=\"x\"}"}`, false, "cannot run its query: execution"},
		"what has no type":                       {422, `{"status": "error", "error": "no right to secret"}`, false, "cannot run its query: client_error"},
		"no right":                               {403, "Forbidden", false, "client error: 403"},
		"another server":                         {200, "<html>", false, "no result of a query"},
		"no server":                              {502, "Bad Gateway", false, "server error: 502"},
		"a redirect":                             {302, "", false, "no result of a query"},
		"a body without end":                     {200, `{"status": "success", "data": "` + strings.Repeat("x", maxBody) + `"}`, false, "cannot be read"},
		"nothing at all":                         {200, "", false, "no result of a query"},
	} {
		s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", "https://192.0.2.1/")
			w.WriteHeader(test.code)
			_, _ = io.WriteString(w, test.body) // the client may have left
		})
		some, err := ask(t, s, query{text: "up"})
		if some != test.some || (err == nil) != (test.err == "") || err != nil && (!strings.Contains(err.Error(), test.err) || strings.Contains(err.Error(), "secret") || strings.Contains(err.Error(), s.URL)) {
			t.Errorf("%s: %t, %v, want %q", name, some, err, test.err)
		}
	}
}

func TestAQueryHasTheTokenAndTheNamespace(t *testing.T) {
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte("t0ken"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, refusesPost := range []bool{false, true} {
		var seen []string
		s := serve(t, func(w http.ResponseWriter, r *http.Request) {
			if refusesPost && r.Method == http.MethodPost {
				w.WriteHeader(http.StatusMethodNotAllowed)
				return
			}
			if err := r.ParseForm(); err != nil {
				t.Error(err)
			}
			seen = append(seen, fmt.Sprint(r.URL.Path, r.URL.Query()["namespace"], r.URL.Query().Get("deny_partial_response"), r.Form["query"], r.Form.Get("limit"), r.Header.Get("Authorization")))
			_, _ = io.WriteString(w, none)
		})
		s.URL, s.BearerTokenFile, s.NamespaceParameter = s.URL+"/tenants/?deny_partial_response=1&namespace=bank", token, "namespace"
		if _, err := ask(t, s, query{"shop", `up{namespace="bank"}`}); err != nil {
			t.Fatal(err)
		}
		if want := `/tenants/api/v1/query[shop]1[up{namespace="bank"}]1Bearer t0ken`; len(seen) != 1 || seen[0] != want {
			t.Errorf("asked %q, want %q", seen, want)
		}
		if _, err := ask(t, s, query{text: "up"}); err == nil || !strings.Contains(err.Error(), "namespace of the query is not known") || len(seen) != 1 {
			t.Errorf("without a namespace: %v, asked %q", err, seen)
		}
	}
}

func TestAServerThatCannotBeTrustedGetsNoQuery(t *testing.T) {
	s := serve(t, func(http.ResponseWriter, *http.Request) { t.Error("it got one") })
	s.CAFile = ""
	if _, err := ask(t, s, query{text: "up"}); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Error(err)
	}
}

func TestAFileThatIsMissingIsReadOnceItIsThere(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, none) })
	authority, err := os.ReadFile(s.CAFile)
	if err != nil {
		t.Fatal(err)
	}
	s.CAFile, s.BearerTokenFile = filepath.Join(t.TempDir(), "ca.crt"), filepath.Join(t.TempDir(), "token")
	evaluate := s.evaluator()
	for _, file := range []struct{ path, text string }{{s.CAFile, string(authority)}, {s.BearerTokenFile, "t0ken"}} {
		if _, err := evaluate(t.Context(), query{text: "up"}); err == nil || !strings.Contains(err.Error(), "cannot use its rebootPolicies.prometheus: ") || !strings.Contains(err.Error(), file.path) {
			t.Errorf("without %s: %v", file.path, err)
		}
		if err := os.WriteFile(file.path, []byte(file.text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if some, err := evaluate(t.Context(), query{text: "up"}); some || err != nil {
		t.Error(some, err)
	}
}
