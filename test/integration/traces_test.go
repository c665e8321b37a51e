// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/grpc"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
)

// spans takes what the replicas send, as a collector of OpenTelemetry does.
type spans struct {
	collector.UnimplementedTraceServiceServer
	mu      sync.Mutex
	byTrace map[string][]string // names
	count   int
}

var sent = &spans{byTrace: map[string][]string{}}

func (s *spans) Export(_ context.Context, r *collector.ExportTraceServiceRequest) (*collector.ExportTraceServiceResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, resource := range r.GetResourceSpans() {
		service := ""
		for _, a := range resource.GetResource().GetAttributes() {
			if a.GetKey() == "service.name" {
				service = a.GetValue().GetStringValue()
			}
		}
		for _, scope := range resource.GetScopeSpans() {
			for _, span := range scope.GetSpans() {
				s.count++
				id := hex.EncodeToString(span.GetTraceId())
				s.byTrace[id] = append(s.byTrace[id], service+" "+span.GetName())
			}
		}
	}
	return &collector.ExportTraceServiceResponse{}, nil
}

// listen starts the collector, and returns its address.
func (s *spans) listen() (string, error) {
	var listening net.ListenConfig
	listener, err := listening.Listen(tests.Context, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	server := grpc.NewServer()
	collector.RegisterTraceServiceServer(server, s)
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	tests.AtEnd(func() error {
		server.Stop()
		return <-ended
	})
	return listener.Addr().String(), nil
}

// tracingConfiguration writes the file by which the API server sends its spans to a collector too: those of the requests that come
// with a trace.
func tracingConfiguration(collector string) (string, error) {
	file, err := os.CreateTemp("", "fairlead-tracing-*.yaml")
	if err != nil {
		return "", err
	}
	tests.AtEnd(func() error { return os.Remove(file.Name()) })
	_, err = fmt.Fprintf(file, "apiVersion: apiserver.config.k8s.io/v1\nkind: TracingConfiguration\nendpoint: %q\nsamplingRatePerMillion: 0\n", collector)
	return file.Name(), errors.Join(err, file.Close())
}

// parent gives each request a trace, as a client does that is traced.
type parent struct {
	http.RoundTripper
	trace string
}

func (p parent) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("traceparent", "00-"+p.trace+"-00f067aa0ba902b7-01")
	return p.RoundTripper.RoundTrip(r)
}

// What the API server traces is one trace with what admission does for it, and with the requests that it sends. The API server calls
// conversion without a trace. Nothing else is traced where nothing is sampled.
func TestTheTraceOfARequestGoesOnInTheWebhooks(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	const trace = "4bf92f3577b34da6a3ce929d0e0e4736"
	config := rest.CopyConfig(s.Config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return parent{next, trace} })
	client, err := dynamic.NewForConfig(config)
	s.Must(err)
	policies := client.Resource(schema.GroupVersionResource{Group: "autoreboot.fairlead.dev", Version: "v1alpha1", Resource: "rebootpolicies"})
	_, err = policies.Namespace(s.Namespace).Create(s.Context(), &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "autoreboot.fairlead.dev/v1alpha1", "kind": "RebootPolicy", "metadata": map[string]any{"name": "traced"},
		"spec": map[string]any{
			"targets":  []any{map[string]any{"kind": "Deployment", "name": "web"}},
			"cooldown": "10m",
			"policies": []any{map[string]any{"name": "up", "type": "Probe", "probe": map[string]any{"tcpSocket": map[string]any{"port": int64(80)}}}},
		},
	}}, metav1.CreateOptions{})
	s.Must(err)
	s.Eventually(func() error {
		sent.mu.Lock()
		defer sent.mu.Unlock()
		got := sent.byTrace[trace]
		for _, want := range []string{"apiserver POST", "fairlead POST /mutate", "fairlead POST /validate", "fairlead HTTP POST"} {
			if !slices.ContainsFunc(got, func(name string) bool { return strings.HasPrefix(name, want) }) {
				return fmt.Errorf("no span %s: %q, of %d spans", want, got, sent.count)
			}
		}
		return nil
	})
	sent.mu.Lock()
	defer sent.mu.Unlock()
	if len(sent.byTrace) != 1 {
		t.Errorf("%d traces, want one: %v", len(sent.byTrace), sent.byTrace)
	}
}
