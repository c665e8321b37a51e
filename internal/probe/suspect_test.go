// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"sort"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/fairlead-dev/fairlead/api/common"
	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/internal/egress"
)

// cluster sets objects of so many healthy targets each, and returns their addresses.
func (s *suite) cluster(c Check, sizes ...int) (all [][]netip.Addr, set func() string) {
	set = func() string {
		var line string
		for i, size := range sizes {
			targets := make([]Target, size)
			for j := range targets {
				targets[j] = seeded(i*100+j, networkingv1.AddressHealthy)
			}
			line += states(s.Set(key(fmt.Sprintf("es%d", i)), c, targets)) + " "
		}
		return line[:len(line)-1]
	}
	for i, size := range sizes {
		var mine []netip.Addr
		for j := range size {
			mine = append(mine, ip(i*100+j))
		}
		all = append(all, mine)
	}
	set()
	return all, set
}

// notifiedKeys returns the keys that were notified, each once.
func (s *suite) notifiedKeys() []string {
	all := s.since(&s.notified)
	sort.Strings(all)
	return slices.Compact(all)
}

func TestAMassOutageIsOurOwnFault(t *testing.T) {
	runSuite(t, 0.5, Options{}, func(s *suite) {
		all, set := s.cluster(standard, 2, 1, 3, 1)
		s.advance(12 * time.Second)
		if len(s.notifiedKeys()) != 0 {
			t.Error("a notification was sent without a change")
		}
		s.fail(syscall.ENETUNREACH, slices.Concat(all...)...)
		s.advance(maxSuspicion - time.Minute)
		if got := set(); got != "HH H HHH H" || !s.IsSuspect() {
			t.Errorf("%s, suspect %t; want all healthy, and suspect", got, s.IsSuspect())
		}
		if got := s.notifiedKeys(); len(got) != 4 {
			t.Errorf("notified %v, want all four", got)
		}
		s.fail(nil, slices.Concat(all...)...)
		s.advance(15 * time.Second)
		if got := set(); got != "HH H HHH H" || s.IsSuspect() {
			t.Errorf("%s, suspect %t; want all healthy, and not suspect", got, s.IsSuspect())
		}
		if got := s.notifiedKeys(); len(got) != 4 {
			t.Errorf("notified %v, want all four", got)
		}
	})
}

func TestWhatStillFailsAfterTheSuspicionFalls(t *testing.T) {
	runSuite(t, 0.5, Options{}, func(s *suite) {
		all, set := s.cluster(standard, 1, 1, 1, 1)
		s.fail(syscall.ECONNREFUSED, slices.Concat(all...)...)
		s.advance(5 * time.Minute)
		s.since(&s.notified)
		s.fail(nil, slices.Concat(all[1:]...)...)
		s.advance(15 * time.Second)
		if got := set(); got != "U H H H" || s.IsSuspect() {
			t.Errorf("%s, suspect %t; want U H H H, and not suspect", got, s.IsSuspect())
		}
	})
}

func TestRealOutagesFailOver(t *testing.T) {
	for name, tc := range map[string]struct {
		sizes []int
		down  func(all [][]netip.Addr) []netip.Addr
		want  string
	}{
		"one big ExternalService of a few": {[]int{20, 1, 1}, func(all [][]netip.Addr) []netip.Addr { return all[0] }, "UUUUUUUUUUUUUUUUUUUU H H"},
		"two of three small ones":          {[]int{1, 1, 1}, func(all [][]netip.Addr) []netip.Addr { return slices.Concat(all[:2]...) }, "U U H"},
		"both of two":                      {[]int{2, 2}, func(all [][]netip.Addr) []netip.Addr { return slices.Concat(all...) }, "UU UU"},
		"a data center with most of them": {[]int{3, 3, 3, 3}, func(all [][]netip.Addr) []netip.Addr {
			return slices.Concat(all[0][1:], all[1][1:], all[2][1:], all[3][1:])
		}, "HUU HUU HUU HUU"},
		"three of eight":                {[]int{1, 1, 1, 1, 1, 1, 1, 1}, func(all [][]netip.Addr) []netip.Addr { return slices.Concat(all[:3]...) }, "U U U H H H H H"},
		"one address, and there is one": {[]int{1}, func(all [][]netip.Addr) []netip.Addr { return all[0] }, "U"},
	} {
		t.Run(name, func(t *testing.T) {
			runSuite(t, 0.5, Options{}, func(s *suite) {
				all, set := s.cluster(standard, tc.sizes...)
				s.advance(time.Minute)
				s.fail(syscall.ETIMEDOUT, tc.down(all)...)
				s.advance(40 * time.Second)
				if got := set(); got != tc.want || s.IsSuspect() {
					t.Errorf("%s, suspect %t; want %s, and not suspect", got, s.IsSuspect(), tc.want)
				}
			})
		})
	}
}

func TestDoubtOfTheNetworkFreezesHealth(t *testing.T) {
	runSuite(t, 0.5, Options{}, func(s *suite) {
		s.Set(key("db"), standard, []Target{to(1)})
		s.advance(time.Second)
		s.notifiedKeys()
		s.SetNetworkUnreachable(true)
		s.SetNetworkUnreachable(true)
		s.want("notified of the doubt", &s.notified, "db")
		s.fail(syscall.ENETUNREACH, ip(1), ip(2))
		s.advance(time.Minute)
		all := []Target{to(1), to(2), to(3)}
		s.Set(key("db"), standard, all)
		s.advance(time.Second)
		if got := s.Set(key("db"), standard, all); states(got) != "HUH" || got[1].State != networkingv1.AddressUnknown {
			t.Errorf("%+v, want Healthy, Unknown, and Healthy for what succeeds", got)
		}
		s.notifiedKeys()
		s.SetNetworkUnreachable(false)
		s.want("notified of its end", &s.notified, "db")
		s.advance(10 * time.Second)
		if got := s.Set(key("db"), standard, all); states(got) != "UUH" || got[1].State != networkingv1.AddressUnhealthy {
			t.Errorf("%+v, want Unhealthy, Unhealthy, Healthy", got)
		}
	})
}

func TestARefusalOfThePolicyIsNeitherEvidenceNorHeldBack(t *testing.T) {
	runSuite(t, 0.5, Options{}, func(s *suite) {
		all, set := s.cluster(standard, 1, 1, 1, 1)
		s.fail(egress.ErrDenied, slices.Concat(all...)...)
		s.advance(time.Minute)
		if got := set(); got != "U U U U" || s.IsSuspect() {
			t.Errorf("%s, suspect %t; want all unhealthy, and not suspect", got, s.IsSuspect())
		}
	})
}

func TestTargetsThatGoTakeTheirSuspicionWithThem(t *testing.T) {
	runSuite(t, 0.5, Options{}, func(s *suite) {
		all, _ := s.cluster(standard, 1, 1, 1)
		s.fail(syscall.ETIMEDOUT, slices.Concat(all...)...)
		s.advance(time.Minute)
		if !s.IsSuspect() {
			t.Fatal("not suspect")
		}
		s.notifiedKeys()
		s.Forget(key("es2"))
		if s.IsSuspect() {
			t.Error("suspect with two left")
		}
		if got := s.notifiedKeys(); len(got) != 2 {
			t.Errorf("notified %v, want the two", got)
		}
		s.Forget(key("es1"))
		s.Forget(key("es0"))
		empty(t, &s.suspicion)
	})
}

func TestASuspicionOfAnyProberIsOneOfAllUntilNoneIsLeft(t *testing.T) {
	var s Suspicions
	woken, changed := 0, map[string]int{}
	s.Subscribe(func() { woken++ })
	s.Subscribe(func() {
		if woken%2 == 1 != s.Any() {
			t.Errorf("woken %d times, suspect %t", woken, s.Any())
		}
	})
	count := func(kind string) func(bool, string) { return s.OnSuspect(kind, func(bool, string) { changed[kind]++ }) }
	pods, outside := count("pods"), count("outside")
	for i, step := range []struct {
		tell    func(bool, string)
		suspect bool
		any     bool
		woken   int
	}{
		{outside, false, false, 0},
		{pods, true, true, 1},
		{outside, true, true, 1},
		{outside, true, true, 1},
		{pods, false, true, 1},
		{outside, false, false, 2},
		{pods, true, true, 3},
	} {
		if step.tell(step.suspect, "cause"); s.Any() != step.any || woken != step.woken {
			t.Errorf("step %d: suspect %t, woken %d times; want %t, %d", i, s.Any(), woken, step.any, step.woken)
		}
	}
	if changed["pods"] != 3 || changed["outside"] != 4 {
		t.Errorf("told %v", changed)
	}
	var none *Suspicions
	none.Subscribe(func() { t.Error("woken") })
	if none.Any() {
		t.Error("none suspects")
	}
}

// An edit while the network is lost: what was healthy another way is no evidence against itself.
func TestTheFirstFailureOfWhatWasHealthyAnotherWayWaitsForTheReference(t *testing.T) {
	var reached atomic.Bool
	reached.Store(true)
	for name, change := range map[string]func(*Check, *Target){
		"port":  func(_ *Check, t *Target) { t.Port = 5433 },
		"check": func(c *Check, _ *Target) { *c = getting(common.HTTPGetAction{}, nil, nil) },
		"a new process": func(_ *Check, t *Target) {
			t.ID, t.Seed = "2", &Seed{State: networkingv1.AddressUnknown}
		},
	} {
		t.Run(name, func(t *testing.T) {
			reached.Store(true)
			runSuite(t, 0.5, Options{Reference: func(context.Context) bool { return reached.Load() }}, func(s *suite) {
				check, at := standard, to(1)
				s.Set(key("db"), check, []Target{at})
				s.advance(time.Minute)
				reached.Store(false)
				s.fail(syscall.ENETUNREACH, ip(1))
				change(&check, &at)
				s.Set(key("db"), check, []Target{at})
				s.advance(time.Minute)
				if got := s.Set(key("db"), check, []Target{at})[0]; got.State != networkingv1.AddressUnknown || !s.IsFrozen(key("db")) {
					t.Errorf("without a network: %+v, frozen %t", got, s.IsFrozen(key("db")))
				}
				reached.Store(true)
				s.advance(time.Minute)
				if got := s.Set(key("db"), check, []Target{at})[0].State; got != networkingv1.AddressUnhealthy {
					t.Errorf("with a network: %s", got)
				}
				s.Forget(key("db"))
				empty(t, &s.suspicion)
			})
		})
	}
}
