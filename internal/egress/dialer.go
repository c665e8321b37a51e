// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package egress

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"syscall"
)

// ErrDenied is in every error of a connection that the policy refuses.
var ErrDenied = errors.New("denied by the egress policy")

// DeniedError is a connection that the policy denies. It is an ErrDenied.
type DeniedError struct {
	Query   Query
	Verdict Verdict
}

func (e *DeniedError) Error() string {
	return fmt.Sprintf("connect to %s: the address %s (%s): %v", netip.AddrPortFrom(e.Query.IP, e.Query.Port), e.Verdict.Detail,
		e.Verdict.Reason, ErrDenied)
}

// Unwrap returns ErrDenied.
func (e *DeniedError) Unwrap() error { return ErrDenied }

// Dialer opens connections that the policy allows at that moment.
type Dialer struct {
	policy *Policy
	base   func(ctx context.Context, network string, to netip.AddrPort) (net.Conn, error)
}

// NewDialer returns a dialer. Base opens the connections. Defaults to nil: a net.Dialer does, which checks again on
// the socket just before it connects.
func NewDialer(p *Policy, base func(ctx context.Context, network string, to netip.AddrPort) (net.Conn, error)) *Dialer {
	return &Dialer{policy: p, base: base}
}

// Dial opens a TCP connection to the query's address and port. Its error is an ErrDenied if the policy denies it.
func (d *Dialer) Dial(ctx context.Context, q Query) (net.Conn, error) {
	if q.Port == 0 {
		return nil, fmt.Errorf("connect to %s: no port is given", q.IP)
	}
	if verdict := d.policy.Check(q); !verdict.Allowed {
		return nil, &DeniedError{q, verdict}
	}
	to := netip.AddrPortFrom(q.IP.Unmap(), q.Port)
	if d.base != nil {
		return d.base(ctx, "tcp", to)
	}
	// A probe is over before a keepalive is sent.
	system := net.Dialer{KeepAlive: -1, ControlContext: d.control(q)}
	return system.DialContext(ctx, "tcp", to.String())
}

// control checks the address that a socket is about to connect to. The policy may have changed since Dial, and a name,
// should one ever get here, may resolve to another address by now.
func (d *Dialer) control(q Query) func(context.Context, string, string, syscall.RawConn) error {
	return func(_ context.Context, _, address string, _ syscall.RawConn) error {
		to, err := netip.ParseAddrPort(address)
		if err != nil {
			return &DeniedError{q, deny(ReasonInvalid)}
		}
		actual := q
		actual.IP, actual.Port = to.Addr(), to.Port()
		if to.Addr().Unmap() != q.IP.Unmap() || to.Port() != q.Port {
			return &DeniedError{actual, deny(ReasonRebound)}
		}
		if verdict := d.policy.Check(actual); !verdict.Allowed {
			return &DeniedError{actual, verdict}
		}
		return nil
	}
}
