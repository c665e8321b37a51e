// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/netip"
	"time"

	"github.com/fairlead-dev/fairlead/internal/egress"
)

// userAgent tells the other side who asks.
const userAgent = "fairlead-probe/1"

// question is a Check made ready to be asked, once for all targets of an object. The Check
// stays as it was given, so that the same one is known again.
type question struct {
	Check

	path string
	// headers are the lines beside those that are the same for every check.
	headers string
	roots   *x509.CertPool
	// broken is the outcome of every probe, where the check cannot be carried out.
	broken outcome
}

func newQuestion(c *Check) *question {
	q := &question{Check: *c}
	if q.Kind == KindTCP {
		q.TLS = nil
		return q
	}
	q.path = requestTarget(q.HTTP.Path)
	q.headers = lines(q.HTTP.Headers)
	if !plain(q.HTTP.Host) || !plain(q.GRPC.Authority) || !sendable(q.HTTP.Headers) {
		q.broken = protocolError
	}
	if q.TLS != nil && len(q.TLS.RootPEM) > 0 {
		q.roots = x509.NewCertPool()
		if !q.roots.AppendCertsFromPEM(q.TLS.RootPEM) {
			q.broken = tlsFailed
		}
	}
	return q
}

// secure says whether it is asked over TLS.
func (q *question) secure() bool {
	return q.Kind == KindHTTP && q.HTTP.HTTPS || q.Kind == KindGRPC && q.TLS != nil
}

// place is where a question is asked: what of a target a probe needs.
type place struct {
	egress.Query

	host string
}

// name is the DNS name, or else the address.
func (p place) name() string {
	if p.host != "" {
		return p.host
	}
	return p.IP.String()
}

// asker asks.
type asker struct {
	dial    func(ctx context.Context, to egress.Query) (net.Conn, error)
	lookup  func(ctx context.Context, host string) ([]netip.Addr, error)
	readers readers
}

// ask probes once. The timeout covers all of it, and nothing is left when it returns.
func (a *asker) ask(ctx context.Context, q *question, at place, timeout time.Duration) outcome {
	if q.broken != none {
		return q.broken
	}
	if !plain(at.host) {
		return protocolError
	}
	deadline := time.Now().Add(timeout)
	ctx, cancel := context.WithDeadline(ctx, deadline)
	defer cancel()
	if !at.IP.IsValid() && at.host != "" && a.lookup != nil {
		return a.askAny(ctx, q, at, deadline)
	}
	conn, err := a.dial(ctx, at.Query)
	if err != nil {
		return outcomeOf(err, unreachable)
	}
	defer func() { _ = conn.Close() }()
	if q.Kind == KindTCP {
		return connected
	}
	if err := conn.SetDeadline(deadline); err != nil {
		return outcomeOf(err, unreachable)
	}
	defer cutShort(ctx, conn)()
	if q.secure() {
		secured := tls.Client(conn, q.tls(at))
		if err := secured.HandshakeContext(ctx); err != nil {
			return outcomeOf(err, tlsFailed)
		}
		defer func() { _ = secured.Close() }()
		conn = secured
	}
	if q.Kind == KindHTTP {
		return a.get(q, conn, at)
	}
	return call(ctx, q, conn, at)
}

// cutShort has the connection fail at once where ctx ends before it is stopped.
func cutShort(ctx context.Context, conn net.Conn) (stop func()) {
	over := make(chan struct{})
	keep := context.AfterFunc(ctx, func() {
		defer close(over)
		_ = conn.SetDeadline(time.Unix(1, 0)) // one that cannot be cut is closed already
	})
	return func() {
		if !keep() {
			<-over
		}
	}
}

func (q *question) tls(at place) *tls.Config {
	c := &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: q.roots, ServerName: at.name()}
	if q.TLS != nil {
		c.InsecureSkipVerify = q.TLS.SkipVerify // asked for by the author of the check
		if q.TLS.ServerName != "" {
			c.ServerName = q.TLS.ServerName
		}
	}
	c.NextProtos = []string{"http/1.1"}
	if q.Kind == KindGRPC {
		c.NextProtos = []string{"h2"}
	}
	return c
}

// bracketed is a name as it stands in a Host header or an authority.
func bracketed(name string) string {
	if ip, err := netip.ParseAddr(name); err == nil && ip.Is6() {
		return "[" + ip.WithZone("").String() + "]"
	}
	return name
}
