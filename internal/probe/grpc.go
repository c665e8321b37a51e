// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"cmp"
	"context"
	"errors"
	"net"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"k8s.io/utils/ptr"
)

// Limits of what is read of a response. One of the health service takes a hundred bytes.
const (
	answerLimit  = 4 << 10
	trailerLimit = 16 << 10
	bufferSize   = 4 << 10
)

var errOnce = errors.New("a probe uses one connection")

// checkGRPC calls the health service over conn.
func checkGRPC(ctx context.Context, plan *checkPlan, conn net.Conn, to dialTarget) outcome {
	authority := cmp.Or(plan.host, bracketed(to.hostOrIP()))
	wire := &recordingConn{Conn: conn}
	var once sync.Once
	client, err := grpc.NewClient("passthrough:///probe",
		grpc.WithContextDialer(func(context.Context, string) (net.Conn, error) {
			err := errOnce
			once.Do(func() { err = nil })
			if err != nil {
				return nil, err
			}
			return wire, nil
		}),
		grpc.WithTransportCredentials(presetCredentials{secure: plan.usesTLS()}),
		grpc.WithAuthority(authority),
		grpc.WithUserAgent(userAgent),
		grpc.WithNoProxy(),
		grpc.WithDisableServiceConfig(),
		grpc.WithDisableRetry(),
		grpc.WithDisableHealthCheck(),
		grpc.WithIdleTimeout(0),
		grpc.WithMaxHeaderListSize(trailerLimit),
		grpc.WithReadBufferSize(bufferSize),
		grpc.WithWriteBufferSize(bufferSize),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(answerLimit)),
	)
	if err != nil {
		return protocolError
	}
	var header, trailer metadata.MD
	answer, err := healthv1.NewHealthClient(client).Check(ctx, &healthv1.HealthCheckRequest{Service: ptr.Deref(plan.GRPC.Service, "")},
		grpc.Header(&header), grpc.Trailer(&trailer))
	if err != nil {
		// Otherwise Close would wait for a server that does not read.
		wire.abort()
	}
	_ = client.Close() // it can only say that it is closed already
	if err == nil {
		switch answer.GetStatus() {
		case healthv1.HealthCheckResponse_SERVING:
			return connected
		case healthv1.HealthCheckResponse_SERVICE_UNKNOWN:
			return serviceUnknown
		default:
			return notServing
		}
	}
	if end, set := ctx.Deadline(); set && !time.Now().Before(end) {
		return timedOut // the server knows the deadline, and its response to that may be read before the timer here fires
	}
	return wire.outcomeOf(err, len(header)+len(trailer) > 0)
}

// outcomeOf returns the outcome of a call that failed. The client has errors of the connection as text only, so that
// they are taken from the connection itself.
func (c *recordingConn) outcomeOf(err error, answered bool) outcome {
	code := status.Code(err)
	http2, failure := c.result()
	switch {
	case code == codes.DeadlineExceeded && !answered:
		return timedOut
	case answered && http2:
		return codeOutcome(code)
	case failure == nil:
		return protocolError
	}
	otherwise := protocolError
	if word := outcomeOf(failure, otherwise); http2 || word != reset {
		return word
	}
	return c.earlyEnd()
}

// codeOutcome returns the outcome of a code that the server sent. The codes are those of the health checking protocol
// (https://grpc.io/docs/guides/health-checking) and, for a server without it, those of its library.
func codeOutcome(code codes.Code) outcome {
	switch code {
	case codes.NotFound:
		return serviceUnknown
	case codes.Unimplemented:
		return healthServiceMissing
	case codes.Unavailable:
		return notServing
	default:
		return unexpectedStatus
	}
}

// presetCredentials are those of a connection whose handshake is complete: there its errors can be told apart.
type presetCredentials struct{ secure bool }

// presetAuthInfo describes the connection to the client.
type presetAuthInfo struct{ credentials.CommonAuthInfo }

var (
	_ credentials.TransportCredentials = presetCredentials{}
	_ credentials.AuthInfo             = presetAuthInfo{}
)

func (presetAuthInfo) AuthType() string { return "done" }

func (p presetCredentials) ClientHandshake(_ context.Context, _ string, conn net.Conn) (net.Conn, credentials.AuthInfo, error) {
	return conn, presetAuthInfo{credentials.CommonAuthInfo{SecurityLevel: credentials.NoSecurity}}, nil
}

func (presetCredentials) ServerHandshake(net.Conn) (net.Conn, credentials.AuthInfo, error) {
	return nil, nil, errors.New("probe: a probe is a client")
}

func (p presetCredentials) Info() credentials.ProtocolInfo {
	if p.secure {
		return credentials.ProtocolInfo{SecurityProtocol: "tls"}
	}
	return credentials.ProtocolInfo{SecurityProtocol: "insecure"}
}

func (p presetCredentials) Clone() credentials.TransportCredentials { return p }

func (presetCredentials) OverrideServerName(string) error { return nil }

// recordingConn records the first error of a connection that another library uses, and whether the server speaks
// HTTP/2: its first frame has to be SETTINGS.
type recordingConn struct {
	net.Conn

	mu         sync.Mutex
	firstFrame [frameHeader]byte
	read       int
	failure    error
	ended      bool
}

const (
	frameHeader   = 9
	frameType     = 3
	frameSettings = 4
)

func (c *recordingConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.read < frameHeader {
		copy(c.firstFrame[c.read:], b[:n])
	}
	c.read += n
	c.record(err)
	return n, err
}

func (c *recordingConn) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.record(err)
	return n, err
}

// record keeps the first error that abort did not cause.
func (c *recordingConn) record(err error) {
	if err != nil && c.failure == nil && !c.ended {
		c.failure = err
	}
}

// The deadline of the probe is set already, and holds.

func (c *recordingConn) SetDeadline(time.Time) error      { return nil }
func (c *recordingConn) SetReadDeadline(time.Time) error  { return nil }
func (c *recordingConn) SetWriteDeadline(time.Time) error { return nil }

// abort has every read and write return.
func (c *recordingConn) abort() {
	c.mu.Lock()
	c.ended = true
	c.mu.Unlock()
	_ = c.Conn.SetDeadline(time.Unix(1, 0)) // one that cannot be cut is closed already
}

// result returns whether the server spoke HTTP/2, and the first error.
func (c *recordingConn) result() (http2 bool, failure error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.read >= frameHeader && c.firstFrame[frameType] == frameSettings, c.failure
}

// earlyEnd returns the outcome of a connection that ended before the server spoke HTTP/2: it sent nothing, or another
// protocol.
func (c *recordingConn) earlyEnd() outcome {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.read == 0 {
		return reset
	}
	return protocolError
}
