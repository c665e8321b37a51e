// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/netip"
	"sync"
	"time"

	"github.com/fairlead-dev/fairlead/internal/egress"
	"github.com/fairlead-dev/fairlead/internal/panics"
)

// userAgent tells the other side who asks.
const userAgent = "fairlead-probe/1"

// checkPlan is a Check made ready to be asked, once for all targets of an object. The Check
// stays as it was given, so that the same one is known again.
type checkPlan struct {
	Check

	path string
	// headers are the lines beside those that are the same for every check.
	headers string
	roots   *x509.CertPool
	// invalid is the outcome of every probe, where the check cannot be carried out.
	invalid outcome
}

func newCheckPlan(c *Check) *checkPlan {
	q := &checkPlan{Check: *c}
	if q.Kind == KindTCP {
		q.TLS = nil
		return q
	}
	q.path = requestTarget(q.HTTP.Path)
	q.headers = headerLines(q.HTTP.Headers)
	if !isPlain(q.HTTP.Host) || !isPlain(q.GRPC.Authority) || !allSendable(q.HTTP.Headers) {
		q.invalid = protocolError
	}
	if q.TLS != nil && len(q.TLS.RootPEM) > 0 {
		q.roots = x509.NewCertPool()
		if !q.roots.AppendCertsFromPEM(q.TLS.RootPEM) {
			q.invalid = tlsFailed
		}
	}
	return q
}

// usesTLS says whether it is asked over TLS.
func (q *checkPlan) usesTLS() bool {
	return q.Kind == KindHTTP && q.HTTP.HTTPS || q.Kind == KindGRPC && q.TLS != nil
}

// dialTarget is where a question is asked: what of a target a probe needs.
type dialTarget struct {
	egress.Query

	host string
}

// hostOrIP is the DNS name, or else the address.
func (p dialTarget) hostOrIP() string {
	if p.host != "" {
		return p.host
	}
	return p.IP.String()
}

// checker asks.
type checker struct {
	dial    func(ctx context.Context, to egress.Query) (net.Conn, error)
	lookup  func(ctx context.Context, host string) ([]netip.Addr, error)
	readers readerPool
}

// check probes once. The timeout covers all of it, and nothing is left when it returns.
func (a *checker) check(ctx context.Context, q *checkPlan, at dialTarget, timeout time.Duration) outcome {
	if q.invalid != none {
		return q.invalid
	}
	if !isPlain(at.host) {
		return protocolError
	}
	deadline := time.Now().Add(timeout)
	ctx, cancel := context.WithDeadline(ctx, deadline)
	defer cancel()
	if !at.IP.IsValid() && at.host != "" && a.lookup != nil {
		return a.checkAny(ctx, q, at, deadline)
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
	defer abortOnDone(ctx, conn)()
	if q.usesTLS() {
		secured := tls.Client(conn, q.tls(at))
		if err := secured.HandshakeContext(ctx); err != nil {
			return outcomeOf(err, tlsFailed)
		}
		defer func() { _ = secured.Close() }()
		conn = secured
	}
	if q.Kind == KindHTTP {
		return a.checkHTTP(q, conn, at)
	}
	return checkGRPC(ctx, q, conn, at)
}

// abortOnDone has the connection fail at once where ctx ends before it is stopped.
func abortOnDone(ctx context.Context, conn net.Conn) (stop func()) {
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

func (q *checkPlan) tls(at dialTarget) *tls.Config {
	c := &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: q.roots, ServerName: at.hostOrIP()}
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

// maxAddresses of a name are asked. They are asked at once, so that one that hangs does not use up
// the time of the others.
const maxAddresses = 8

// checkAny asks what a name leads to now. One address that is well is enough, and ends the others.
func (a *checker) checkAny(ctx context.Context, q *checkPlan, at dialTarget, deadline time.Time) outcome {
	addresses, err := a.lookup(ctx, at.host)
	if err != nil || len(addresses) == 0 {
		return unresolved
	}
	addresses = addresses[:min(len(addresses), maxAddresses)]
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	results := make([]outcome, len(addresses))
	var asking sync.WaitGroup
	for i, ip := range addresses {
		there := at
		there.IP = ip
		asking.Go(func() {
			if !ip.IsValid() {
				results[i] = unresolved
				return
			}
			results[i] = local // what a panic leaves: the address was not asked
			panics.Go("probe", func() { results[i] = a.check(ctx, q, there, time.Until(deadline)) })
			if results[i] == connected {
				cancel()
			}
		})
	}
	asking.Wait()
	return bestOutcome(results)
}

// bestOutcome is the result of a name whose addresses have these: one that is well, else a failure, else
// that it could not be asked.
func bestOutcome(results []outcome) outcome {
	rank := func(o outcome) int {
		switch {
		case o == connected:
			return 3
		case o == local:
			return 1
		case o.isNotProbed():
			return 0
		}
		return 2
	}
	found := results[0]
	for _, result := range results[1:] {
		if rank(result) > rank(found) {
			found = result
		}
	}
	return found
}
