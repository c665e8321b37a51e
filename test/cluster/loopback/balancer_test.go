// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package loopback

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// replica is a backend whose readiness the test decides: it says its name, then echoes.
type replica struct {
	Backend
	ready atomic.Bool
}

func newReplica(t *testing.T, name string, ready bool) *replica {
	t.Helper()
	r := &replica{}
	r.ready.Store(ready)
	probes := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if !r.ready.Load() {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}))
	t.Cleanup(probes.Close)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				_, _ = fmt.Fprintln(conn, name)
				_, _ = io.Copy(conn, conn)
				_ = conn.Close()
			}()
		}
	}()
	r.Backend = Backend{Address: l.Addr().String(), Readyz: probes.URL + "/readyz"}
	return r
}

func listen(t *testing.T, options Options) *Balancer {
	t.Helper()
	options.Interval = 5 * time.Millisecond
	b, err := Listen(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	return b
}

// client is one connection through the balancer.
type client struct {
	*net.TCPConn
	r *bufio.Reader
}

func dial(t *testing.T, b *Balancer) client {
	t.Helper()
	conn, err := net.Dial("tcp", b.Address())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(30 * time.Second)); err != nil {
		t.Fatal(err)
	}
	return client{conn.(*net.TCPConn), bufio.NewReader(conn)}
}

// reached is the name of the replica behind a new connection, or "" if it was reset, which the
// dialer may be the first to notice.
func reached(t *testing.T, b *Balancer) string {
	t.Helper()
	conn, err := net.Dial("tcp", b.Address())
	if err != nil {
		if !errors.Is(err, syscall.ECONNRESET) {
			t.Fatal(err)
		}
		return ""
	}
	defer func() { _ = conn.Close() }()
	return client{conn.(*net.TCPConn), bufio.NewReader(conn)}.who()
}

// who is the name of the replica behind the connection, or "" if there is none.
func (c client) who() string {
	line, err := c.r.ReadString('\n')
	if err != nil {
		return ""
	}
	return line[:len(line)-1]
}

func (c client) echoes(t *testing.T) {
	t.Helper()
	if _, err := fmt.Fprintln(c, "hello"); err != nil {
		t.Error(err)
	}
	if line, err := c.r.ReadString('\n'); err != nil || line != "hello\n" {
		t.Errorf("echo %q, %v", line, err)
	}
}

func waitReady(t *testing.T, b *Balancer, want ...string) {
	t.Helper()
	deadline := time.Now().Add(30 * time.Second)
	for !slices.Equal(b.Ready(), want) {
		if time.Now().After(deadline) {
			t.Fatalf("ready %v, want %v", b.Ready(), want)
		}
		<-time.After(time.Millisecond)
	}
}

func TestConnectionsGoToReadyBackendsInTurn(t *testing.T) {
	a, b, c := newReplica(t, "a", true), newReplica(t, "b", false), newReplica(t, "c", true)
	lb := listen(t, Options{Backends: []Backend{a.Backend, b.Backend, c.Backend}})
	seen := map[string]int{}
	for range 6 {
		seen[dial(t, lb).who()]++
	}
	if seen["a"] != 3 || seen["c"] != 3 {
		t.Errorf("connections by replica: %v", seen)
	}
}

func TestConnectionOutlivesReadiness(t *testing.T) {
	a, b := newReplica(t, "a", true), newReplica(t, "b", false)
	lb := listen(t, Options{Backends: []Backend{a.Backend, b.Backend}})
	old := dial(t, lb)
	if who := old.who(); who != "a" {
		t.Fatalf("behind the first connection: %q", who)
	}
	a.ready.Store(false)
	b.ready.Store(true)
	waitReady(t, lb, b.Address)
	if who := dial(t, lb).who(); who != "b" {
		t.Errorf("behind a new connection: %q", who)
	}
	old.echoes(t)
	lb.SetBackends(b.Backend)
	old.echoes(t)
}

func TestNoReadyBackendResetsConnections(t *testing.T) {
	a := newReplica(t, "a", false)
	lb := listen(t, Options{Backends: []Backend{a.Backend}})
	if who := reached(t, lb); who != "" {
		t.Errorf("connected to %q", who)
	}
	a.ready.Store(true)
	waitReady(t, lb, a.Address)
	dial(t, lb).echoesAfter(t, "a")
}

func (c client) echoesAfter(t *testing.T, name string) {
	t.Helper()
	if who := c.who(); who != name {
		t.Errorf("connected to %q, want %q", who, name)
	}
	c.echoes(t)
}

func TestSetBackendsAddsAndRemoves(t *testing.T) {
	a, b := newReplica(t, "a", true), newReplica(t, "b", true)
	lb := listen(t, Options{})
	if who := reached(t, lb); who != "" {
		t.Errorf("without backends connected to %q", who)
	}
	lb.SetBackends(a.Backend, b.Backend)
	if got := lb.Ready(); !slices.Equal(got, []string{a.Address, b.Address}) {
		t.Errorf("ready %v as soon as set", got)
	}
	lb.SetBackends(b.Backend)
	for range 3 {
		dial(t, lb).echoesAfter(t, "b")
	}
}

func TestHalfCloseIsPassedOn(t *testing.T) {
	a := newReplica(t, "a", true)
	c := dial(t, listen(t, Options{Backends: []Backend{a.Backend}}))
	if _, err := fmt.Fprint(c, "bye"); err != nil {
		t.Fatal(err)
	}
	if err := c.CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if b, err := io.ReadAll(c.r); err != nil || string(b) != "a\nbye" {
		t.Errorf("read %q, %v", b, err)
	}
}

func TestConnectionsAreBounded(t *testing.T) {
	a := newReplica(t, "a", true)
	lb := listen(t, Options{Backends: []Backend{a.Backend}, MaxConnections: 2})
	first, second := dial(t, lb), dial(t, lb)
	first.echoesAfter(t, "a")
	second.echoesAfter(t, "a")
	if who := reached(t, lb); who != "" {
		t.Errorf("the third connection reached %q", who)
	}
	_ = first.Close()
	deadline := time.Now().Add(30 * time.Second)
	for reached(t, lb) != "a" {
		if time.Now().After(deadline) {
			t.Fatal("the place of a closed connection is not given to another")
		}
	}
}

func TestEndOfContextEndsConnectionsAndListener(t *testing.T) {
	a := newReplica(t, "a", true)
	ctx, cancel := context.WithCancel(t.Context())
	lb, err := Listen(ctx, Options{Backends: []Backend{a.Backend}})
	if err != nil {
		t.Fatal(err)
	}
	c := dial(t, lb)
	c.echoesAfter(t, "a")
	cancel()
	lb.Close()
	if _, err := c.r.ReadByte(); err == nil || errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the connection lives on: %v", err)
	}
	if conn, err := net.Dial("tcp", lb.Address()); err == nil {
		t.Error("still listening", conn.Close())
	}
	lb.SetBackends(a.Backend)
	if got := lb.Ready(); len(got) != 0 {
		t.Errorf("ready after Close: %v", got)
	}
}

func TestAddressInUseIsAnError(t *testing.T) {
	lb := listen(t, Options{})
	if _, err := Listen(t.Context(), Options{Address: lb.Address()}); err == nil {
		t.Error("two balancers on one port")
	}
}
