// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/fairlead-dev/fairlead/internal/leaderelection"
)

func TestAReplicaThatDoesNotLeadReadsAndTellsAndWritesNothing(t *testing.T) {
	var arrived atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		arrived.Add(1)
		w.WriteHeader(http.StatusOK)
	}))
	t.Cleanup(server.Close)
	var leading atomic.Bool
	api := fenceWrites(&rest.Config{Host: server.URL}, func() error {
		if leading.Load() {
			return nil
		}
		return leaderelection.ErrNotLeading
	})
	client, err := rest.HTTPClientFor(api)
	if err != nil {
		t.Fatal(err)
	}
	const services, events = "/api/v1/namespaces/shop/services/events", "/apis/events.k8s.io/v1/namespaces/shop/events"
	for _, test := range []struct {
		method, path string
		writes       bool
	}{
		{http.MethodGet, services, false}, {http.MethodPost, events, false},
		{http.MethodPost, services, true}, {http.MethodPut, services, true}, {http.MethodPatch, services, true}, {http.MethodDelete, services, true},
	} {
		for _, leads := range []bool{false, true} {
			leading.Store(leads)
			before := arrived.Load()
			request, err := http.NewRequestWithContext(t.Context(), test.method, server.URL+test.path, strings.NewReader("{}"))
			if err != nil {
				t.Fatal(err)
			}
			response, err := client.Do(request)
			if err == nil {
				_ = response.Body.Close()
			}
			refused := test.writes && !leads
			if errors.Is(err, leaderelection.ErrNotLeading) != refused || (arrived.Load() == before) != refused {
				t.Errorf("%s %s, leading %v: %v, %d arrived", test.method, test.path, leads, err, arrived.Load()-before)
			}
		}
	}
	if unfenced := fenceWrites(api, nil); unfenced != api {
		t.Error("without an election there is a fence")
	}
}
