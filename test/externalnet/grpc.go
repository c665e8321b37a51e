// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package externalnet

import (
	"context"
	"crypto/tls"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
)

// newGRPC serves the gRPC health service on a front, over TLS where a configuration is given.
func newGRPC(f *front, secure *tls.Config) *Server {
	options := []grpc.ServerOption{grpc.WaitForHandlers(true)}
	if secure != nil {
		options = append(options, grpc.Creds(credentials.NewTLS(secure)))
	}
	server := grpc.NewServer(options...)
	healthv1.RegisterHealthServer(server, &health{front: f})
	f.work.Go(func() { _ = server.Serve(f) })
	return &Server{front: f, finish: server.Stop}
}

// health responds to checks by the behavior of the server, for every service alike.
type health struct {
	healthv1.UnimplementedHealthServer
	front *front
}

// Check responds to one check.
func (h *health) Check(ctx context.Context, r *healthv1.HealthCheckRequest) (*healthv1.HealthCheckResponse, error) {
	h.front.counter.requested(called(ctx, r))
	c := h.front.current()
	if !pause(ctx, h.front.done, c.Delay) {
		return nil, status.Error(codes.Canceled, "gone")
	}
	switch c.Fault {
	case NotServing:
		return &healthv1.HealthCheckResponse{Status: healthv1.HealthCheckResponse_NOT_SERVING}, nil
	case ServiceUnknown:
		return nil, status.Error(codes.NotFound, "unknown service")
	case Unimplemented:
		return nil, status.Error(codes.Unimplemented, "unknown service grpc.health.v1.Health")
	default:
		return &healthv1.HealthCheckResponse{Status: healthv1.HealthCheckResponse_SERVING}, nil
	}
}

func called(ctx context.Context, r *healthv1.HealthCheckRequest) Request {
	seen := Request{Method: healthv1.Health_Check_FullMethodName, Path: r.GetService()}
	if headers, ok := metadata.FromIncomingContext(ctx); ok {
		seen.Host = first(headers.Get(":authority"))
		seen.UserAgent = first(headers.Get("user-agent"))
	}
	if p, ok := peer.FromContext(ctx); ok {
		if secure, ok := p.AuthInfo.(credentials.TLSInfo); ok {
			seen.ServerName = secure.State.ServerName
		}
	}
	return seen
}

func first(values []string) string {
	if len(values) == 0 {
		return ""
	}
	return values[0]
}
