// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
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
	api := fenceWrites(&rest.Config{Host: server.URL}, leaderCheck(func() error {
		if leading.Load() {
			return nil
		}
		return leaderelection.ErrNotLeading
	}))
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
	if unfenced := fenceWrites(api, leaderCheck(nil)); unfenced != api {
		t.Error("without an election there is a fence")
	}
}

func TestAWatchThatIsEndedEndsAndAListThatIsCutOffFails(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, "{") // never complete
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}))
	t.Cleanup(server.Close)
	api := endWatches(&rest.Config{Host: server.URL})
	client, err := kubernetes.NewForConfig(api)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	watched, err := client.CoreV1().Secrets("").Watch(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	for event := range watched.ResultChan() {
		t.Errorf("an event of a watch that was ended: %+v", event)
	}

	ctx, cancel = context.WithCancel(t.Context())
	plain, err := rest.HTTPClientFor(api)
	if err != nil {
		t.Fatal(err)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL+"/api/v1/secrets", nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := plain.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	if _, err := io.ReadAll(response.Body); err == nil {
		t.Error("a list that was cut off seems complete")
	}
	_ = response.Body.Close()
}

// What floods one must not delay the other: client-go shares the transport of equal configurations.
func TestOwnConnectionsAreNotThoseOfAnotherClient(t *testing.T) {
	api := &rest.Config{Host: "https://127.0.0.1:1", TLSClientConfig: rest.TLSClientConfig{Insecure: true}}
	var transports []http.RoundTripper
	for _, config := range []*rest.Config{api, rest.CopyConfig(api), ownConnections(api)} {
		transport, err := rest.TransportFor(config)
		if err != nil {
			t.Fatal(err)
		}
		transports = append(transports, transport)
	}
	if transports[0] != transports[1] || transports[2] == transports[0] {
		t.Errorf("shared %t, own %t", transports[0] == transports[1], transports[2] != transports[0])
	}
}
