// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package probe

import (
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
)

// What is read of an answer at most. One of the health service takes a hundred bytes.
const (
	answerLimit  = 4 << 10
	trailerLimit = 16 << 10
	bufferSize   = 4 << 10
)

var errOnce = errors.New("a probe uses one connection")

// checkGRPC asks the health service over a connection that is open, and secured if it shall be.
func checkGRPC(ctx context.Context, q *checkPlan, conn net.Conn, at dialTarget) outcome {
	authority := q.GRPC.Authority
	if authority == "" {
		authority = bracketed(at.hostOrIP())
	}
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
		grpc.WithTransportCredentials(presetCredentials{secure: q.usesTLS()}),
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
	answer, err := healthv1.NewHealthClient(client).Check(ctx, &healthv1.HealthCheckRequest{Service: q.GRPC.Service},
		grpc.Header(&header), grpc.Trailer(&trailer))
	if err != nil {
		// Or closing would wait for a peer that does not read.
		wire.abort()
	}
	_ = client.Close() // it can only say that it is closed already
	if err == nil {
		if answer.GetStatus() == healthv1.HealthCheckResponse_SERVING {
			return connected
		}
		return notServing
	}
	return wire.outcomeOf(err, len(header)+len(trailer) > 0)
}

// outcomeOf is the word for a call that failed. The client folds what befell the connection into
// texts; so that is taken from the connection itself.
func (w *recordingConn) outcomeOf(err error, answered bool) outcome {
	code := status.Code(err)
	http2, failure := w.result()
	switch {
	case code == codes.DeadlineExceeded && !answered:
		return timedOut
	case answered && http2:
		return notServing
	case failure == nil:
		return protocolError
	}
	otherwise := protocolError
	if word := outcomeOf(failure, otherwise); http2 || word != reset {
		return word
	}
	return w.earlyEnd()
}

// presetCredentials are credentials for a connection whose handshake was made before, where its errors can be
// told apart.
type presetCredentials struct{ secure bool }

// presetAuthInfo tells the client what the connection is.
type presetAuthInfo struct{ credentials.CommonAuthInfo }

var (
	_ credentials.TransportCredentials = presetCredentials{}
	_ credentials.AuthInfo             = presetAuthInfo{}
)

func (presetAuthInfo) AuthType() string { return "done" }

func (d presetCredentials) ClientHandshake(_ context.Context, _ string, conn net.Conn) (net.Conn, credentials.AuthInfo, error) {
	return conn, presetAuthInfo{credentials.CommonAuthInfo{SecurityLevel: credentials.NoSecurity}}, nil
}

func (presetCredentials) ServerHandshake(net.Conn) (net.Conn, credentials.AuthInfo, error) {
	return nil, nil, errors.New("probing: a probe is a client")
}

func (d presetCredentials) Info() credentials.ProtocolInfo {
	if d.secure {
		return credentials.ProtocolInfo{SecurityProtocol: "tls"}
	}
	return credentials.ProtocolInfo{SecurityProtocol: "insecure"}
}

func (d presetCredentials) Clone() credentials.TransportCredentials { return d }

func (presetCredentials) OverrideServerName(string) error { return nil }

// recordingConn notes what befalls a connection that is in another library's hands, and whether the other
// side speaks HTTP/2: its first frame has to be SETTINGS.
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

func (w *recordingConn) Read(b []byte) (int, error) {
	n, err := w.Conn.Read(b)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.read < frameHeader {
		copy(w.firstFrame[w.read:], b[:n])
	}
	w.read += n
	w.record(err)
	return n, err
}

func (w *recordingConn) Write(b []byte) (int, error) {
	n, err := w.Conn.Write(b)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.record(err)
	return n, err
}

// record keeps the first failure that is not of our own making.
func (w *recordingConn) record(err error) {
	if err != nil && w.failure == nil && !w.ended {
		w.failure = err
	}
}

// The deadline of the probe is set already, and holds.

func (w *recordingConn) SetDeadline(time.Time) error      { return nil }
func (w *recordingConn) SetReadDeadline(time.Time) error  { return nil }
func (w *recordingConn) SetWriteDeadline(time.Time) error { return nil }

// abort has every read and write return.
func (w *recordingConn) abort() {
	w.mu.Lock()
	w.ended = true
	w.mu.Unlock()
	_ = w.Conn.SetDeadline(time.Unix(1, 0)) // one that cannot be cut is closed already
}

// result says whether the other side spoke HTTP/2, and returns the first failure.
func (w *recordingConn) result() (http2 bool, failure error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.read >= frameHeader && w.firstFrame[frameType] == frameSettings, w.failure
}

// earlyEnd is the word for a connection that ended before the other side spoke HTTP/2: it said nothing, or
// something else.
func (w *recordingConn) earlyEnd() outcome {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.read == 0 {
		return reset
	}
	return protocolError
}
