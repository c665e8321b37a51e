// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package podprobe

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"k8s.io/utils/ptr"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/api/common"
)

// once is a probe whose first failure decides.
func once(port uint16, change func(p *autorebootv1.Probe, port int32)) *autorebootv1.Probe {
	p := &autorebootv1.Probe{Check: common.Check{FailureThreshold: ptr.To[int32](1), Interval: ptr.To(common.Duration("1h")), Timeout: ptr.To(common.Duration("30s"))}}
	change(p, int32(port))
	return withDefaults(p)
}

func get(p *autorebootv1.Probe, port int32) { p.HTTPGet = &common.HTTPGetAction{Port: number(port)} }

func getTLS(p *autorebootv1.Probe, port int32) {
	p.HTTPGet = &common.HTTPGetAction{Port: number(port), Scheme: ptr.To(common.SchemeHTTPS)}
}

func connect(p *autorebootv1.Probe, port int32) {
	p.TCPSocket = &common.TCPSocketAction{Port: number(port)}
}

func ask(service string) func(*autorebootv1.Probe, int32) {
	return func(p *autorebootv1.Probe, port int32) {
		p.GRPC = &common.GRPCAction{Port: number(port), Service: ptr.To(service)}
	}
}

// briefly has the probe give up soon. The shortest interval still holds.
func briefly(change func(*autorebootv1.Probe, int32)) func(*autorebootv1.Probe, int32) {
	return func(p *autorebootv1.Probe, port int32) {
		change(p, port)
		p.Timeout = ptr.To(common.Duration("100ms"))
	}
}

// serve has a handler serve HTTP, and returns its port.
func serve(t *testing.T, start func(*httptest.Server), handler http.HandlerFunc) uint16 {
	t.Helper()
	server := httptest.NewUnstartedServer(handler)
	server.Config.ErrorLog = nil
	start(server)
	t.Cleanup(server.Close)
	return server.Listener.Addr().(*net.TCPAddr).AddrPort().Port()
}

// listen has a function handle connections, and returns their port.
func listen(t *testing.T, handle func(net.Conn)) uint16 {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			handle(conn)
			_ = conn.Close()
		}
	}()
	t.Cleanup(func() {
		_ = listener.Close()
		<-ended
	})
	return listener.Addr().(*net.TCPAddr).AddrPort().Port()
}

func hang(conn net.Conn) { _, _ = io.Copy(io.Discard, conn) }

func closedPort(t *testing.T) uint16 {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = listener.Close()
	return listener.Addr().(*net.TCPAddr).AddrPort().Port()
}

// serveGRPC serves the health protocol: "shop" is serving, the server as a whole is not.
func serveGRPC(t *testing.T) uint16 {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	service := health.NewServer()
	service.SetServingStatus("", healthv1.HealthCheckResponse_NOT_SERVING)
	service.SetServingStatus("shop", healthv1.HealthCheckResponse_SERVING)
	server := grpc.NewServer()
	healthv1.RegisterHealthServer(server, service)
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	t.Cleanup(func() {
		server.Stop()
		if err := <-ended; err != nil && !errors.Is(err, grpc.ErrServerStopped) {
			t.Errorf("Serve: %v", err)
		}
	})
	return listener.Addr().(*net.TCPAddr).AddrPort().Port()
}

func status(code int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }
}

func TestWhatAProbeSaysOfAServer(t *testing.T) {
	policy := clusterPolicy(t)
	plain := func(code int) func(*testing.T) uint16 {
		return func(t *testing.T) uint16 { return serve(t, (*httptest.Server).Start, status(code)) }
	}
	slow := func(t *testing.T) uint16 {
		return serve(t, (*httptest.Server).Start, func(w http.ResponseWriter, r *http.Request) {
			select {
			case <-r.Context().Done():
			case <-time.After(300 * time.Millisecond):
			}
			w.WriteHeader(http.StatusOK)
		})
	}
	endless := func(t *testing.T) uint16 {
		return serve(t, (*httptest.Server).Start, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	}
	hanging := func(t *testing.T) uint16 { return listen(t, hang) }
	for name, tc := range map[string]struct {
		server func(*testing.T) uint16
		probe  func(*autorebootv1.Probe, int32)
		fails  bool
	}{
		"200":                     {plain(200), get, false},
		"302, not followed":       {plain(302), get, false},
		"399":                     {plain(399), get, false},
		"400":                     {plain(400), get, true},
		"500":                     {plain(500), get, true},
		"slow, with time":         {slow, get, false},
		"slow, with none":         {endless, briefly(get), true},
		"HTTP, hangs":             {hanging, briefly(get), true},
		"HTTP, nothing listens":   {closedPort, get, true},
		"HTTPS, any certificate":  {func(t *testing.T) uint16 { return serve(t, (*httptest.Server).StartTLS, status(200)) }, getTLS, false},
		"HTTPS, and 500":          {func(t *testing.T) uint16 { return serve(t, (*httptest.Server).StartTLS, status(500)) }, getTLS, true},
		"HTTPS of one without":    {plain(200), getTLS, true},
		"TCP":                     {hanging, connect, false},
		"TCP, nothing listens":    {closedPort, connect, true},
		"gRPC, of a service":      {serveGRPC, ask("shop"), false},
		"gRPC, NOT_SERVING":       {serveGRPC, ask(""), true},
		"gRPC, not known":         {serveGRPC, ask("other"), true},
		"gRPC, hangs":             {hanging, briefly(ask("")), true},
		"gRPC, nothing listens":   {closedPort, ask(""), true},
		"gRPC, of another server": {plain(200), ask(""), true},
	} {
		t.Run(name, func(t *testing.T) {
			want := Result{Checked: 1}
			if tc.fails {
				want.Unhealthy, want.Firing = 1, true
			}
			port := tc.server(t)
			got := newProbeCluster(policy).check(t, once(port, tc.probe), []Pod{{UID: "1", IP: podIP, Port: port}})
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("verdict (-want +got):\n%s", diff)
			}
		})
	}
}

func TestARedirectIsNotFollowed(t *testing.T) {
	var visited atomic.Int64
	canary := serve(t, (*httptest.Server).Start, func(http.ResponseWriter, *http.Request) { visited.Add(1) })
	port := serve(t, (*httptest.Server).Start, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "http://"+netip.AddrPortFrom(outside, canary).String()+"/", http.StatusFound)
	})
	w := newProbeCluster(clusterPolicy(t))
	if got := w.check(t, once(port, get), []Pod{{UID: "1", IP: podIP, Port: port}}); got != (Result{Checked: 1}) {
		t.Errorf("%+v", got)
	}
	if visited.Load() != 0 || w.opened.Load() != 1 {
		t.Errorf("%d visits, %d connections", visited.Load(), w.opened.Load())
	}
}

func TestWhatARequestSays(t *testing.T) {
	t.Setenv("HTTP_PROXY", "http://192.0.2.99:3128")
	for name, tc := range map[string]struct {
		change func(*common.HTTPGetAction)
		want   string
	}{
		"the least": {func(*common.HTTPGetAction) {}, "GET / HTTP/1.1|Host: 10.244.0.9:PORT|User-Agent: fairlead-probe/1|Accept: */*|Connection: close"},
		"path and query": {func(h *common.HTTPGetAction) { h.Path = ptr.To("/deep?x=1") },
			"GET /deep?x=1 HTTP/1.1|Host: 10.244.0.9:PORT|User-Agent: fairlead-probe/1|Accept: */*|Connection: close"},
		"headers": {func(h *common.HTTPGetAction) {
			h.HTTPHeaders = []common.HTTPHeader{{Name: "X-Check", Value: "deep, very"}, {Name: "host", Value: "shop.example.com:81"}, {Name: "Accept", Value: "text/plain"}}
		}, "GET / HTTP/1.1|Host: shop.example.com:81|User-Agent: fairlead-probe/1|X-Check: deep, very|Accept: text/plain|Connection: close"},
		"the host of the check": {func(h *common.HTTPGetAction) { h.HostHeader = ptr.To("db.example.com") },
			"GET / HTTP/1.1|Host: db.example.com|User-Agent: fairlead-probe/1|Accept: */*|Connection: close"},
	} {
		t.Run(name, func(t *testing.T) {
			said := make(chan string, 1)
			port := listen(t, func(conn net.Conn) {
				reader, all := bufio.NewReader(conn), []string(nil)
				for line, err := reader.ReadString('\n'); err == nil && strings.TrimSpace(line) != ""; line, err = reader.ReadString('\n') {
					all = append(all, strings.TrimSpace(line))
				}
				said <- strings.Join(all, "|")
				_, _ = io.WriteString(conn, "HTTP/1.1 204 No Content\r\n\r\n")
			})
			p := once(port, get)
			tc.change(p.HTTPGet)
			if got := newProbeCluster(clusterPolicy(t)).check(t, p, []Pod{{UID: "1", IP: podIP, Port: port}}); got != (Result{Checked: 1}) {
				t.Fatalf("%+v", got)
			}
			if diff := cmp.Diff(strings.Replace(tc.want, "PORT", strconv.Itoa(int(port)), 1), <-said); diff != "" {
				t.Errorf("request (-want +got):\n%s", diff)
			}
		})
	}
}

func TestRunEndsWhileAServerHangs(t *testing.T) {
	began := make(chan struct{}, 1)
	port := listen(t, func(conn net.Conn) {
		began <- struct{}{}
		hang(conn)
	})
	c := New(Options{Dial: newProbeCluster(clusterPolicy(t)).dialer.Dial})
	c.Set(policy("p"), of(once(port, get), []Pod{{UID: "1", IP: podIP, Port: port}}))
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- c.Run(ctx) }()
	<-began
	cancel()
	select {
	case err := <-ended:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(20 * time.Second): // less than the timeout of the probe
		t.Error("Run goes on")
	}
	if got := c.Result(policy("p"), "wedged", "w"); got != (Result{Checked: 1, Unknown: 1}) {
		t.Errorf("what was cut short counts: %+v", got)
	}
}
