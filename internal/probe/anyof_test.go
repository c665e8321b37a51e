// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"slices"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fairlead-dev/fairlead/internal/egress"
)

func TestANameIsAsWellAsTheBestOfItsAddresses(t *testing.T) {
	refuses, denies, hangs, full, answers := ip(1), ip(2), ip(3), ip(4), ip(5)
	for name, tc := range map[string]struct {
		leads []netip.Addr
		err   error
		want  outcome
		took  time.Duration
	}{
		"one answers":                  {[]netip.Addr{refuses, denies, answers}, nil, connected, 0},
		"one hangs, and one answers":   {[]netip.Addr{hangs, answers}, nil, connected, 0},
		"one hangs, and one refuses":   {[]netip.Addr{refuses, hangs}, nil, refused, 2 * time.Second},
		"a refusal and a policy's":     {[]netip.Addr{denies, refuses}, nil, refused, 0},
		"out of files, and a policy's": {[]netip.Addr{denies, full}, nil, local, 0},
		"a policy's only":              {[]netip.Addr{denies, denies}, nil, denied, 0},
		"no address":                   {nil, nil, unresolved, 0},
		"an error":                     {[]netip.Addr{answers}, errors.New("no nameserver"), unresolved, 0},
		"no valid address":             {[]netip.Addr{{}}, nil, unresolved, 0},
		"the ninth answers":            {append(slices.Repeat([]netip.Addr{refuses}, 8), answers), nil, refused, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var under atomic.Int64
				a := checker{
					dial: func(ctx context.Context, to egress.Query) (net.Conn, error) {
						under.Add(1)
						defer under.Add(-1)
						switch to.IP {
						case refuses:
							return nil, syscall.ECONNREFUSED
						case denies:
							return nil, egress.ErrDenied
						case full:
							return nil, syscall.EMFILE
						case hangs:
							<-ctx.Done()
							return nil, ctx.Err()
						}
						return nothing{}, nil
					},
					lookup: func(context.Context, string) ([]netip.Addr, error) { return tc.leads, tc.err },
				}
				start := time.Now()
				got := a.check(t.Context(), newCheckPlan(&Check{}), dialTarget{host: "db.example.com"}, 2*time.Second)
				if took := time.Since(start); got != tc.want || took != tc.took {
					t.Errorf("%s after %s, want %s after %s", got.reason(), took, tc.want.reason(), tc.took)
				}
				if under.Load() != 0 {
					t.Error("something goes on")
				}
			})
		})
	}
}

func TestAPanicAtOneAddressIsNoResultOfIt(t *testing.T) {
	bad, good := ip(1), ip(2)
	a := checker{
		dial: func(_ context.Context, to egress.Query) (net.Conn, error) {
			if to.IP == bad {
				panic("a defect") //nolint:forbidigo // what it tests
			}
			return nothing{}, nil
		},
		lookup: func(context.Context, string) ([]netip.Addr, error) { return []netip.Addr{bad, good}, nil },
	}
	if got := a.check(t.Context(), newCheckPlan(&Check{}), dialTarget{host: "db.example.com"}, time.Minute); got != connected {
		t.Errorf("%s, though one address answers", got.reason())
	}
	a.lookup = func(context.Context, string) ([]netip.Addr, error) { return []netip.Addr{bad}, nil }
	if got := a.check(t.Context(), newCheckPlan(&Check{}), dialTarget{host: "db.example.com"}, time.Minute); got != local {
		t.Errorf("%s", got.reason())
	}
}
