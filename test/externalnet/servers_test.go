// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package externalnet

import (
	"bytes"
	"context"
	"errors"
	"net"
	"net/netip"
	"os"
	"runtime/pprof"
	"slices"
	"strings"
	"testing"
	"time"
)

// patience bounds what must happen; moment is how long something that must not happen is waited for.
const (
	patience = time.Minute
	moment   = 300 * time.Millisecond
)

// newWorld is closed with the test, after which none of its goroutines may be left.
func newWorld(t *testing.T) *Servers {
	t.Helper()
	w, err := Open()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
		nothingLeft(t)
	})
	return w
}

// nothingLeft wants no goroutine that this package started. Those of libraries end a moment after
// they have told that they did.
func nothingLeft(t *testing.T) {
	t.Helper()
	var left []string
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); <-time.After(10 * time.Millisecond) {
		if left = ours(); len(left) == 0 {
			return
		}
	}
	t.Errorf("%d goroutines are left:\n%s", len(left), strings.Join(left, "\n\n"))
}

func ours() []string {
	var all bytes.Buffer
	_ = pprof.Lookup("goroutine").WriteTo(&all, 2)
	var left []string
	for stack := range strings.SplitSeq(all.String(), "\n\n") {
		of := strings.Contains(stack, "created by github.com/fairlead-dev/fairlead/test/externalnet.") ||
			strings.Contains(stack, "miekg/dns.(*Server)") || strings.Contains(stack, "net/http.(*conn).serve") ||
			strings.Contains(stack, "grpc.(*Server)")
		if of && !strings.Contains(stack, "testing.tRunner") {
			left = append(left, stack)
		}
	}
	return left
}

// ok ends the test on an error.
func ok(t *testing.T) func(*Server, error) *Server {
	return func(s *Server, err error) *Server {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
}

func set(t *testing.T, s *Server, c Behavior) {
	t.Helper()
	if err := s.Set(c); err != nil {
		t.Fatal(err)
	}
}

// dial is Dial with a timeout.
func dial(t *testing.T, to string, within time.Duration) (net.Conn, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()
	c, err := Dial(ctx, "tcp", netip.MustParseAddrPort(to))
	if err == nil {
		t.Cleanup(func() { _ = c.Close() })
		_ = c.SetDeadline(time.Now().Add(within))
	}
	return c, err
}

// until waits for a condition.
func until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); <-time.After(5 * time.Millisecond) {
		if holds() {
			return
		}
	}
	t.Fatalf("never: %s", what)
}

func timedOut(err error) bool {
	var of net.Error
	return errors.As(err, &of) && of.Timeout() || errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, context.DeadlineExceeded)
}

func TestAddressesOutsideStandOnLoopbackAndNoOthersAreDialled(t *testing.T) {
	for outside, want := range map[string]string{
		"192.0.2.10":           "127.77.2.10",
		"198.51.100.255":       "127.77.100.255",
		"203.0.113.1":          "127.77.113.1",
		"2001:db8::7":          "127.77.6.7",
		"198.18.3.4":           "127.100.3.4",
		"198.19.3.4":           "127.101.3.4",
		"10.1.2.3":             "127.110.2.3",
		"192.168.2.3":          "127.111.2.3",
		"172.31.2.3":           "127.143.2.3",
		"169.254.169.254":      "127.169.169.254",
		"100.100.100.200":      "127.228.100.200",
		"127.0.0.1":            "127.66.0.1",
		"::1":                  "127.67.0.1",
		"fe80::1%eth0":         "127.67.128.1",
		"fd00:ec2::254":        "127.68.2.84",
		"64:ff9b::a9fe:a9fe":   "127.69.169.254",
		"2002:a9fe:a9fe::1":    "127.70.0.1",
		"::ffff:192.0.2.10":    "127.77.2.10",
		"224.0.0.1":            "127.71.0.1",
		"240.0.0.1":            "127.71.0.1",
		"2001:db8:5::1:203":    "127.78.2.3",
		"8.8.8.8":              "",
		"2606:4700:4700::1111": "",
		"::ffff:8.8.8.8":       "",
	} {
		local, err := Local(netip.MustParseAddr(outside))
		switch {
		case want == "" && err == nil:
			t.Errorf("%s: is dialed at %s", outside, local)
		case want != "" && (err != nil || local.String() != want):
			t.Errorf("%s: %s (%v), want %s", outside, local, err, want)
		}
	}
	if _, err := Dial(t.Context(), "tcp", netip.MustParseAddrPort("8.8.8.8:53")); err == nil || !strings.Contains(err.Error(), "8.8.8.8") {
		t.Errorf("dialing 8.8.8.8: %v", err)
	}
	if _, err := Dial(t.Context(), "unix", netip.MustParseAddrPort("192.0.2.1:53")); err == nil {
		t.Error("a network that is none of TCP and UDP is dialed")
	}
}

func TestLocalPartsLieApartInsideLoopback(t *testing.T) {
	loopback := netip.MustParsePrefix("127.0.0.0/8")
	for i, one := range stands {
		if !loopback.Overlaps(one.local) || one.local.Bits() < 10 || one.local.Masked() != one.local || one.local.Contains(netip.MustParseAddr("127.0.0.1")) {
			t.Errorf("%s replaces %s", one.local, one.outside)
		}
		for _, other := range stands[i+1:] {
			if one.local.Overlaps(other.local) {
				t.Errorf("%s and %s stand at %s and %s", one.outside, other.outside, one.local, other.local)
			}
		}
	}
}

func TestAWorldThatIsClosedLeavesItsAddressesFree(t *testing.T) {
	for range 2 {
		w, err := Open()
		if err != nil {
			t.Fatal(err)
		}
		for i, fault := range slices.Concat(connectionFaults, []Fault{Healthy}) {
			at := netip.AddrPortFrom(netip.AddrFrom4([4]byte{192, 0, 2, byte(100 + i)}), 8080)
			s := ok(t)(w.HTTP(at.String()))
			c, err := dial(t, at.String(), patience)
			if err != nil {
				t.Fatal(err)
			}
			until(t, "the connection is seen", func() bool { return s.Counts().Connections == 1 })
			set(t, s, Behavior{Fault: fault})
			defer func() { _ = c.Close() }()
		}
		if err := w.Close(); err != nil {
			t.Error(err)
		}
		nothingLeft(t)
	}
}

var connectionFaults = []Fault{Refuse, Drop, Hang, Reset, Garbage}
