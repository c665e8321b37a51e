// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/health"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
	"k8s.io/utils/ptr"

	"github.com/fairlead-dev/fairlead/api/common"
)

// serve has a gRPC server listen.
func serve(t testing.TB, register func(*grpc.Server), options ...grpc.ServerOption) (port uint16, stop func()) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer(options...)
	register(server)
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	return listener.Addr().(*net.TCPAddr).AddrPort().Port(), func() {
		server.Stop()
		if err := <-ended; err != nil && !errors.Is(err, grpc.ErrServerStopped) {
			t.Errorf("Serve: %v", err)
		}
	}
}

// withHealth registers a health service that says the same of "" and of "shop".
func withHealth(says healthv1.HealthCheckResponse_ServingStatus) func(*grpc.Server) {
	return func(server *grpc.Server) {
		service := health.NewServer()
		service.SetServingStatus("", says)
		service.SetServingStatus("shop", says)
		healthv1.RegisterHealthServer(server, service)
	}
}

// answering is a health service with a response that the test chooses.
type answering struct {
	healthv1.UnimplementedHealthServer

	check func(context.Context) (*healthv1.HealthCheckResponse, error)
}

func (a answering) Check(ctx context.Context, _ *healthv1.HealthCheckRequest) (*healthv1.HealthCheckResponse, error) {
	return a.check(ctx)
}

func TestWhatAGRPCProbeSaysOfAServer(t *testing.T) {
	ca := newAuthority(t)
	config := &tls.Config{Certificates: []tls.Certificate{ca.server(t, time.Now().Add(time.Hour))}}
	overTLS := grpc.Creds(credentials.NewTLS(config))
	serving, not := withHealth(healthv1.HealthCheckResponse_SERVING), withHealth(healthv1.HealthCheckResponse_NOT_SERVING)
	failing := func(err error) func(*grpc.Server) {
		return func(s *grpc.Server) {
			healthv1.RegisterHealthServer(s, answering{check: func(context.Context) (*healthv1.HealthCheckResponse, error) { return nil, err }})
		}
	}
	hangs := func(s *grpc.Server) {
		healthv1.RegisterHealthServer(s, answering{check: func(ctx context.Context) (*healthv1.HealthCheckResponse, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}})
	}
	settings := "\x00\x00\x00\x04\x00\x00\x00\x00\x00"

	for name, tc := range map[string]struct {
		grpc    common.GRPCAction
		tls     *common.CheckTLS
		roots   []byte
		host    string
		serve   func(*grpc.Server)
		options []grpc.ServerOption
		raw     func(net.Conn)
		timeout time.Duration
		want    outcome
	}{
		"serving":                         {serve: serving, want: connected},
		"a service that serves":           {grpc: common.GRPCAction{Service: ptr.To("shop")}, serve: serving, want: connected},
		"a service that it does not know": {grpc: common.GRPCAction{Service: ptr.To("other")}, serve: serving, want: serviceUnknown},
		"not serving":                     {serve: not, want: notServing},
		"no health service":               {serve: func(*grpc.Server) {}, want: healthServiceMissing},
		"unavailable":                     {serve: failing(status.Error(codes.Unavailable, "connection refused")), want: notServing},
		"permission denied":               {serve: failing(status.Error(codes.PermissionDenied, "")), want: unexpectedStatus},
		"hangs in the call":               {serve: hangs, timeout: brief, want: timedOut},
		"over TLS":                        {tls: &common.CheckTLS{}, roots: ca.pem, host: "db.example.com", serve: serving, options: []grpc.ServerOption{overTLS}, want: connected},
		"over TLS, not serving":           {tls: &common.CheckTLS{}, roots: ca.pem, serve: not, options: []grpc.ServerOption{overTLS}, want: notServing},
		"TLS for another name":            {tls: &common.CheckTLS{}, roots: ca.pem, host: "other.example.com", serve: serving, options: []grpc.ServerOption{overTLS}, want: certificateMismatch},
		"plain, asked over TLS":           {tls: &common.CheckTLS{InsecureSkipVerify: ptr.To(true)}, serve: serving, want: tlsFailed},
		"TLS, asked plainly":              {serve: serving, options: []grpc.ServerOption{overTLS}, want: reset},
		"roots that are none":             {tls: &common.CheckTLS{}, roots: []byte("-----BEGIN"), serve: serving, want: tlsFailed},
		"an authority with a line break":  {grpc: common.GRPCAction{Authority: ptr.To("a\r\nb: c")}, serve: serving, want: protocolError},
		"an answer that is too long": {serve: func(s *grpc.Server) {
			healthv1.RegisterHealthServer(s, answering{check: func(ctx context.Context) (*healthv1.HealthCheckResponse, error) {
				return nil, errors.Join(grpc.SetTrailer(ctx, metadata.Pairs("x", strings.Repeat("y", 1<<20))), status.Error(codes.Internal, "too long"))
			}})
		}, want: protocolError},

		"nothing listens":               {want: refused},
		"accepts and hangs":             {raw: hang, timeout: brief, want: timedOut},
		"accepts and resets":            {raw: cut(""), want: reset},
		"HTTP/1.1":                      {raw: say("HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n"), want: protocolError},
		"garbage":                       {raw: cut("no frame at all, no frame at all"), want: protocolError},
		"HTTP/2 that resets":            {raw: cut(settings), want: reset},
		"HTTP/2 that hangs":             {raw: say(settings), timeout: brief, want: timedOut},
		"HTTP/2, and then a huge frame": {raw: say(settings + "\xff\xff\xff\x00\x00\x00\x00\x00\x01"), want: protocolError},
	} {
		t.Run(name, func(t *testing.T) {
			w := &network{}
			check := nothingLeft(t, w)
			port, stop := closedPort(t), func() {}
			switch {
			case tc.serve != nil:
				port, stop = serve(t, tc.serve, tc.options...)
			case tc.raw != nil:
				port, stop = listen(t, tc.raw)
			}
			if tc.timeout == 0 {
				tc.timeout = ample
			}
			start := time.Now()
			if got := probeOnce(t, w, calling(tc.grpc, tc.tls, tc.roots), port, tc.host, tc.timeout); got != tc.want {
				t.Errorf("%s, want %s", got.reason(), tc.want.reason())
			}
			if took := time.Since(start); took > ample/2 {
				t.Errorf("it took %s", took)
			}
			stop()
			check()
		})
	}
}

// serveHTTP2 has an HTTP/2 server listen that is none of the gRPC library.
func serveHTTP2(t *testing.T, handler http.HandlerFunc) (port uint16) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: handler, Protocols: new(http.Protocols), ReadHeaderTimeout: ample}
	server.Protocols.SetUnencryptedHTTP2(true)
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
		if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
			t.Error(err)
		}
	})
	return listener.Addr().(*net.TCPAddr).AddrPort().Port()
}

func TestAnHTTP2ServerThatKnowsNoGRPCIsAProtocolError(t *testing.T) {
	port := serveHTTP2(t, http.NotFound)
	if got := probeOnce(t, &network{}, calling(common.GRPCAction{}, nil, nil), port, "", ample); got != protocolError {
		t.Errorf("%s, want ProtocolError", got.reason())
	}
}

// lateContext has a deadline at which it is not done: the timer of a process that gets no processor fires late.
type lateContext struct{ context.Context }

func (lateContext) Done() <-chan struct{} { return nil }
func (lateContext) Err() error            { return nil }

func TestAServerThatEndsTheCallAtItsDeadlineHasTimedOut(t *testing.T) {
	port := serveHTTP2(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/grpc")
		w.Header().Set("Trailer", "Grpc-Status")
		select {
		case <-time.After(2 * brief):
		case <-r.Context().Done():
		}
		w.Header().Set("Grpc-Status", strconv.Itoa(int(codes.Canceled)))
	})
	ctx, cancel := context.WithTimeout(t.Context(), brief)
	defer cancel()
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(int(port))))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	if got := checkGRPC(lateContext{ctx}, newCheckPlan(ptr.To(calling(common.GRPCAction{}, nil, nil))), conn, dialTarget{}); got != timedOut {
		t.Errorf("%s, want Timeout", got.reason())
	}
}

func TestTheAuthorityOfAGRPCProbe(t *testing.T) {
	ca := newAuthority(t)
	config := &tls.Config{Certificates: []tls.Certificate{ca.server(t, time.Now().Add(time.Hour))}}
	for name, tc := range map[string]struct {
		check Check
		host  string
		want  string
	}{
		"the address":   {calling(common.GRPCAction{}, nil, nil), "", outside.String()},
		"the name":      {calling(common.GRPCAction{}, nil, nil), "db.example.com", "db.example.com"},
		"the check's":   {calling(common.GRPCAction{Authority: ptr.To("shop.example.com:443")}, nil, nil), "db.example.com", "shop.example.com:443"},
		"and over TLS":  {calling(common.GRPCAction{}, &common.CheckTLS{}, ca.pem), "db.example.com", "db.example.com"},
		"not the SNI's": {calling(common.GRPCAction{Authority: ptr.To("a.example.com")}, &common.CheckTLS{ServerName: ptr.To("db.example.com")}, ca.pem), "", "a.example.com"},
	} {
		t.Run(name, func(t *testing.T) {
			var got string
			var options []grpc.ServerOption
			if tc.check.TLS != nil {
				options = append(options, grpc.Creds(credentials.NewTLS(config)))
			}
			port, stop := serve(t, func(s *grpc.Server) {
				healthv1.RegisterHealthServer(s, answering{check: func(ctx context.Context) (*healthv1.HealthCheckResponse, error) {
					incoming, _ := metadata.FromIncomingContext(ctx)
					got = strings.Join(incoming.Get(":authority"), ",")
					if from, ok := peer.FromContext(ctx); ok && tc.check.TLS != nil {
						if info, ok := from.AuthInfo.(credentials.TLSInfo); !ok || info.State.NegotiatedProtocol != "h2" {
							t.Errorf("over TLS: %v", from.AuthInfo)
						}
					}
					if agent := incoming.Get("user-agent"); len(agent) != 1 || !strings.HasPrefix(agent[0], userAgent) {
						t.Errorf("user agent %q", agent)
					}
					return &healthv1.HealthCheckResponse{Status: healthv1.HealthCheckResponse_SERVING}, nil
				}})
			}, options...)
			if outcome := probeOnce(t, &network{}, tc.check, port, tc.host, ample); outcome != connected {
				t.Errorf("%s, want Connected", outcome.reason())
			}
			stop()
			if got != tc.want {
				t.Errorf("authority %q, want %q", got, tc.want)
			}
		})
	}
}
