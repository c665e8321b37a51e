// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"bytes"
	"crypto/tls"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestStartSaysWhatIsWrong(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer closing(t, taken)
	port := int(netip.MustParseAddrPort(taken.Addr().String()).Port())
	none := func(s *Server) {}
	tests := map[string]struct {
		change  func(*Options)
		prepare func(*Server)
		says    []string
	}{
		"port in use":     {func(o *Options) { o.Port = port }, none, []string{taken.Addr().String(), "another process holds it"}},
		"foreign address": {func(o *Options) { o.Host = "192.0.2.1" }, none, []string{"192.0.2.1:0", "does not have that address"}},
		"bad host":        {func(o *Options) { o.Host = "no such host.invalid" }, none, []string{"no such host.invalid", "correct"}},
		"bad port":        {func(o *Options) { o.Port = 70000 }, none, []string{"70000"}},
		"no certificates": {func(o *Options) { o.Certificate = nil }, none, []string{"no source of certificates"}},
		"old TLS":         {func(o *Options) { o.MinTLSVersion = tls.VersionTLS11 }, none, []string{"TLS 1.1"}},
		"insecure suite":  {func(o *Options) { o.CipherSuites = []uint16{tls.TLS_RSA_WITH_RC4_128_SHA} }, none, []string{"RC4"}},
		"negative delay":  {func(o *Options) { o.DrainDelay = -1 }, none, []string{"-1ns"}},
		"two handlers": {func(*Options) {}, func(s *Server) {
			s.Register("/convert", http.NotFoundHandler())
			s.Register("/convert", http.NotFoundHandler())
		}, []string{"/convert has two handlers"}},
		"a path that is none": {func(*Options) {}, func(s *Server) { s.Register("/{x", http.NotFoundHandler()) }, []string{"/{x"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			r := start(t, test.change, test.prepare)
			err := <-r.stopped
			if err == nil {
				t.Fatal("it started")
			}
			for _, says := range test.says {
				if !strings.Contains(err.Error(), says) {
					t.Errorf("error is %v, want %q in it", err, says)
				}
			}
			if r.Ready() == nil {
				t.Error("it is ready")
			}
		})
	}
}

func TestASecondStartIsAnError(t *testing.T) {
	r := start(t, nil)
	r.waitReady(t)
	if err := r.Start(t.Context()); err == nil || !strings.Contains(err.Error(), "started already") {
		t.Errorf("the second start returned %v", err)
	}
	if err := r.Ready(); err != nil {
		t.Error(err)
	}
}

func TestTLSIsAsConfigured(t *testing.T) {
	tests := map[string]struct {
		change  func(*Options)
		client  func(*tls.Config)
		version uint16 // 0: refused
		suite   uint16
	}{
		"1.3 by default": {func(*Options) {}, func(*tls.Config) {}, tls.VersionTLS13, 0},
		"1.2 refused":    {func(*Options) {}, func(c *tls.Config) { c.MaxVersion = tls.VersionTLS12 }, 0, 0},
		"1.2 allowed": {func(o *Options) {
			o.MinTLSVersion = tls.VersionTLS12
			o.CipherSuites = []uint16{tls.TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384}
		}, func(c *tls.Config) { c.MaxVersion = tls.VersionTLS12 }, tls.VersionTLS12, tls.TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384},
		"other suite": {func(o *Options) {
			o.MinTLSVersion = tls.VersionTLS12
			o.CipherSuites = []uint16{tls.TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384}
		}, func(c *tls.Config) {
			c.MaxVersion = tls.VersionTLS12
			c.CipherSuites = []uint16{tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256}
		}, 0, 0},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			r := start(t, test.change)
			r.waitReady(t)
			response, err := r.client(test.client).Get(r.url("/"))
			if err != nil {
				if test.version != 0 {
					t.Fatal(err)
				}
				return
			}
			defer closing(t, response.Body)
			if response.TLS.Version != test.version || (test.suite != 0 && response.TLS.CipherSuite != test.suite) {
				t.Errorf("spoke %s with %s", tls.VersionName(response.TLS.Version), tls.CipherSuiteName(response.TLS.CipherSuite))
			}
			if response.ProtoMajor != 1 {
				t.Errorf("spoke %s to a client that offers HTTP/2", response.Proto)
			}
		})
	}
}

func TestAPanicStaysInItsRequest(t *testing.T) {
	registry := prometheus.NewRegistry()
	r := start(t, func(o *Options) { o.Registerer = registry }, func(s *Server) {
		s.Register("/bomb", http.HandlerFunc(func(http.ResponseWriter, *http.Request) { bomb() }))
		s.Register("/late", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, strings.Repeat("x", 1<<20))
			bomb()
		}))
		s.Register("/abort", http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
			panic(http.ErrAbortHandler) //nolint:forbidigo // what it tests
		}))
		s.Register("/fine", http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	})
	r.waitReady(t)
	client := r.client()
	response, err := client.Post(r.url("/bomb"), "application/json", bytes.NewReader(nil))
	if err != nil {
		t.Fatal(err)
	}
	defer closing(t, response.Body)
	var status metav1.Status
	if err := json.NewDecoder(response.Body).Decode(&status); err != nil || status.Code != 500 || !strings.Contains(status.Message, "panicked") {
		t.Errorf("the panic was answered by %+v: %v", status, err)
	}
	for _, path := range []string{"/late", "/abort"} {
		if got := get(client, r.url(path)); got.err == nil {
			t.Errorf("%s was answered as if it were whole", path)
		}
	}
	if got := get(client, r.url("/fine")); got.err != nil {
		t.Error(got.err)
	}
	got := values(t, registry, "fairlead_webhook_panics_total")
	if got["/bomb"] != 1 || got["/late"] != 1 || len(got) != 2 {
		t.Errorf("panics counted: %v", got)
	}
}

func TestRequestsAreCountedByPathAndCode(t *testing.T) {
	registry := prometheus.NewRegistry()
	handler := newSlow()
	r := start(t, func(o *Options) { o.Registerer = registry }, func(s *Server) {
		s.Register("/slow", handler)
		s.Register("/teapot", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) }))
	})
	r.waitReady(t)
	client := r.client()
	replies := make(chan reply, 1)
	go func() { replies <- get(client, r.url("/slow")) }()
	<-handler.entered
	if got := values(t, registry, "fairlead_webhook_requests_in_flight")["/slow"]; got != 1 {
		t.Errorf("%v requests are in flight", got)
	}
	close(handler.leave)
	<-replies
	get(client, r.url("/teapot"))
	get(client, r.url("/an-unregistered-path"))
	eventually(t, "all requests are counted", func() bool {
		got := values(t, registry, "fairlead_webhook_requests_total")
		return got["200 /slow"] == 1 && got["418 /teapot"] == 1 && got["404 unmatched"] == 1 && len(got) == 3
	})
	if got := values(t, registry, "fairlead_webhook_requests_in_flight")["/slow"]; got != 0 {
		t.Errorf("%v requests are in flight", got)
	}
}

func TestConnectionErrorsAreCounted(t *testing.T) {
	registry := prometheus.NewRegistry()
	r := start(t, func(o *Options) { o.Registerer = registry })
	r.waitReady(t)
	conn, err := net.Dial("tcp", r.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer closing(t, conn)
	_, _ = io.WriteString(conn, "this is not TLS, and long enough to be seen as that")
	eventually(t, "the handshake is counted", func() bool {
		return value(t, registry, "fairlead_webhook_tls_handshake_failures_total") == 1
	})
}

func TestRequestsAboveTheBoundWaitForTheirTurn(t *testing.T) {
	handler := newSlow()
	r := start(t, func(o *Options) { o.MaxInFlight = 1 }, func(s *Server) { s.Register("/slow", handler) })
	r.waitReady(t)
	client := r.client()
	replies := make(chan reply, 2)
	for range 2 {
		go func() { replies <- get(client, r.url("/slow")) }()
	}
	<-handler.entered
	eventually(t, "the second request is there", func() bool { return r.inFlight.Load() == 2 })
	if len(handler.entered) != 0 {
		t.Error("both are worked on at once")
	}
	close(handler.leave)
	for range 2 {
		if got := <-replies; got.err != nil {
			t.Error(got.err)
		}
	}
}
