// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/fairlead-dev/fairlead/cmd/fairlead/vet"
)

// server responds as an API server does that has ExternalServices, and nothing of the other kinds.
type server struct {
	definition string
	objects    []string                                          // at v1, in JSON
	refuse     func(r *http.Request, version, name string) error // what cannot be read, by name; "" is a LIST

	mu    sync.Mutex
	asked []string
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.asked = append(s.asked, r.Method+" "+r.URL.RequestURI()+" "+r.Header.Get("Accept"))
	s.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	path := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	switch {
	case strings.Contains(r.URL.Path, "customresourcedefinitions/externalservices."):
		_, _ = w.Write([]byte(s.definition))
	case strings.Contains(r.URL.Path, "customresourcedefinitions/"), path[1] != "networking.fairlead.dev":
		// The others are there, and empty.
		_, _ = w.Write([]byte(`{"metadata":{},"items":[],"spec":{"versions":[{"name":"v1","served":true,"storage":true}]}}`))
	case len(path) == 2:
		_, _ = w.Write([]byte(`{"versions":[{"version":"v1"},{"version":"v1alpha1"}]}`))
	case path[len(path)-1] == "externalservices":
		s.list(w, r, path[2])
	default:
		s.one(w, r, path[2], path[len(path)-1])
	}
}

func (s *server) list(w http.ResponseWriter, r *http.Request, version string) {
	if s.refuse != nil {
		if err := s.refuse(r, version, ""); err != nil {
			fail(w, err)
			return
		}
	}
	limit, _ := strconv.Atoi(r.URL.Query().Get("limit"))
	from, _ := strconv.Atoi(r.URL.Query().Get("continue"))
	to, more := min(from+limit, len(s.objects)), ""
	if to < len(s.objects) {
		more = strconv.Itoa(to)
	}
	_, _ = fmt.Fprintf(w, `{"apiVersion":"networking.fairlead.dev/%s","items":[%s],"kind":"ExternalServiceList","metadata":{"continue":%q,"resourceVersion":"7"}}`,
		version, strings.Join(s.objects[from:to], ","), more)
}

func (s *server) one(w http.ResponseWriter, r *http.Request, version, name string) {
	if s.refuse != nil {
		if err := s.refuse(r, version, name); err != nil {
			fail(w, err)
			return
		}
	}
	i := slices.IndexFunc(s.objects, func(o string) bool { return strings.Contains(o, `"name":"`+name+`"`) })
	if i < 0 {
		fail(w, refusal{http.StatusNotFound, metav1.StatusReasonNotFound, "not found"})
		return
	}
	_, _ = w.Write([]byte(s.objects[i]))
}

// refusal is an answer of the API server's.
type refusal struct {
	code    int32
	reason  metav1.StatusReason
	message string
}

func (r refusal) Error() string { return r.message }

func fail(w http.ResponseWriter, err error) {
	status := metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure,
		Code: http.StatusInternalServerError, Message: err.Error()}
	if r, ok := err.(refusal); ok { //nolint:errorlint // it is never wrapped here
		status.Code, status.Reason = r.code, r.reason
	}
	w.WriteHeader(int(status.Code))
	_ = json.NewEncoder(w).Encode(status)
}

const definitionOf = `{"spec":{"versions":[{"name":"v1","served":true,"storage":true},{"name":"v1alpha1","served":true}]}}`

func external(name, more string) string {
	return `{"apiVersion":"networking.fairlead.dev/v1","kind":"ExternalService","metadata":{"name":"` + name + `","namespace":"shop"` + more +
		`},"spec":{"ports":[{"name":"sql","port":5432}],"endpoints":[{"name":"host-0","addresses":["192.0.2.1"]}]}}`
}

// checked returns what a Cluster says of a server, as lines.
func checked(t *testing.T, s *server, o Options) (lines []string, summary vet.Summary, err error) {
	t.Helper()
	if s.definition == "" {
		s.definition = definitionOf
	}
	listening := httptest.NewServer(s)
	defer listening.Close()
	o.Config = &rest.Config{Host: listening.URL}
	o.ConvertTimeout = 10 * time.Second
	c, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	summary, err = c.Check(t.Context(), func(o vet.Object) error {
		for _, f := range o.Findings {
			if f.Line != 0 || o.File != c.options.Name {
				t.Errorf("%+v", f)
			}
			lines = append(lines, fmt.Sprintf("%s %s: %s %s: %s", f.Severity, o.Label(), f.Rule, f.Field, f.Message))
		}
		return nil
	})
	for _, asked := range s.asked {
		if !strings.HasPrefix(asked, "GET ") {
			t.Errorf("it sent %s", asked)
		}
	}
	return lines, summary, err
}
