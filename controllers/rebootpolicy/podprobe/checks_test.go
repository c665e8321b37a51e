// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package podprobe

import (
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/internal/egress"
)

func TestAFreshPodHasAllItsTries(t *testing.T) {
	withSuite(t, func(s *suite) {
		s.fail(syscall.ECONNREFUSED, ip(1))
		s.Set(policy("p"), of(newProbe(), pods(1)))
		s.expect("at first", Result{Checked: 1, Unknown: 1})
		s.advance(11 * time.Second)
		s.expect("after two failures", Result{Checked: 1, Unknown: 1})
		if got := s.notified(); len(got) > 0 {
			t.Errorf("notified %v of nothing", got)
		}
		s.advance(10 * time.Second)
		s.expect("after three", Result{Checked: 1, Unhealthy: 1, Firing: true})
		if diff := cmp.Diff([]string{"p"}, s.notified()); diff != "" {
			t.Errorf("notified (-want +got):\n%s", diff)
		}
		want := []string{"0s 198.18.0.1:8080", "10s 198.18.0.1:8080", "20s 198.18.0.1:8080"}
		if diff := cmp.Diff(want, s.dialed()); diff != "" {
			t.Errorf("dialed (-want +got):\n%s", diff)
		}
	})
}

func TestASuccessBreaksTheRowAndTwoEndIt(t *testing.T) {
	withSuite(t, func(s *suite) {
		s.Set(policy("p"), of(newProbe(), pods(1)))
		s.advance(time.Second)
		s.expect("at first", Result{Checked: 1})
		if got := s.notified(); !slices.Equal(got, []string{"p"}) {
			t.Errorf("notified %v of the first success, want p", got)
		}
		for range 3 { // two failures and a success
			s.fail(syscall.ETIMEDOUT, ip(1))
			s.advance(20 * time.Second)
			s.fail(nil, ip(1))
			s.advance(10 * time.Second)
			s.expect("two failures, and a success", Result{Checked: 1})
		}
		if got := s.notified(); len(got) > 0 {
			t.Errorf("notified %v of nothing", got)
		}
		s.fail(syscall.ETIMEDOUT, ip(1))
		s.advance(40 * time.Second)
		s.expect("four failures", Result{Checked: 1, Unhealthy: 1, Firing: true})
		s.fail(nil, ip(1))
		s.advance(10 * time.Second)
		s.expect("one success", Result{Checked: 1, Unhealthy: 1, Firing: true})
		s.notified()
		s.advance(10 * time.Second)
		s.expect("two successes", Result{Checked: 1})
		if got := s.notified(); !slices.Equal(got, []string{"p"}) {
			t.Errorf("notified %v, want p", got)
		}
	})
}

func TestMinUnhealthyDecidesWhenATriggerFires(t *testing.T) {
	for _, tc := range []struct {
		least           string
		pods, unhealthy int
		want            bool
	}{
		{"", 1, 1, true},
		{"", 3, 1, false},
		{"", 3, 2, true},
		{"", 4, 2, true},
		{"50%", 5, 2, false},
		{"50%", 5, 3, true},
		{"34%", 3, 1, false},
		{"33%", 3, 1, true},
		{"0%", 3, 0, false},
		{"0%", 3, 1, true},
		{"100%", 3, 2, false},
		{"100%", 3, 3, true},
		{"1%", 200, 1, false},
		{"1%", 200, 2, true},
		{"0", 3, 0, false},
		{"0", 3, 1, true},
		{"1", 3, 1, true},
		{"2", 3, 1, false},
		{"2", 3, 2, true},
		{"4", 3, 3, false},
		{"0%", 0, 0, false},
	} {
		withSuite(t, func(s *suite) {
			change := func(*autorebootv1.Probe) {}
			if tc.least != "" {
				change = least(tc.least)
			}
			var numbers []int
			for i := range tc.pods {
				numbers = append(numbers, i)
				if i < tc.unhealthy {
					s.fail(syscall.ECONNREFUSED, ip(i))
				}
			}
			s.Set(policy("p"), of(newProbe(change), pods(numbers...)))
			s.advance(time.Minute)
			got := s.Result(policy("p"), "wedged", "w")
			if got != (Result{Checked: tc.pods, Unhealthy: tc.unhealthy, Firing: tc.want}) {
				t.Errorf("minUnhealthy %q, %d of %d unhealthy: %+v, want firing %t", tc.least, tc.unhealthy, tc.pods, got, tc.want)
			}
		})
	}
}

func TestPodsOfWhichNothingIsKnownSpeakAgainstFiring(t *testing.T) {
	withSuite(t, func(s *suite) {
		s.fail(syscall.ECONNREFUSED, ip(1), ip(2), ip(3))
		s.Set(policy("p"), of(newProbe(), pods(1)))
		s.advance(30 * time.Second)
		s.expect("the only pod", Result{Checked: 1, Unhealthy: 1, Firing: true})
		s.Set(policy("p"), of(newProbe(), pods(1, 2, 3)))
		s.expect("with two fresh ones", Result{Checked: 3, Unhealthy: 1, Unknown: 2})
		noIP := append(pods(1), Pod{Name: "pending", UID: "a"}, Pod{Name: "pending", UID: "b"})
		s.Set(policy("p"), of(newProbe(), noIP))
		s.expect("with two that have no IP", Result{Checked: 3, Unhealthy: 1, Unknown: 2})
		s.Set(policy("p"), of(newProbe(least("1")), noIP))
		s.expect("where one is enough", Result{Checked: 3, Unhealthy: 1, Unknown: 2, Firing: true})
	})
}

func TestReplacedPodsLeaveTheOthersTheirCounts(t *testing.T) {
	withSuite(t, func(s *suite) {
		s.Set(policy("p"), of(newProbe(), pods(1, 2, 3)))
		s.advance(time.Second)
		s.fail(syscall.ECONNREFUSED, ip(1))
		s.advance(20 * time.Second) // two failures of the first
		s.Set(policy("p"), of(newProbe(), pods(1, 4, 5)))
		s.expect("replaced", Result{Checked: 3, Unknown: 2})
		s.advance(10 * time.Second)
		s.expect("after the third", Result{Checked: 3, Unhealthy: 1})
		// The same address in the hands of another pod is another pod.
		taken := pods(1, 4, 5)
		taken[0].UID = "another"
		s.Set(policy("p"), of(newProbe(), taken))
		s.expect("its IP taken over", Result{Checked: 3, Unknown: 1})
	})
}

func TestAPolicysOtherChecksDoNotTouchWhatStays(t *testing.T) {
	withSuite(t, func(s *suite) {
		other := Want{Trigger: "other", Workload: "w", Probe: newProbe(), Pods: pods(7)}
		s.fail(syscall.ECONNREFUSED, ip(1), ip(7))
		s.Set(policy("p"), append(of(newProbe(), pods(1)), other))
		s.advance(11 * time.Second)
		s.Set(policy("p"), of(newProbe(least("1")), pods(1)))
		if got := s.Result(policy("p"), "other", "w"); got != (Result{}) {
			t.Errorf("what is not wanted any more says %+v", got)
		}
		s.advance(10 * time.Second)
		s.expect("after the third", Result{Checked: 1, Unhealthy: 1, Firing: true})
		s.Forget(policy("p"))
		s.expect("forgotten", Result{})
		s.dialed()
		s.notified()
		s.advance(time.Minute)
		if got := append(s.dialed(), s.notified()...); len(got) > 0 {
			t.Errorf("forgotten, and %v", got)
		}
		if len(s.policies)+len(s.byKey) > 0 {
			t.Errorf("something is left: %v %v", s.policies, s.byKey)
		}
	})
}

// A check of a workload whose pods are not known now goes on, and none begins.
func TestACheckThatIsKeptGoesOn(t *testing.T) {
	withSuite(t, func(s *suite) {
		kept := []Want{{Trigger: "wedged", Workload: "w", Probe: newProbe(), Kept: true}}
		s.Set(policy("p"), kept)
		s.expect("nothing to keep", Result{})
		s.fail(syscall.ECONNREFUSED, ip(1))
		s.Set(policy("p"), of(newProbe(), pods(1)))
		s.advance(11 * time.Second)
		s.Set(policy("p"), kept)
		s.advance(20 * time.Second)
		s.expect("after the third", Result{Checked: 1, Unhealthy: 1, Firing: true})
		s.Set(policy("p"), []Want{{Trigger: "wedged", Workload: "w", Probe: newProbe(onHost("db.example.com")), Kept: true}})
		s.expect("another probe", Result{})
		s.dialed()
		if s.advance(time.Minute); len(s.dialed()) > 0 {
			t.Error("the previous host is still checked")
		}
	})
}

func TestSetOfTheSameChangesNothing(t *testing.T) {
	withSuite(t, func(s *suite) {
		s.fail(syscall.ECONNREFUSED, ip(1))
		for range 35 {
			s.Set(policy("p"), of(newProbe(), pods(1, 2)))
			s.advance(time.Second)
		}
		s.expect("after 35s", Result{Checked: 2, Unhealthy: 1, Firing: true})
		if got := s.dialed(); len(got) != 8 {
			t.Errorf("dialed %v, want both pods every 10s", got)
		}
	})
}

func TestNotifiesOnlyWhereTheOutcomeMayHaveChanged(t *testing.T) {
	withSuite(t, func(s *suite) {
		s.Set(policy("p"), of(newProbe(), pods(1, 2, 3)))
		s.advance(time.Second)
		s.notified() // of the first success
		s.fail(syscall.ECONNREFUSED, ip(1))
		s.advance(time.Minute)
		if got := s.notified(); len(got) > 0 {
			t.Errorf("one of three is unhealthy, and %v are notified", got)
		}
		s.fail(syscall.ECONNREFUSED, ip(2))
		s.advance(time.Minute)
		if got := s.notified(); !slices.Equal(got, []string{"p"}) {
			t.Errorf("notified %v, want p", got)
		}
		s.fail(syscall.ECONNREFUSED, ip(3))
		s.advance(time.Minute)
		if got := s.notified(); len(got) > 0 {
			t.Errorf("it fires anyway, and %v are notified", got)
		}
		s.Set(policy("p"), of(newProbe(), pods(3)))
		if got := s.notified(); len(got) > 0 {
			t.Errorf("the caller of Set looks anyway, and %v are notified", got)
		}
	})
}

func TestNoNewsIsLostBetweenTwoSets(t *testing.T) {
	withSuite(t, func(s *suite) {
		set := func() { s.Set(policy("p"), of(newProbe(), pods(1))) }
		for range 3 {
			s.fail(syscall.ECONNREFUSED, ip(1))
			set()
			s.advance(30 * time.Second)
			set()
			s.expect("down", Result{Checked: 1, Unhealthy: 1, Firing: true})
			if got := s.notified(); !slices.Equal(got, []string{"p"}) {
				t.Errorf("down: notified %v, want p", got)
			}
			s.fail(nil, ip(1))
			s.advance(30 * time.Second)
			if got := s.notified(); !slices.Equal(got, []string{"p"}) {
				t.Errorf("up: notified %v, want p", got)
			}
		}
	})
}

func TestWhatIsSetAgainStartsWithNothingKnown(t *testing.T) {
	withSuite(t, func(s *suite) {
		s.fail(syscall.ECONNREFUSED, ip(1))
		s.Set(policy("p"), of(newProbe(), pods(1)))
		s.advance(time.Minute)
		s.Set(policy("p"), nil)
		s.Set(policy("p"), of(newProbe(), pods(1)))
		s.expect("set again", Result{Checked: 1, Unknown: 1})
		s.advance(21 * time.Second)
		s.expect("after three failures", Result{Checked: 1, Unhealthy: 1, Firing: true})
	})
}

func TestWhatCannotBeAskedIsNoFailure(t *testing.T) {
	refused := &egress.DeniedError{Verdict: egress.Verdict{Reason: egress.ReasonDeniedByPolicy}}
	withSuite(t, func(s *suite) {
		s.fail(refused, ip(1), ip(2))
		s.Set(policy("p"), of(newProbe(), pods(1, 2)))
		s.advance(time.Hour)
		s.expect("all refused", Result{Checked: 2, Unknown: 2, Unsupported: networkingv1.ProbeDenied})
		if got := s.notified(); !slices.Equal(got, []string{"p"}) {
			t.Errorf("notified %v, want p", got)
		}
		s.fail(syscall.ECONNREFUSED, ip(1))
		s.advance(time.Minute)
		s.expect("one can be asked", Result{Checked: 2, Unhealthy: 1, Unknown: 1, Firing: true})
		s.fail(refused, ip(1))
		s.advance(11 * time.Second)
		s.expect("none again", Result{Checked: 2, Unknown: 2, Unsupported: networkingv1.ProbeDenied})
	})
}

func TestWhatTheProcessCannotDoYetIsNotHeldAgainstPods(t *testing.T) {
	for name, why := range map[string]error{
		"ranges of the cluster are not known": &egress.DeniedError{Verdict: egress.Verdict{Reason: egress.ReasonUnsynced}},
		"out of files":                        syscall.EMFILE,
	} {
		t.Run(name, func(t *testing.T) {
			withSuite(t, func(s *suite) {
				s.fail(why, ip(1), ip(2))
				s.Set(policy("p"), of(newProbe(), pods(1, 2)))
				s.advance(time.Hour)
				s.expect("after an hour", Result{Checked: 2, Unknown: 2})
				if got := s.notified(); len(got) > 0 {
					t.Errorf("notified %v of nothing", got)
				}
			})
		})
	}
}
