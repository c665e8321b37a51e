// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/internal/egress"
)

func TestAPatientProberTakesARefusalForNoAnswer(t *testing.T) {
	runSuite(t, 0.5, Options{RequireThreshold: true}, func(s *suite) {
		all := []Target{to(1), to(2)}
		s.Set(key("db"), standard, all)
		s.advance(time.Second)
		s.want("notified at first", &s.notified, "db", "db")
		s.fail(egress.ErrDenied, ip(1), ip(2))
		s.advance(time.Minute)
		got := s.Set(key("db"), standard, all)
		if states(got) != "UU" || got[0].State != networkingv1.AddressUnknown || got[0].Reason != networkingv1.ProbeDenied {
			t.Errorf("refused: %+v, want Unknown", got)
		}
		if diff := cmp.Diff(Summary{Unknown: 2, NotProbed: networkingv1.ProbeDenied}, s.Summary(key("db"))); diff != "" {
			t.Errorf("summary (-want +got):\n%s", diff)
		}
		s.want("notified of the refusals", &s.notified, "db", "db")
		s.fail(syscall.ECONNREFUSED, ip(1))
		s.advance(10 * time.Second)
		if diff := cmp.Diff(Summary{Healthy: 1, Unknown: 1}, s.Summary(key("db"))); diff != "" {
			t.Errorf("summary after one failure (-want +got):\n%s", diff)
		}
		s.advance(20 * time.Second)
		if diff := cmp.Diff(Summary{Unhealthy: 1, Unknown: 1}, s.Summary(key("db"))); diff != "" {
			t.Errorf("summary after three (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(Summary{}, s.Summary(key("other"))); diff != "" {
			t.Errorf("summary of nothing (-want +got):\n%s", diff)
		}
	})
}

func TestAPatientProberThatReachesNothingFromTheStartSuspectsItself(t *testing.T) {
	for required, want := range map[bool]State{true: networkingv1.AddressUnknown, false: networkingv1.AddressUnhealthy} {
		runSuite(t, 0.5, Options{RequireThreshold: required, MaxSuspicion: 2 * time.Hour}, func(s *suite) {
			s.fail(syscall.ENETUNREACH, ip(0), ip(1), ip(2))
			all := func(when string, want State) {
				t.Helper()
				for i := range 3 {
					if got := s.Set(key(fmt.Sprint("es", i)), standard, []Target{to(i)}); got[0].State != want {
						t.Errorf("required %t, %s: %s, want %s", required, when, got[0].State, want)
					}
				}
			}
			all("at first", networkingv1.AddressUnknown)
			s.advance(time.Hour)
			all("after an hour", want)
			if s.IsSuspect() != required {
				t.Errorf("required %t: suspect %t", required, s.IsSuspect())
			}
			s.fail(nil, ip(0), ip(1), ip(2))
			s.advance(time.Hour)
			all("afterwards", networkingv1.AddressHealthy)
			if s.IsSuspect() {
				t.Errorf("required %t: suspect for ever", required)
			}
			for i := range 3 {
				s.Forget(key(fmt.Sprint("es", i)))
			}
			empty(t, &s.suspicion)
		})
	}
}

func TestFailuresThatDecideAtOnceAreEvidenceNevertheless(t *testing.T) {
	runSuite(t, 0.5, Options{RequireThreshold: true}, func(s *suite) {
		s.fail(syscall.ENETUNREACH, ip(0), ip(1), ip(2))
		hasty := standard
		hasty.FailureThreshold = ptr.To(int32(1))
		for i := range 3 {
			s.Set(key(fmt.Sprint("es", i)), hasty, []Target{to(i)})
			s.advance(time.Second)
		}
		if got := s.Summary(key("es2")); !s.IsSuspect() || got.Unknown != 1 {
			t.Errorf("suspect %t, the third %+v; want suspect, and it unknown", s.IsSuspect(), got)
		}
	})
}

func TestObjectsOfOneGroupCountOnceInTheSuspicion(t *testing.T) {
	for groups, want := range map[int]bool{1: false, 2: false, 3: true, 6: true} {
		group := func(key types.NamespacedName) string { return fmt.Sprint(int(key.Name[2]-'0') % groups) }
		runSuite(t, 0.5, Options{Group: group}, func(s *suite) {
			all, _ := s.cluster(standard, 1, 1, 1, 1, 1, 1)
			s.advance(time.Minute)
			for _, some := range all {
				s.fail(syscall.ETIMEDOUT, some...)
			}
			s.advance(time.Minute)
			if s.IsSuspect() != want {
				t.Errorf("%d groups: suspect %t, want %t", groups, s.IsSuspect(), want)
			}
			for i := range all {
				s.Forget(key(fmt.Sprint("es", i)))
			}
			if empty(t, &s.suspicion); len(s.groups) > 0 {
				t.Errorf("%d groups: %d tallies of nothing", groups, len(s.groups))
			}
		})
	}
}
