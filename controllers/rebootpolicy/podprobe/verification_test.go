// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package podprobe

import (
	"slices"
	"syscall"
	"testing"
	"time"

	"k8s.io/utils/ptr"

	"github.com/fairlead-dev/fairlead/api/common"
	"github.com/fairlead-dev/fairlead/internal/rules"
)

// verifying is a probe of 198.18.0.1:8080 each second, of which one request may fail, for some restarts.
func verifying(name string, restarts ...Counted) Verification {
	list := []common.VerificationProbe{{Name: name, Host: "198.18.0.1", TCPSocket: &common.TCPSocketAction{Port: number(8080)}, MaxFailures: ptr.To[int32](1)}}
	rules.DefaultVerificationProbes(list)
	return Verification{Probe: &list[0], Restarts: restarts}
}

// requests sees what was counted for a restart of the policy "p" by the probe "shop".
func (s *suite) requests(when, restart string, want Requests) {
	s.t.Helper()
	got, ok := s.Requests(policy("p"), "shop", restart)
	if !ok || got != want {
		s.t.Errorf("%s: %t %+v, want %+v", when, ok, got, want)
	}
}

func counts(sent, failed int64) common.RequestCounts {
	return common.RequestCounts{Sent: sent, Failed: failed}
}

func TestRequestsAreSentOnceForAllRestartsAndCountedForEach(t *testing.T) {
	withSuite(t, func(s *suite) {
		s.SetVerification(policy("p"), []Verification{verifying("shop", Counted{ID: "a"})})
		s.advance(1500 * time.Millisecond)
		s.requests("two requests", "a", Requests{RequestCounts: counts(2, 0)})
		s.SetVerification(policy("p"), []Verification{verifying("shop", Counted{ID: "a", Before: counts(90, 9)},
			Counted{ID: "b", Before: counts(10, 1), Resumed: true})})
		s.fail(syscall.ECONNREFUSED, ip(1))
		s.advance(2 * time.Second)
		s.requests("two fail", "a", Requests{RequestCounts: counts(4, 2)})
		s.requests("of one that another process began", "b", Requests{RequestCounts: counts(12, 3), Resumed: true})
		if got := s.dialed(); len(got) != 4 {
			t.Errorf("dialed %v, want 4 times", got)
		}
		s.SetVerification(policy("p"), []Verification{verifying("shop", Counted{ID: "b"})})
		if _, ok := s.Requests(policy("p"), "shop", "a"); ok {
			t.Error("a restart that has ended is still counted")
		}
		s.requests("it stays", "b", Requests{RequestCounts: counts(12, 3), Resumed: true})
		s.SetVerification(policy("p"), nil)
		if s.advance(time.Minute); len(s.dialed()) > 0 || len(s.verifications)+len(s.verificationOf) > 0 {
			t.Errorf("requests are sent after the last restart: %v", s.verifications)
		}
	})
}

func TestAProbeThatIsEditedKeepsItsCounts(t *testing.T) {
	withSuite(t, func(s *suite) {
		s.SetVerification(policy("p"), []Verification{verifying("shop", Counted{ID: "a"})})
		s.advance(1500 * time.Millisecond)
		edited := verifying("shop", Counted{ID: "a", Before: counts(7, 7), Resumed: true})
		edited.Probe.Host = "198.18.0.2"
		added := verifying("added", Counted{ID: "a", Resumed: true})
		s.SetVerification(policy("p"), []Verification{edited, added})
		s.advance(1500 * time.Millisecond)
		s.requests("another host", "a", Requests{RequestCounts: counts(4, 0)})
		if got, _ := s.Requests(policy("p"), "added", "a"); got.Resumed || got.Sent != 2 {
			t.Errorf("a probe that is added: %+v", got)
		}
		edited.Unsupported = "CAUnavailable"
		s.SetVerification(policy("p"), []Verification{edited})
		s.advance(time.Minute)
		s.requests("nothing can be sent", "a", Requests{RequestCounts: counts(4, 0), NotSent: "CAUnavailable"})
	})
}

func TestOnlyRequestsThatMayDecideAreNotified(t *testing.T) {
	withSuite(t, func(s *suite) {
		s.SetVerification(policy("p"), []Verification{verifying("shop", Counted{ID: "a"})})
		for _, step := range []struct {
			what string
			fail error
			want bool
		}{
			{"the first", nil, true}, {"one more", nil, false}, {"a failure that may be", syscall.ECONNREFUSED, false},
			{"one too many", syscall.ECONNREFUSED, true}, {"another", syscall.ECONNREFUSED, false}, {"a success", nil, false},
		} {
			s.fail(step.fail, ip(1))
			s.advance(time.Second)
			if got := s.notified(); slices.Contains(got, "p") != step.want {
				t.Errorf("%s: notified %v", step.what, got)
			}
		}
	})
}

func TestAVerificationAndATriggerOfOneNameShareNothing(t *testing.T) {
	withSuite(t, func(s *suite) {
		s.Set(policy("p"), []Want{{Trigger: "shop", Workload: "w", Probe: newProbe(onHost("198.18.0.1"))}})
		s.SetVerification(policy("p"), []Verification{verifying("shop", Counted{ID: "a"})})
		s.advance(500 * time.Millisecond)
		s.Forget(policy("p"))
		s.advance(time.Second)
		s.requests("after the triggers were forgotten", "a", Requests{RequestCounts: counts(2, 0)})
	})
}
