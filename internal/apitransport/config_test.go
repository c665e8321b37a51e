// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package apitransport

import (
	"compress/gzip"
	"context"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
)

func TestConfigurationsShareNoConnectionAndKeepTheirCredentials(t *testing.T) {
	var mu sync.Mutex
	from, tokens := map[string]bool{}, map[string]bool{}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		from[r.RemoteAddr], tokens[r.Header.Get("Authorization")+" "+r.Header.Get("Wrapped")] = true, true
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"kind": "ConfigMap", "apiVersion": "v1"}`))
	}))
	server.EnableHTTP2 = true
	server.StartTLS()
	defer server.Close()
	api := &rest.Config{Host: server.URL, BearerToken: "secret", TLSClientConfig: rest.TLSClientConfig{Insecure: true}}
	api.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			r = r.Clone(r.Context())
			r.Header.Set("Wrapped", "once")
			return next.RoundTrip(r)
		})
	})
	for range 2 {
		made, _, err := ForConfig(api, Options{})
		if err != nil {
			t.Fatal(err)
		}
		for range 2 { // clients of one configuration
			client, err := kubernetes.NewForConfig(made)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := client.CoreV1().ConfigMaps("a").Get(t.Context(), "b", metav1.GetOptions{}); err != nil {
				t.Fatal(err)
			}
		}
	}
	if len(from) != 2 || len(tokens) != 1 || !tokens["Bearer secret once"] {
		t.Errorf("%d connections, credentials %v", len(from), tokens)
	}
}

// An informer lists by a watch, whose first events an API server compresses, and sees what comes later.
func TestAnInformerSeesACompressedWatchOverHTTP2(t *testing.T) {
	event := func(kind, name, annotations string) string {
		return `{"type":"` + kind + `","object":{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"` + name +
			`","namespace":"a","resourceVersion":"7"` + annotations + `}}}` + "\n"
	}
	later := make(chan string)
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !r.URL.Query().Has("watch") || r.ProtoMajor != 2 || r.Header.Get("Accept-Encoding") != "gzip" {
			http.Error(w, r.URL.String(), http.StatusBadRequest)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Encoding", "gzip")
		compressed := gzip.NewWriter(w)
		send := func(text string) {
			_, _ = compressed.Write([]byte(text))
			_ = compressed.Flush()
			_ = http.NewResponseController(w).Flush()
		}
		send(event("ADDED", "first", "") + event("BOOKMARK", "", `,"annotations":{"k8s.io/initial-events-end":"true"}`))
		for {
			select {
			case text := <-later:
				send(text)
			case <-r.Context().Done():
				return
			}
		}
	}))
	server.EnableHTTP2 = true
	server.StartTLS()
	defer server.Close()
	api, _, err := ForConfig(&rest.Config{Host: server.URL, TLSClientConfig: rest.TLSClientConfig{Insecure: true}}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	client, err := kubernetes.NewForConfig(api)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	factory := informers.NewSharedInformerFactory(client, 0)
	configMaps := factory.Core().V1().ConfigMaps()
	names := make(chan string, 10)
	_, err = configMaps.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: func(object any) {
		names <- object.(*corev1.ConfigMap).Name
	}})
	if err != nil {
		t.Fatal(err)
	}
	factory.StartWithContext(ctx)
	if got := <-names; got != "first" {
		t.Errorf("the first object is %q", got)
	}
	later <- event("ADDED", "second", "")
	if got := <-names; got != "second" {
		t.Errorf("the next object is %q", got)
	}
	cancel()
	factory.Shutdown()
}

// A disruption budget that is still being processed asks for 10 s, and client-go would ask it ten times.
func TestAnEvictionThatIsRefusedIsAskedForOnce(t *testing.T) {
	var asked atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Retry-After", "1")
		w.WriteHeader(http.StatusTooManyRequests)
		_, _ = w.Write([]byte(`{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "TooManyRequests", "code": 429, "details": {
			"retryAfterSeconds": 1, "causes": [{"reason": "DisruptionBudget", "message": "The disruption budget b is still being processed by the server."}]}}`))
	}))
	defer server.Close()
	api, _, err := ForConfig(&rest.Config{Host: server.URL}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	client, err := kubernetes.NewForConfig(api)
	if err != nil {
		t.Fatal(err)
	}
	err = client.PolicyV1().Evictions("a").Evict(t.Context(), &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: "p", Namespace: "a"}})
	if !apierrors.HasStatusCause(err, policyv1.DisruptionBudgetCause) || asked.Load() != 1 {
		t.Errorf("asked %d times: %v", asked.Load(), err)
	}
}
