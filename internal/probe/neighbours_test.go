// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"context"
	"fmt"
	"net/netip"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
)

// of is an object in a namespace.
func of(namespace, name string) types.NamespacedName {
	return types.NamespacedName{Namespace: namespace, Name: name}
}

// spaces sets one object of two healthy addresses in each of so many namespaces, and returns the
// addresses and the health.
func (s *suite) spaces(c Check, n int) (all []netip.Addr, set func() string) {
	set = func() string {
		var line string
		for i := range n {
			line += states(s.Set(of(fmt.Sprint("ns", i), "es"), c, []Target{
				seeded(100*i, networkingv1.AddressHealthy), seeded(100*i+1, networkingv1.AddressHealthy),
			}))
		}
		return line
	}
	for i := range n {
		all = append(all, ip(100*i), ip(100*i+1))
	}
	set()
	return all, set
}

func TestOneNamespaceFreezesNoOther(t *testing.T) {
	runSuite(t, 0.5, Options{}, func(s *suite) {
		var theirs []netip.Addr
		for i := range 3 {
			targets := make([]Target, 60)
			for j := range targets {
				targets[j] = seeded(1000+100*i+j, networkingv1.AddressHealthy)
				theirs = append(theirs, targets[j].IP)
			}
			s.Set(of("evil", fmt.Sprint("es", i)), standard, targets)
		}
		mine := func() string {
			return states(s.Set(of("lab", "single"), standard, []Target{seeded(1, networkingv1.AddressHealthy)})) +
				states(s.Set(of("lab", "other"), standard, []Target{seeded(2, networkingv1.AddressHealthy)}))
		}
		mine()
		s.advance(time.Minute)
		s.fail(syscall.ECONNREFUSED, theirs...)
		s.fail(syscall.ECONNREFUSED, ip(1))
		s.advance(40 * time.Second)
		if got := mine(); got != "UH" || s.IsSuspect() {
			t.Errorf("%s, suspect %t; want UH, and not suspect", got, s.IsSuspect())
		}
	})
}

// TestTheLossOfASiteThatManyNameFailsOver has 300 objects on one address, in one namespace and in many.
func TestTheLossOfASiteThatManyNameFailsOver(t *testing.T) {
	for _, namespaces := range []int{1, 30} {
		t.Run(fmt.Sprint(namespaces, " namespaces"), func(t *testing.T) {
			runSuite(t, 0.5, Options{Reference: func(context.Context) bool { return true }}, func(s *suite) {
				set := func() (dc, others string) {
					for i := range 300 {
						others += states(s.Set(of(fmt.Sprint("ns", i%namespaces), fmt.Sprint("o", i)), standard, []Target{seeded(1, networkingv1.AddressHealthy)}))
					}
					return states(s.Set(of("lab", "dc"), standard, []Target{seeded(1, networkingv1.AddressHealthy), seeded(2, networkingv1.AddressHealthy)})), others
				}
				set()
				s.advance(time.Minute)
				s.fail(syscall.ECONNREFUSED, ip(1))
				s.advance(2 * time.Minute)
				dc, others := set()
				if dc != "UH" || s.IsFrozen(of("lab", "dc")) {
					t.Errorf("%s, frozen %t; want UH, not frozen", dc, s.IsFrozen(of("lab", "dc")))
				}
				if others != strings.Repeat("U", 300) || s.IsSuspect() {
					t.Errorf("%s, suspect %t; want all unhealthy: one destination that is lost is no loss of the network", others, s.IsSuspect())
				}
			})
		})
	}
}

func TestAnObjectOfWhichATargetSucceedsIsNeverFrozen(t *testing.T) {
	for name, threshold := range map[string]int{"by default": 3, "at the first failure": 1} {
		t.Run(name, func(t *testing.T) {
			runSuite(t, 0.5, Options{}, func(s *suite) {
				check := standard
				check.FailureThreshold = ptr.To(int32(threshold))
				all, _ := s.spaces(standard, 4)
				dc := func() string {
					return states(s.Set(of("lab", "dc"), check, []Target{seeded(1001, networkingv1.AddressHealthy), seeded(1002, networkingv1.AddressHealthy)}))
				}
				dc()
				s.advance(time.Minute)
				s.SetNetworkUnreachable(true)
				s.fail(syscall.ETIMEDOUT, append(all, ip(1001))...)
				s.advance(50 * time.Second)
				if got := dc(); got != "UH" || !s.IsSuspect() || s.IsFrozen(of("lab", "dc")) || !s.IsFrozen(of("ns0", "es")) {
					t.Errorf("%s, suspect %t, frozen %t and %t; want UH, suspect, only the other frozen", got, s.IsSuspect(), s.IsFrozen(of("lab", "dc")), s.IsFrozen(of("ns0", "es")))
				}
				newborn := []Target{to(1003), to(1004)}
				s.fail(syscall.ECONNREFUSED, ip(1003))
				s.Set(of("lab", "newborn"), check, newborn)
				s.advance(50 * time.Second)
				if got := states(s.Set(of("lab", "newborn"), check, newborn)); got != "UH" || s.IsFrozen(of("lab", "newborn")) {
					t.Errorf("created during a freeze: %s, frozen %t; want UH, not frozen", got, s.IsFrozen(of("lab", "newborn")))
				}
			})
		})
	}
}

// TestASlowFailureIsConfirmedByAQuickSuccess has every probe of what fails last until after the next
// success.
func TestASlowFailureIsConfirmedByAQuickSuccess(t *testing.T) {
	runSuite(t, 0.5, Options{}, func(s *suite) {
		dc := func() string {
			return states(s.Set(key("dc"), standard, []Target{seeded(1, networkingv1.AddressHealthy), seeded(2, networkingv1.AddressHealthy)}))
		}
		dc()
		s.advance(time.Minute)
		s.SetNetworkUnreachable(true)
		s.mu.Lock()
		s.hangs[ip(1)] = true
		s.mu.Unlock()
		s.advance(time.Minute)
		if got := dc(); got != "UH" {
			t.Errorf("%s, want UH", got)
		}
	})
}

// TestALossOfOurOwnNetworkLeavesObjectsAsTheyAre loses everything at once, for some time, and has it
// back: no object may lose an address, also not by what succeeds first.
func TestALossOfOurOwnNetworkLeavesObjectsAsTheyAre(t *testing.T) {
	for name, tc := range map[string]struct {
		namespaces int
		reference  bool
		lasts      time.Duration
	}{
		"five namespaces, and the reference is reached":    {5, true, 5 * time.Minute},
		"five namespaces, and the reference is lost":       {5, false, 3 * time.Hour},
		"three namespaces, and the reference is lost":      {3, false, time.Hour},
		"two namespaces, and the reference is lost":        {2, false, time.Hour},
		"one namespace of one object, and it is lost":      {1, false, time.Hour},
		"three namespaces, and the reference is reached":   {3, true, 5 * time.Minute},
		"three namespaces, and it lasts for a moment only": {3, true, 15 * time.Second},
	} {
		for _, threshold := range []int{1, 3} {
			t.Run(fmt.Sprint(name, ", threshold ", threshold), func(t *testing.T) {
				var lost atomic.Bool
				reference := func(ctx context.Context) bool {
					if !lost.Load() {
						return true
					}
					if !tc.reference {
						<-ctx.Done()
					}
					return tc.reference
				}
				runSuite(t, 0.5, Options{Reference: reference}, func(s *suite) {
					check := standard
					check.FailureThreshold = ptr.To(int32(threshold))
					all, set := s.spaces(check, tc.namespaces)
					want := set()
					s.advance(time.Minute)
					s.since(&s.notified)
					lost.Store(true)
					s.fail(syscall.ENETUNREACH, all...)
					deadline := time.Now().Add(tc.lasts)
					for time.Now().Before(deadline) {
						s.advance(7 * time.Second)
						// The first failures of all cannot know of the others.
						if got := set(); got != want && threshold > 1 {
							t.Fatalf("after %s: %s, want %s", tc.lasts-time.Until(deadline), got, want)
						}
					}
					share := set()
					lost.Store(false)
					s.fail(nil, all...)
					for range 60 {
						s.advance(time.Second)
						if got := set(); threshold > 1 && got != want || threshold == 1 && lostMore(share, got) {
							t.Fatalf("once the network was back: %s, want %s", got, want)
						}
					}
					if s.IsSuspect() {
						t.Error("suspect for ever")
					}
					if set() != want {
						t.Errorf("%s in the end, want %s", set(), want)
					}
				})
			})
		}
	}
}

// lostMore reports whether something was healthy before and is not now.
func lostMore(before, now string) bool {
	for i := range before {
		if before[i] == 'H' && now[i] != 'H' {
			return true
		}
	}
	return false
}

func TestTheReferenceEndsADoubtThatFewCanHave(t *testing.T) {
	var version atomic.Int32
	runSuite(t, 0.5, Options{Reference: func(context.Context) bool { version.Add(1); return true }}, func(s *suite) {
		check := standard
		check.FailureThreshold = ptr.To(int32(1))
		set := func() string {
			return states(s.Set(key("db"), check, []Target{seeded(1, networkingv1.AddressHealthy)}))
		}
		set()
		s.advance(time.Minute)
		if version.Load() != 0 {
			t.Errorf("asked %d times while all is well", version.Load())
		}
		s.fail(syscall.ECONNREFUSED, ip(1))
		s.advance(10 * time.Second)
		if got := set(); got != "U" || version.Load() == 0 || s.IsSuspect() {
			t.Errorf("%s, asked %d times, suspect %t; want U, asked, not suspect", got, version.Load(), s.IsSuspect())
		}
		before := version.Load()
		s.advance(10 * time.Minute)
		if n := version.Load() - before; n > 10 {
			t.Errorf("asked %d times in 10m although it is reached", n)
		}
	})
}

func TestNeighboursHoldUpFailuresForATimeOnly(t *testing.T) {
	var changed []string
	hear := func(suspect bool, cause string) { changed = append(changed, fmt.Sprint(suspect, " ", cause)) }
	runSuite(t, 0.5, Options{OnSuspect: hear}, func(s *suite) {
		all, set := s.spaces(standard, 3)
		s.fail(syscall.ECONNREFUSED, all...)
		s.advance(maxSuspicion - 10*time.Second)
		if got := set(); got != "HHHHHH" || !s.IsSuspect() {
			t.Errorf("%s, suspect %t; want all healthy, and suspect", got, s.IsSuspect())
		}
		s.advance(time.Minute)
		if got := set(); got != "UUUUUU" || s.IsSuspect() {
			t.Errorf("%s, suspect %t; want all unhealthy, and not suspect", got, s.IsSuspect())
		}
		want := []string{"true 4 of 6 destinations fail, in 3 of 3 namespaces"}
		if len(changed) != 2 || changed[1] != "false"+changed[0][len("true"):] || changed[0][len(changed[0])-len("in 3 of 3 namespaces"):] != "in 3 of 3 namespaces" {
			t.Errorf("told %q, want it to begin like %q, and to end", changed, want)
		}
		// Who recovers and fails again and again gains no more time than that.
		frozen := time.Duration(0)
		for range 120 {
			s.fail(nil, all...)
			s.advance(25 * time.Second)
			s.fail(syscall.ECONNREFUSED, all...)
			for range 5 {
				s.advance(5 * time.Second)
				if s.IsSuspect() {
					frozen += 5 * time.Second
				}
			}
		}
		if most := 100*time.Minute/recoveryFactor + time.Minute; frozen > most {
			t.Errorf("frozen for %s of 100m, want at most %s", frozen, most)
		}
	})
}
