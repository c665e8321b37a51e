// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package apitransport

import (
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
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
