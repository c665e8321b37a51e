// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"fmt"
	"syscall"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/fairlead-dev/fairlead/api/common"
	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
)

func named(n int, host string) Target {
	t := to(n)
	t.Host = host
	return t
}

func TestOneAddressByManyNamesIsProbedOnce(t *testing.T) {
	http := getting(common.HTTPGetAction{}, nil, nil)
	hosted := getting(common.HTTPGetAction{HostHeader: ptr.To("db.example.com")}, nil, nil)
	for name, test := range map[string]struct {
		check Check
		want  int // probes of an interval
	}{
		"TCP, which sends no name":       {standard, 1},
		"HTTP with a host of its own":    {hosted, 1},
		"HTTP with the name as the host": {http, 32},
	} {
		t.Run(name, func(t *testing.T) {
			runSuite(t, 0, Options{}, func(s *suite) {
				var all []Target
				for i := range 32 {
					all = append(all, named(1, fmt.Sprintf("db-%d.example.com", i)))
				}
				s.Set(key("db"), test.check, all)
				s.advance(time.Second)
				if got := len(s.since(&s.probes)); got != test.want {
					t.Errorf("%d probes, want %d", got, test.want)
				}
				if got, want := states(s.Set(key("db"), test.check, all)), 32; len(got) != want || got[0] != 'H' || got[31] != 'H' {
					t.Errorf("health %s, want that of %d targets, all healthy", got, want)
				}
				// All but one go: its health stays.
				if got := states(s.Set(key("db"), test.check, all[31:])); got != "H" {
					t.Errorf("of the last one %s, want H", got)
				}
			})
		})
	}
}

func TestAnAddressStaysHealthyByANameThatIsNotSent(t *testing.T) {
	for name, edits := range map[string][][]Target{
		"by a name instead of itself":     {{to(1)}, {named(1, "db.example.com")}},
		"by another name":                 {{named(1, "a.example.com")}, {named(1, "b.example.com")}},
		"by both, and then by the second": {{named(1, "a.example.com")}, {named(1, "a.example.com"), named(1, "b.example.com")}, {named(1, "b.example.com")}},
		"in another order":                {{to(2), to(1)}, {to(1), to(2)}},
	} {
		t.Run(name, func(t *testing.T) {
			runSuite(t, 0, Options{}, func(s *suite) {
				check := getting(common.HTTPGetAction{HostHeader: ptr.To("db.example.com")}, nil, nil)
				s.Set(key("db"), check, edits[0])
				s.advance(time.Second)
				for _, targets := range edits[1:] {
					for i, health := range s.Set(key("db"), check, targets) {
						if health.State != networkingv1.AddressHealthy || !health.Since.Equal(s.began) {
							t.Errorf("target %d is %s since %s", i, health.State, health.Since)
						}
					}
				}
				s.fail(syscall.ECONNREFUSED, ip(1))
				s.advance(30 * time.Second)
				last := edits[len(edits)-1]
				if got := s.Set(key("db"), check, last)[0].State; got != networkingv1.AddressUnhealthy {
					t.Errorf("after three failures by the new name %s", got)
				}
			})
		})
	}
}

func TestAnotherPodOfTheSameAddressIsUnknown(t *testing.T) {
	runSuite(t, 0, Options{}, func(s *suite) {
		first, second := to(1), to(1)
		first.ID, second.ID = "1", "2"
		s.Set(key("db"), standard, []Target{first})
		s.advance(time.Second)
		if got := s.Set(key("db"), standard, []Target{second})[0].State; got != networkingv1.AddressUnknown {
			t.Errorf("%s, want Unknown", got)
		}
	})
}

func TestOneDestinationIsProbedAtABoundedRateByANamespace(t *testing.T) {
	runSuite(t, 0, Options{}, func(s *suite) {
		check := standard
		check.Interval = ptr.To(common.Duration("1s"))
		for i := range 4 * maxDestinationRate {
			s.Set(key(fmt.Sprint("db-", i)), check, []Target{to(1)})
		}
		s.Set(types.NamespacedName{Namespace: "other", Name: "db"}, check, []Target{to(1)})
		s.advance(10 * time.Second)
		s.since(&s.probes)
		s.advance(40 * time.Second)
		// Each of the namespace's 200 every 4s, and the other namespace's own every second.
		if got, most := len(s.since(&s.probes)), 40*(maxDestinationRate+1)+maxDestinationRate; got > most || got < 40*maxDestinationRate {
			t.Errorf("%d probes of one destination in 40s, want %d at most", got, most)
		}
	})
}
