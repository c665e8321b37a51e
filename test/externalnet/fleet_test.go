// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package externalnet

import (
	"errors"
	"fmt"
	"net/netip"
	"syscall"
	"testing"
)

func newFleet(t *testing.T, o FleetOptions) *Fleet {
	t.Helper()
	f, err := OpenFleet(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
		nothingLeft(t)
	})
	return f
}

func TestAFleetAnswersAtEveryAddressAndFailsAtTheChosen(t *testing.T) {
	f := newFleet(t, FleetOptions{Workers: 4})
	bad := netip.MustParseAddr("198.19.255.1")
	if err := f.Fail(bad); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		for _, outside := range []string{"192.0.2.1", "198.18.200.7", "198.19.255.1", "2001:db8::9"} {
			at := netip.AddrPortFrom(netip.MustParseAddr(outside), f.Port())
			c, err := dial(t, at.String(), moment)
			if err == nil {
				_, err = c.Read(make([]byte, 1))
				_ = c.Close()
			}
			if failed := errors.Is(err, syscall.ECONNRESET); failed != (at.Addr() == bad) || !failed && !timedOut(err) {
				t.Errorf("%s: %v", at, err)
			}
		}
	}
	until(t, "all are closed", func() bool { return f.Counts().Open == 0 })
	if n := f.Counts().Connections; n != 8 || f.Count(bad) != 2 || f.Count(netip.MustParseAddr("198.18.200.7")) != 2 || f.Count(netip.MustParseAddr("192.0.2.2")) != 0 || f.Seen() != 4 {
		t.Errorf("%d connections, %d of %s, %d addresses", n, f.Count(bad), bad, f.Seen())
	}
}

func TestAFleetOfHTTPAnswersRequests(t *testing.T) {
	f := newFleet(t, FleetOptions{Protocol: FleetHTTP, Workers: 2})
	if err := f.Fail(netip.MustParseAddr("198.18.0.2")); err != nil {
		t.Fatal(err)
	}
	c := client(t, patience, nil)
	for address, want := range map[string]int{"198.18.0.1": 200, "198.18.0.2": 503} {
		status, _, err := get(t, c, fmt.Sprintf("http://%s:%d/health", address, f.Port()))
		if err != nil || status != want {
			t.Errorf("%s: %d %v", address, status, err)
		}
	}
}

func TestAFleetServesNoMoreAtOnceThanItHasWorkers(t *testing.T) {
	f := newFleet(t, FleetOptions{Workers: 2})
	for i := range 5 {
		if _, err := dial(t, fmt.Sprintf("198.18.0.%d:%d", i, f.Port()), patience); err != nil {
			t.Fatal(err)
		}
	}
	until(t, "two are served", func() bool { return f.Counts().Open == 2 })
	if counts := f.Counts(); counts.Peak != 2 || counts.Connections != 2 {
		t.Errorf("counts: %+v", counts)
	}
}
