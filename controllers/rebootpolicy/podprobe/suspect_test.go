// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package podprobe

import (
	"slices"
	"syscall"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

func TestMassFailureIsOurOwnFault(t *testing.T) {
	for name, settled := range map[string]time.Duration{"of what was healthy": time.Minute, "from the start": 0} {
		t.Run(name, func(t *testing.T) {
			withSuite(t, func(s *suite) {
				set := func() {
					for i, name := range []string{"p", "q", "r"} {
						s.Set(policy(name), []Want{{Trigger: "wedged", Workload: types.UID(rune('w' + i)), Probe: newProbe(), Pods: pods(2*i, 2*i+1)}})
					}
				}
				if settled > 0 {
					set()
					s.advance(settled)
				}
				s.fail(syscall.ENETUNREACH, ip(0), ip(1), ip(2), ip(3), ip(4), ip(5))
				set()
				s.advance(50 * time.Minute)
				if got := s.Result(policy("p"), "wedged", "w"); !s.prober.IsSuspect() || got.Firing || got.Unhealthy > 0 {
					t.Errorf("suspect %t, %+v", s.prober.IsSuspect(), got)
				}
				s.fail(nil, ip(2), ip(3), ip(4), ip(5))
				s.advance(time.Minute)
				if s.prober.IsSuspect() {
					t.Error("suspect although most answer")
				}
				s.expect("afterwards", Result{Checked: 2, Unhealthy: 2, Firing: true})
			})
		})
	}
}

func TestOneWorkloadIsNoEvidenceAgainstUs(t *testing.T) {
	withSuite(t, func(s *suite) {
		var wants []Want
		for _, trigger := range []string{"wedged", "b", "c", "d"} {
			wants = append(wants, Want{Trigger: trigger, Workload: "w", Probe: newProbe(), Pods: pods(1, 2)})
		}
		s.Set(policy("p"), wants)
		s.advance(time.Minute)
		s.fail(syscall.ECONNREFUSED, ip(1), ip(2))
		s.advance(time.Minute)
		if s.prober.IsSuspect() {
			t.Error("suspect since one workload has four triggers")
		}
		s.expect("all of it down", Result{Checked: 2, Unhealthy: 2, Firing: true})
	})
}

func TestASuspicionIsNewsWhereSomethingFires(t *testing.T) {
	withSuite(t, func(s *suite) {
		s.fail(syscall.ECONNREFUSED, ip(0))
		for i, name := range []string{"p", "q", "r", "s", "t"} {
			s.Set(policy(name), []Want{{Trigger: "wedged", Workload: types.UID(name), Probe: newProbe(), Pods: pods(i)}})
		}
		s.advance(time.Minute)
		if got := s.notified(); !slices.Equal(got, []string{"p", "q", "r", "s", "t"}) { // all but p of the first success
			t.Errorf("notified %v, want all", got)
		}
		s.fail(syscall.ENETUNREACH, ip(1), ip(2), ip(3), ip(4))
		s.advance(time.Minute)
		if got := s.notified(); !s.prober.IsSuspect() || !slices.Equal(got, []string{"p"}) {
			t.Errorf("suspect %t, notified %v, want p", s.prober.IsSuspect(), got)
		}
	})
}
