// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package podprobe

import (
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-dev/fairlead/api/common"
)

func TestAHostIsCheckedOnceForAllWorkloads(t *testing.T) {
	withSuite(t, func(s *suite) {
		s.fail(syscall.ECONNREFUSED, ip(9))
		p := newProbe(onHost("198.18.0.9"))
		wants := append(of(p, pods(1, 2)), Want{Trigger: "wedged", Workload: "x", Probe: p, Pods: pods(3)})
		s.Set(policy("p"), wants)
		s.advance(21 * time.Second)
		s.expect("three failures", Result{Checked: 1, Unhealthy: 1, Firing: true})
		if got := s.Result(policy("p"), "wedged", "x"); !got.Firing {
			t.Errorf("the other workload: %+v", got)
		}
		want := []string{"0s 198.18.0.9:8080", "10s 198.18.0.9:8080", "20s 198.18.0.9:8080"}
		if diff := cmp.Diff(want, s.dialed()); diff != "" {
			t.Errorf("dialed (-want +got):\n%s", diff)
		}
		s.Set(policy("p"), wants[1:])
		if got := s.Result(policy("p"), "wedged", "x"); !got.Firing {
			t.Errorf("one workload less, and the other: %+v", got)
		}
	})
}

func TestAHostIsHealthyWhereAnyOfItsAddressesIs(t *testing.T) {
	withSuite(t, func(s *suite) {
		s.resolves("db.example.com", ip(1), ip(2), ip(3))
		s.fail(syscall.ECONNREFUSED, ip(1), ip(2))
		s.Set(policy("p"), of(newProbe(onHost("db.example.com")), nil))
		s.advance(time.Minute)
		s.expect("one answers", Result{Checked: 1})
		s.fail(syscall.ECONNREFUSED, ip(3))
		s.advance(time.Minute)
		s.expect("none answers", Result{Checked: 1, Unhealthy: 1, Firing: true})
		s.resolves("db.example.com", ip(4))
		s.advance(20 * time.Second)
		s.expect("it leads elsewhere", Result{Checked: 1})
	})
}

func TestANameThatLeadsNowhereIsNoFailure(t *testing.T) {
	withSuite(t, func(s *suite) {
		s.resolves("db.example.com")
		s.Set(policy("p"), of(newProbe(onHost("db.example.com")), nil))
		s.advance(time.Hour)
		s.expect("nowhere", Result{Checked: 1, Unknown: 1, Unsupported: common.ReasonHostUnresolved})
		if got := s.notified(); !slices.Equal(got, []string{"p"}) {
			t.Errorf("notified %v, want p", got)
		}
		s.resolves("db.example.com", ip(1))
		s.advance(10 * time.Second)
		s.expect("somewhere", Result{Checked: 1})
		if got := s.notified(); !slices.Equal(got, []string{"p"}) {
			t.Errorf("notified %v, want p", got)
		}
		s.fail(syscall.ECONNREFUSED, ip(1))
		s.advance(30 * time.Second)
		s.expect("down", Result{Checked: 1, Unhealthy: 1, Firing: true})
		s.resolves("db.example.com")
		s.advance(10 * time.Second)
		s.expect("nowhere again", Result{Checked: 1, Unknown: 1, Unsupported: common.ReasonHostUnresolved})
	})
}

func TestNoMoreThanEightAddressesAreAsked(t *testing.T) {
	withSuite(t, func(s *suite) {
		for i := range 50 {
			s.fail(syscall.ECONNREFUSED, ip(i))
		}
		s.resolves("db.example.com", ip(0), ip(1), ip(2), ip(3), ip(4), ip(5), ip(6), ip(7), ip(8), ip(9))
		s.Set(policy("p"), of(newProbe(onHost("db.example.com")), nil))
		s.advance(time.Second)
		if got := s.dialed(); len(got) != 8 {
			t.Errorf("asked %v", got)
		}
	})
}
