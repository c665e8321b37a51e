// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"fmt"
	"net/netip"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
)

// inUse is a target that clients use.
func inUse(n int) Target {
	t := to(n)
	t.InUse = true
	return t
}

// at returns when an address was probed.
func (s *suite) at(ip netip.Addr) (all []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, line := range s.probes {
		if when, found := strings.CutSuffix(line, fmt.Sprintf(" %s:5432", ip)); found {
			all = append(all, when)
		}
	}
	return all
}

func (s *suite) wantProbesOf(n int, want ...string) {
	s.t.Helper()
	if diff := cmp.Diff(want, s.at(ip(n))); diff != "" {
		s.t.Errorf("probes of %s (-want +got):\n%s", ip(n), diff)
	}
}

// A database whose roles are switched is healthy again once the former primary is known to have failed.
func TestTheFirstFailureInUseHasUnhealthyTargetsProbedAtOnce(t *testing.T) {
	runSuite(t, 0, Options{}, func(s *suite) {
		s.fail(syscall.ECONNREFUSED, ip(2))
		set := func(all ...Target) string { return states(s.Set(key("db"), standard, all)) }
		set(inUse(1), to(2))
		s.advance(41 * time.Second)
		s.fail(syscall.ECONNREFUSED, ip(1))
		s.fail(nil, ip(2))
		s.advance(28 * time.Second)
		if got := set(inUse(1), to(2)); got != "HH" {
			t.Errorf("after two failures and two successes: %s, want HH", got)
		}
		s.advance(2 * time.Second)
		if got := set(to(1), inUse(2)); got != "UH" {
			t.Errorf("after three failures: %s, want UH", got)
		}
		s.advance(60 * time.Second)
		s.wantProbesOf(1, "0s", "10s", "20s", "30s", "40s", "50s", "1m0s", "1m10s", "1m20s", "1m50s")
		s.wantProbesOf(2, "0s", "30s", "50s", "1m0s", "1m10s", "1m20s", "1m30s", "1m40s", "1m50s", "2m0s", "2m10s")
	})
}

func TestNoTargetIsProbedTwiceWithinAnIntervalSinceAnotherFailed(t *testing.T) {
	runSuite(t, 0, Options{}, func(s *suite) {
		s.fail(syscall.ECONNREFUSED, ip(2))
		s.Set(key("db"), standard, []Target{inUse(1), inUse(3)})
		s.advance(4 * time.Second)
		s.Set(key("db"), standard, []Target{inUse(1), inUse(3), to(2)})
		s.advance(31 * time.Second)
		s.fail(syscall.ECONNREFUSED, ip(1))
		s.advance(60 * time.Second)
		// The third failure of the one, at a minute, leaves the other, which is healthy.
		s.wantProbesOf(2, "4s", "34s", "44s", "54s", "1m4s", "1m34s")
	})
}

func TestWhatNobodyUsesKeepsItsPace(t *testing.T) {
	runSuite(t, 0, Options{}, func(s *suite) {
		s.fail(syscall.ECONNREFUSED, ip(2))
		s.Set(key("db"), standard, []Target{to(1), to(2)})
		s.advance(35 * time.Second)
		s.fail(syscall.ECONNREFUSED, ip(1))
		s.advance(time.Minute)
		s.wantProbesOf(2, "0s", "30s", "1m0s", "1m30s")
	})
}

func TestAShorterUnhealthyIntervalStays(t *testing.T) {
	runSuite(t, 0, Options{}, func(s *suite) {
		check := every("5m", 2, 3)
		check.UnhealthyInterval = time.Second
		s.fail(syscall.ECONNREFUSED, ip(1))
		s.Set(key("db"), check, []Target{inUse(1)})
		s.advance(3 * time.Second)
		s.wantProbesOf(1, "0s", "1s", "2s", "3s")
	})
}

// Objects without number, whose address in use fails each time, have a server probed no more often than one object does.
func TestADestinationOfManyObjectsKeepsItsPaceWhereAllNeedAReplacement(t *testing.T) {
	runSuite(t, 0.5, Options{}, func(s *suite) {
		const objects = 2000
		s.fail(syscall.ECONNREFUSED, ip(0))
		var used []netip.Addr
		for i := range objects {
			s.Set(key(fmt.Sprint("db", i)), standard, []Target{inUse(i + 1), to(0)})
			used = append(used, ip(i+1))
		}
		s.advance(2 * time.Minute)
		s.fail(syscall.ECONNREFUSED, used...)
		before := len(s.at(ip(0)))
		s.advance(2 * time.Minute)
		if n := len(s.at(ip(0))) - before; n > 120*maxDestinationRate+objects {
			t.Errorf("%d probes in two minutes, want %d a second", n, maxDestinationRate)
		}
	})
}

// Law 15: while what is in use fails, or is unhealthy, each target is probed every interval; and none is probed more often,
// nor less often than every unhealthyInterval, whatever happens.
func TestLawTargetsAreProbedEveryIntervalWhileAReplacementIsNeeded(t *testing.T) {
	type step struct {
		flips, used int
		seconds     int
	}
	draw := rapid.Custom(func(rt *rapid.T) step {
		return step{rapid.IntRange(0, 7).Draw(rt, "flips"), rapid.IntRange(0, 7).Draw(rt, "used"), rapid.IntRange(1, 70).Draw(rt, "seconds")}
	})
	rapid.Check(t, func(rt *rapid.T) {
		steps := rapid.SliceOfN(draw, 1, 10).Draw(rt, "steps")
		failure := ""
		fails := func(format string, args ...any) {
			if failure == "" {
				failure = fmt.Sprintf(format, args...)
			}
		}
		runSuite(t, 0, Options{}, func(s *suite) {
			interval, seldom := standard.timing().interval, standard.timing().unhealthyInterval
			down, needed := 0, time.Duration(0)
			var last [3]time.Time
			for n, step := range steps {
				down ^= step.flips
				all := make([]Target, 3)
				for i := range all {
					all[i] = to(i)
					all[i].InUse = step.used&(1<<i) != 0
					var err error
					if down&(1<<i) != 0 {
						err = syscall.ECONNREFUSED
					}
					s.fail(err, ip(i))
				}
				for range step.seconds {
					s.advance(time.Second)
					health := s.Set(key("db"), standard, all)
					if needed += time.Second; !needsReplacement(all, health) {
						needed = 0
					}
					for i, h := range health {
						since, gap := time.Since(h.LastProbe), h.LastProbe.Sub(last[i])
						switch {
						case !last[i].IsZero() && gap > 0 && gap < interval:
							fails("step %d: %s was probed after %s", n, all[i].IP, gap)
						case needed > interval && since > interval && !h.LastProbe.IsZero(), !h.LastProbe.IsZero() && since > seldom:
							fails("step %d: %s was not probed for %s, and a replacement is needed for %s", n, all[i].IP, since, needed)
						}
						last[i] = h.LastProbe
					}
				}
			}
		})
		if failure != "" {
			rt.Fatal(failure)
		}
	})
}

// needsReplacement reports whether one of the targets in use fails, or all of them are unhealthy, as far as the health says.
func needsReplacement(all []Target, health []Health) bool {
	used, usable := 0, 0
	for i, h := range health {
		if !all[i].InUse {
			continue
		}
		used++
		if h.State == networkingv1.AddressUnhealthy {
			continue
		}
		if usable++; h.Reason != "" && h.Reason != networkingv1.ProbeConnected {
			return true
		}
	}
	return used > 0 && usable == 0
}
