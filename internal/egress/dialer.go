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

// DeniedError says what was denied, and why. It is an ErrDenied.
type DeniedError struct {
	Query   Query
	Verdict Verdict
}

func (e *DeniedError) Error() string {
	return fmt.Sprintf("connect to %s: the address %s (%s): %v", netip.AddrPortFrom(e.Query.IP, e.Query.Port), e.Verdict.Detail, e.Verdict.Reason, ErrDenied)
}

// Unwrap returns ErrDenied.
func (e *DeniedError) Unwrap() error { return ErrDenied }

// Dialer connects to what the policy allows at that moment, and to nothing else.
type Dialer struct {
	policy *Policy
	base   func(ctx context.Context, network string, to netip.AddrPort) (net.Conn, error)
}

// NewDialer makes a dialer. Base opens the connections; where it is nil they are opened by the system,
// which is given the check to run on the socket just before it connects.
func NewDialer(p *Policy, base func(ctx context.Context, network string, to netip.AddrPort) (net.Conn, error)) *Dialer {
	return &Dialer{policy: p, base: base}
}

// Dial opens a TCP connection to the query's address and port. Its error is an ErrDenied where the
// policy refuses it.
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
	// A check of health is over before a keepalive is sent.
	system := net.Dialer{KeepAlive: -1, ControlContext: d.control(q)}
	return system.DialContext(ctx, "tcp", to.String())
}

// control checks what a socket is about to be connected to. The policy may have changed since Dial
// asked it, and a name, should one ever get here, leads where its owner wants at this moment.
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
