// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/netip"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fairlead-dev/fairlead/internal/egress"
)

// outside is an address whose every port is a listener on loopback.
var outside = netip.MustParseAddr("192.0.2.7")

// network maps documentation addresses to loopback, and counts connections.
type network struct {
	opened, closed atomic.Int64
}

type countedConn struct {
	net.Conn

	network *network
	once    atomic.Bool
}

func (c *countedConn) Close() error {
	if c.once.CompareAndSwap(false, true) {
		c.network.closed.Add(1)
	}
	return c.Conn.Close()
}

func (n *network) dial(ctx context.Context, to egress.Query) (net.Conn, error) {
	if to.IP != outside {
		return nil, fmt.Errorf("refused by policy: %w", egress.ErrDenied)
	}
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", netip.AddrPortFrom(netip.MustParseAddr("127.0.0.1"), to.Port).String())
	if err != nil {
		return nil, fmt.Errorf("dial: %w", err)
	}
	n.opened.Add(1)
	return &countedConn{Conn: conn, network: n}, nil
}

// nothingLeft demands that what was started since is gone: connections now, goroutines soon, since
// those of the servers take a moment.
func nothingLeft(t *testing.T, w *network) (check func()) {
	t.Helper()
	before := runtime.NumGoroutine()
	return func() {
		t.Helper()
		if opened, closed := w.opened.Load(), w.closed.Load(); opened != closed {
			t.Errorf("%d connections were opened, and %d closed", opened, closed)
		}
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		for range 6000 {
			if runtime.NumGoroutine() <= before {
				return
			}
			<-tick.C
		}
		stacks := make([]byte, 64<<10)
		t.Errorf("%d goroutines, %d before:\n%s", runtime.NumGoroutine(), before, stacks[:runtime.Stack(stacks, true)])
	}
}

// listen has a server handle one connection after the other, and returns its port and how to end it.
func listen(t testing.TB, handle func(net.Conn)) (port uint16, stop func()) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
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
	return listener.Addr().(*net.TCPAddr).AddrPort().Port(), func() {
		_ = listener.Close()
		<-ended
	}
}

// hang reads until the other side closes.
func hang(conn net.Conn) { _, _ = io.Copy(io.Discard, conn) }

// say reads the beginning of the request, answers the text and waits for the other side to close.
func say(text string) func(net.Conn) {
	return func(conn net.Conn) {
		_, _ = conn.Read(make([]byte, 4096))
		_, _ = io.WriteString(conn, text)
		hang(conn)
	}
}

// cut reads the beginning of the request, answers the text and resets the connection.
func cut(text string) func(net.Conn) {
	return func(conn net.Conn) {
		_, _ = conn.Read(make([]byte, 4096))
		_, _ = io.WriteString(conn, text)
		_ = conn.(*net.TCPConn).SetLinger(0)
	}
}

// closedPort is one where nothing listens.
func closedPort(t *testing.T) uint16 {
	t.Helper()
	port, stop := listen(t, hang)
	stop()
	return port
}

// authority signs certificates.
type authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
	pem         []byte
}

func newAuthority(t testing.TB) *authority {
	t.Helper()
	a := &authority{}
	der := a.sign(t, &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test authority"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	})
	var err error
	if a.certificate, err = x509.ParseCertificate(der.Certificate[0]); err != nil {
		t.Fatal(err)
	}
	a.key = der.PrivateKey.(*ecdsa.PrivateKey)
	a.pem = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der.Certificate[0]})
	return a
}

// sign makes a certificate, signed by itself where there is no authority yet.
func (a *authority) sign(t testing.TB, template *x509.Certificate) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	parent, signer := template, key
	if a.certificate != nil {
		parent, signer = a.certificate, a.key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, signer)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

// server is a certificate for db.example.com and for the address outside.
func (a *authority) server(t testing.TB, until time.Time) tls.Certificate {
	t.Helper()
	return a.sign(t, &x509.Certificate{
		SerialNumber: big.NewInt(2), DNSNames: []string{"db.example.com"}, IPAddresses: []net.IP{outside.AsSlice()},
		NotBefore: time.Now().Add(-2 * time.Hour), NotAfter: until,
	})
}

// secured has a handler speak TLS.
func secured(config *tls.Config, handle func(net.Conn)) func(net.Conn) {
	return func(conn net.Conn) {
		server := tls.Server(conn, config)
		err := server.HandshakeContext(context.Background())
		if err == nil {
			handle(server)
			_ = server.Close()
		} else if _, plain := errors.AsType[tls.RecordHeaderError](err); !plain {
			// Closing at once could overtake the alert.
			hang(conn)
		}
	}
}

// probeOnce asks a port.
func probeOnce(t testing.TB, w *network, c Check, port uint16, host string, timeout time.Duration) outcome {
	t.Helper()
	a := checker{dial: w.dial}
	return a.check(t.Context(), newCheckPlan(&c), dialTarget{Query: egress.Query{IP: outside, Port: port}, host: host}, timeout)
}
