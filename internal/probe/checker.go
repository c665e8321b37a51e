// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/netip"
	"sync"
	"time"

	_ "golang.org/x/crypto/x509roots/fallback" // the image ships no certificates; those of a system are taken where there are any

	"github.com/fairlead-dev/fairlead/internal/egress"
	"github.com/fairlead-dev/fairlead/internal/panics"
)

// userAgent identifies probes to servers.
const userAgent = "fairlead-probe/1"

// checkPlan is a Check prepared for all targets of an object. The Check stays as given, for isEqual.
type checkPlan struct {
	Check

	path string
	// host is the Host header or the authority; empty for that of the target.
	host string
	// headers are the lines besides those that are the same for every check.
	headers string
	steps   []tcpStep
	roots   *x509.CertPool
	// clientCertificate returns the certificate to present; nil for none.
	clientCertificate func(*tls.CertificateRequestInfo) (*tls.Certificate, error)
	// invalid is the outcome of every probe of a check that cannot be sent, or none.
	invalid outcome
}

func newCheckPlan(c *Check) *checkPlan {
	plan := &checkPlan{Check: *c, host: c.hostHeader()}
	if c.HTTPGet != nil {
		plan.path = requestTarget(*c.HTTPGet.Path)
	}
	var sendable, takeable bool
	plan.headers, sendable = c.headers()
	if plan.steps, takeable = c.tcpSteps(); !sendable || !takeable || !isPlain(plan.host) {
		plan.invalid = protocolError
	}
	if len(c.RootPEM) > 0 {
		plan.roots = x509.NewCertPool()
		if !plan.roots.AppendCertsFromPEM(c.RootPEM) {
			plan.invalid = tlsFailed
		}
	}
	if c.TLS != nil && c.TLS.ClientCertificateSecretName != "" && !plan.setClientCertificate() {
		plan.invalid = tlsFailed
	}
	return plan
}

// setClientCertificate reports whether there is one.
func (plan *checkPlan) setClientCertificate() bool {
	if !plan.ClientPEM.isSet() {
		return false
	}
	pair, err := tls.X509KeyPair(plan.ClientPEM.Reveal(), plan.ClientPEM.Reveal())
	plan.clientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &pair, nil }
	return err == nil
}

// dialTarget is the part of a target that a probe needs.
type dialTarget struct {
	egress.Query

	host string
}

// hostOrIP returns the DNS name, or else the address.
func (d dialTarget) hostOrIP() string {
	if d.host != "" {
		return d.host
	}
	return d.IP.String()
}

// checker runs probes.
type checker struct {
	dial    func(ctx context.Context, to egress.Query) (net.Conn, error)
	lookup  func(ctx context.Context, host string) ([]netip.Addr, error)
	readers readerPool
}

// check probes once. The timeout covers all of it, and no goroutine or connection is left when it returns.
func (c *checker) check(ctx context.Context, plan *checkPlan, to dialTarget, timeout time.Duration) outcome {
	if plan.invalid != none {
		return plan.invalid
	}
	if !isPlain(to.host) {
		return protocolError
	}
	deadline := time.Now().Add(timeout)
	ctx, cancel := context.WithDeadline(ctx, deadline)
	defer cancel()
	if !to.IP.IsValid() && to.host != "" && c.lookup != nil {
		return c.checkAny(ctx, plan, to, deadline)
	}
	conn, err := c.dial(ctx, to.Query)
	if err != nil {
		return outcomeOf(err, unreachable)
	}
	defer func() { _ = conn.Close() }()
	if plan.onlyConnects() {
		return connected
	}
	if err := conn.SetDeadline(deadline); err != nil {
		return outcomeOf(err, unreachable)
	}
	defer abortOnDone(ctx, conn)()
	if plan.usesTLS() {
		secured := tls.Client(conn, plan.tls(to))
		if err := secured.HandshakeContext(ctx); err != nil {
			return outcomeOf(err, tlsFailed)
		}
		defer func() { _ = secured.Close() }()
		conn = secured
	}
	switch {
	case plan.GRPC != nil:
		return checkGRPC(ctx, plan, conn, to)
	case plan.HTTPGet != nil:
		return c.checkHTTP(plan, conn, to)
	}
	return checkTCP(plan.steps, conn)
}

// abortOnDone has the connection fail at once if ctx ends before stop.
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

func (plan *checkPlan) tls(to dialTarget) *tls.Config {
	c := &tls.Config{
		MinVersion: tls.VersionTLS12, RootCAs: plan.roots, ServerName: cmp.Or(plan.serverName(), to.hostOrIP()),
		InsecureSkipVerify:   plan.TLS != nil && *plan.TLS.InsecureSkipVerify, //nolint:gosec // the author of the check sets it
		GetClientCertificate: plan.clientCertificate,
	}
	switch {
	case plan.GRPC != nil:
		c.NextProtos = []string{"h2"}
	case plan.HTTPGet != nil:
		c.NextProtos = []string{"http/1.1"}
	}
	return c
}

// bracketed returns a name as it is in a Host header or an authority.
func bracketed(name string) string {
	if ip, err := netip.ParseAddr(name); err == nil && ip.Is6() {
		return "[" + ip.WithZone("").String() + "]"
	}
	return name
}

// maxAddresses of a name are probed, at once, so that one that hangs does not use up the time of the others.
const maxAddresses = 8

// checkAny probes the addresses of a name. The first success ends the others.
func (c *checker) checkAny(ctx context.Context, plan *checkPlan, to dialTarget, deadline time.Time) outcome {
	addresses, err := c.lookup(ctx, to.host)
	if err != nil || len(addresses) == 0 {
		return unresolved
	}
	addresses = addresses[:min(len(addresses), maxAddresses)]
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	results := make([]outcome, len(addresses))
	var running sync.WaitGroup
	for i, ip := range addresses {
		there := to
		there.IP = ip
		running.Go(func() {
			if !ip.IsValid() {
				results[i] = unresolved
				return
			}
			results[i] = local // what a panic leaves: the address was not probed
			panics.Go("probe", func() { results[i] = c.check(ctx, plan, there, time.Until(deadline)) })
			if results[i] == connected {
				cancel()
			}
		})
	}
	running.Wait()
	return bestOutcome(results)
}

// bestOutcome returns the outcome of a name by those of its addresses: a success, else a failure, else that it could
// not be probed.
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
