// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package externalnet

import (
	"context"
	"crypto/tls"
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
)

func check(t *testing.T, at string, within time.Duration, creds credentials.TransportCredentials) (healthv1.HealthCheckResponse_ServingStatus, error) {
	t.Helper()
	connection, err := grpc.NewClient("passthrough:///"+at, grpc.WithTransportCredentials(creds), grpc.WithAuthority("db.example.com"),
		grpc.WithContextDialer(func(ctx context.Context, to string) (net.Conn, error) {
			return Dial(ctx, "tcp", netip.MustParseAddrPort(to))
		}))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = connection.Close() }()
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()
	answer, err := healthv1.NewHealthClient(connection).Check(ctx, &healthv1.HealthCheckRequest{Service: "shop"})
	return answer.GetStatus(), err
}

func TestFaultsOfGRPCAreWhatAClientSees(t *testing.T) {
	w := newWorld(t)
	plain := ok(t)(w.GRPC("192.0.2.30:9090"))
	secure := ok(t)(w.GRPCTLS("192.0.2.30:9443", "db.example.com"))
	type creds struct {
		server *Server
		at     string
		with   credentials.TransportCredentials
	}
	both := []creds{
		{plain, "192.0.2.30:9090", insecure.NewCredentials()},
		{secure, "192.0.2.30:9443", credentials.NewTLS(&tls.Config{RootCAs: w.CA.Pool(), ServerName: "db.example.com"})},
	}
	const serving, notServing = healthv1.HealthCheckResponse_SERVING, healthv1.HealthCheckResponse_NOT_SERVING
	for name, test := range map[string]struct {
		behavior Behavior
		state    healthv1.HealthCheckResponse_ServingStatus
		code     codes.Code
	}{
		"healthy":       {Behavior{}, serving, codes.OK},
		"not serving":   {Behavior{Fault: NotServing}, notServing, codes.OK},
		"unknown":       {Behavior{Fault: ServiceUnknown}, 0, codes.NotFound},
		"unimplemented": {Behavior{Fault: Unimplemented}, 0, codes.Unimplemented},
		"slow":          {Behavior{Delay: time.Minute}, 0, codes.DeadlineExceeded},
		"hang":          {Behavior{Fault: Hang}, 0, codes.DeadlineExceeded},
		"refuse":        {Behavior{Fault: Refuse}, 0, codes.Unavailable},
		"reset":         {Behavior{Fault: Reset}, 0, codes.Unavailable},
		"garbage":       {Behavior{Fault: Garbage}, 0, codes.Unavailable},
	} {
		t.Run(name, func(t *testing.T) {
			for _, c := range both {
				set(t, c.server, test.behavior)
				within := patience
				if test.code == codes.DeadlineExceeded {
					within = moment
				}
				state, err := check(t, c.at, within, c.with)
				if status.Code(err) != test.code || state != test.state {
					t.Errorf("%s: %s, %v", c.at, state, err)
				}
			}
		})
	}
}

func TestCallsOfGRPCAreCountedWithWhatTheClientSaid(t *testing.T) {
	w := newWorld(t)
	s := ok(t)(w.GRPCTLS("192.0.2.30:9443", "db.example.com"))
	with := credentials.NewTLS(&tls.Config{RootCAs: w.CA.Pool(), ServerName: "db.example.com"})
	if _, err := check(t, "192.0.2.30:9443", patience, with); err != nil {
		t.Fatal(err)
	}
	seen := s.Counts().Latest[0]
	if !strings.HasPrefix(seen.UserAgent, "grpc-go/") || seen.Host != "db.example.com" || seen.Path != "shop" || seen.ServerName != "db.example.com" || seen.Method != "/grpc.health.v1.Health/Check" {
		t.Errorf("seen %+v", seen)
	}
	set(t, s, Behavior{Fault: Expired})
	if _, err := check(t, "192.0.2.30:9443", patience, with); status.Code(err) != codes.Unavailable || !strings.Contains(err.Error(), "expired") {
		t.Errorf("with an expired certificate: %v", err)
	}
}
