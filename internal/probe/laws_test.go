// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"fmt"
	"slices"
	"syscall"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/fairlead-dev/fairlead/api/common"
)

// Laws 1, 2 and 4: of targets that always accept none is ever anything but healthy after its first probe, in whichever
// order and by whichever host they are set, however often, and whatever the check asks; and each is what it was before
// where its host changes.
func TestLawAHostIsOnlyAName(t *testing.T) {
	type edit struct {
		hosts [3]int
		order int
		wait  time.Duration
		http  bool
		port  bool
	}
	rapid.Check(t, func(rt *rapid.T) {
		edits := rapid.SliceOfN(rapid.Custom(func(rt *rapid.T) edit {
			return edit{
				hosts: [3]int{rapid.IntRange(0, 2).Draw(rt, "host 1"), rapid.IntRange(0, 2).Draw(rt, "host 2"), rapid.IntRange(0, 2).Draw(rt, "host 3")},
				order: rapid.IntRange(0, 2).Draw(rt, "order"),
				wait:  rapid.SampledFrom([]time.Duration{0, time.Second, 15 * time.Second, 2 * time.Minute}).Draw(rt, "wait"),
				http:  rapid.Bool().Draw(rt, "http"),
				port:  rapid.Bool().Draw(rt, "port"),
			}
		}), 1, 12).Draw(rt, "edits")
		failure := ""
		runSuite(t, 0.5, Options{}, func(s *suite) {
			s.fail(syscall.ECONNREFUSED, ip(3))
			targets := []Target{to(1), to(2), to(3)}
			s.Set(key("db"), standard, targets)
			s.advance(time.Minute)
			for _, e := range edits {
				check := standard
				if e.http {
					check = getting(common.HTTPGetAction{}, nil, nil)
				}
				wanted, want := slices.Clone(targets), []byte("HHU")
				for i := range wanted {
					if n := e.hosts[i]; n > 0 {
						wanted[i].Host = fmt.Sprintf("host-%d.example.com", n)
					}
					if e.port {
						wanted[i].Port = 5433
					}
				}
				for range e.order {
					wanted = append(wanted[1:], wanted[0])
					want = append(want[1:], want[0])
				}
				got := states(s.Set(key("db"), check, wanted))
				if again := states(s.Set(key("db"), check, wanted)); got != string(want) || again != got {
					failure = fmt.Sprintf("%s, and again %s, want %s", got, again, want)
				}
				s.advance(e.wait)
			}
		})
		if failure != "" {
			rt.Fatal(failure)
		}
	})
}
