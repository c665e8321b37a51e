// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package egress

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"testing"
	"time"
)

// listening returns a listener on loopback, its port, and the connections that reached it.
func listening(t *testing.T) (port uint16, reached <-chan struct{}) {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	arrivals := make(chan struct{}, 8)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			_ = conn.Close()
			arrivals <- struct{}{}
		}
	}()
	t.Cleanup(func() {
		_ = listener.Close()
		<-done
	})
	return listener.Addr().(*net.TCPAddr).AddrPort().Port(), arrivals
}

func TestADeniedAddressIsNeverConnectedTo(t *testing.T) {
	port, reached := listening(t)
	called := false
	base := func(context.Context, string, netip.AddrPort) (net.Conn, error) {
		called = true
		return nil, errors.New("unexpected")
	}
	for name, base := range map[string]func(context.Context, string, netip.AddrPort) (net.Conn, error){"system": nil, "base": base} {
		_, err := NewDialer(NewPolicy(Options{}), base).Dial(t.Context(), Query{IP: netip.MustParseAddr("127.0.0.1"), Port: port})
		var why *DeniedError
		if !errors.Is(err, ErrDenied) || !errors.As(err, &why) || why.Verdict.Reason != ReasonLoopback {
			t.Errorf("%s: %v", name, err)
		}
	}
	if called || len(reached) > 0 {
		t.Error("it was connected to")
	}
}

// The check saw an address outside; what the name leads to when it is dialed is another one.
func TestRebindingBetweenCheckAndConnectIsDenied(t *testing.T) {
	port, reached := listening(t)
	p := NewPolicy(Options{})
	q := Query{Namespace: "shop", IP: netip.MustParseAddr("192.0.2.1"), Port: port}
	if !p.Check(q).Allowed {
		t.Fatal("192.0.2.1 should be allowed")
	}
	system := net.Dialer{ControlContext: NewDialer(p, nil).control(q), Timeout: 5 * time.Second}
	conn, err := system.DialContext(t.Context(), "tcp4", net.JoinHostPort("localhost", "80"))
	if conn != nil {
		_ = conn.Close()
	}
	var why *DeniedError
	if !errors.Is(err, ErrDenied) || !errors.As(err, &why) || why.Verdict.Reason != ReasonRebound || !why.Query.IP.IsLoopback() {
		t.Errorf("another address: %v", err)
	}
	if len(reached) > 0 {
		t.Error("it was connected to")
	}
}

func TestTheSocketIsCheckedAgainAgainstThePolicyOfThatMoment(t *testing.T) {
	p := NewPolicy(Options{})
	q := Query{Namespace: "shop", IP: netip.MustParseAddr("10.244.0.7"), Port: 443}
	control := NewDialer(p, nil).control(q)
	if err := control(t.Context(), "tcp4", "10.244.0.7:443", nil); err != nil {
		t.Errorf("outside: %v", err)
	}
	p.update(discovery{ranges: cluster()}) // a node joined, and this is a pod on it now
	for address, want := range map[string]Reason{
		"10.244.0.7:443":     ReasonPod,
		"[2001:db8::1]:443":  ReasonRebound,
		"10.244.0.7:22":      ReasonRebound,
		"somewhere.test:443": ReasonInvalid,
	} {
		var why *DeniedError
		if err := control(t.Context(), "tcp", address, nil); !errors.As(err, &why) || why.Verdict.Reason != want {
			t.Errorf("%s: %v, want %s", address, err, want)
		}
	}
}

func TestABaseIsGivenTheAddressItself(t *testing.T) {
	var got netip.AddrPort
	d := NewDialer(NewPolicy(Options{}), func(_ context.Context, network string, to netip.AddrPort) (net.Conn, error) {
		got = to
		left, right := net.Pipe()
		_ = right.Close()
		if network != "tcp" {
			t.Errorf("network %q", network)
		}
		return left, nil
	})
	conn, err := d.Dial(t.Context(), Query{IP: netip.MustParseAddr("::ffff:192.0.2.1"), Port: 443})
	if err != nil {
		t.Fatal(err)
	}
	_ = conn.Close()
	if got != netip.MustParseAddrPort("192.0.2.1:443") {
		t.Errorf("connected to %s", got)
	}
	if _, err := d.Dial(t.Context(), Query{IP: netip.MustParseAddr("192.0.2.1")}); err == nil || errors.Is(err, ErrDenied) {
		t.Errorf("without a port: %v", err)
	}
}

func TestWithoutABaseTheSystemConnects(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := NewDialer(NewPolicy(Options{}), nil).Dial(ctx, Query{IP: netip.MustParseAddr("192.0.2.1"), Port: 9})
	var operation *net.OpError
	if errors.Is(err, ErrDenied) || !errors.As(err, &operation) || !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}
