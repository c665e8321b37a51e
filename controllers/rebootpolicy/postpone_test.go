// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	"slices"
	"strings"
	"testing"
	"time"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/controllers/internal/controller"
	"github.com/fairlead-dev/fairlead/controllers/rebootpolicy/restart"
)

// planned is a stand on which a workload was just told to restart.
func planned(t *testing.T) *suite {
	t.Helper()
	s := newSuite(t, config, deployment("api", 2, nil)...)
	s.reconcile()
	s.changeSource("Secret/creds", "hmac:2")
	s.reconcile()
	s.advance(time.Minute)
	s.writes, s.events = 0, nil
	return s
}

func (s *suite) phase() autorebootv1.RestartPhase {
	s.Helper()
	flight := s.object().Status.InFlight
	if len(flight) != 1 {
		s.Fatalf("%d in flight", len(flight))
	}
	return flight[0].Phase
}

func TestWhatWasDoneIsRecordedByTheNextWrite(t *testing.T) {
	s := planned(t)
	if again := s.reconcile().RequeueAfter; again > controller.CoalescingInterval {
		t.Errorf("looks again after %s", again)
	}
	s.expectActions("Annotate api " + theRestart)
	if s.writes != 1 || s.phase() != autorebootv1.PhasePlanned {
		t.Errorf("%d writes, phase %s", s.writes, s.phase())
	}
	s.completeRollout("api")
	s.advance(controller.CoalescingInterval)
	s.reconcile()
	if s.writes != 2 || s.phase() != autorebootv1.PhaseSoaking {
		t.Errorf("%d writes, phase %s", s.writes, s.phase())
	}
	started := slices.DeleteFunc(slices.Clone(s.events), func(told string) bool { return !strings.HasPrefix(told, "RestartStarted") })
	if len(started) != 1 { // on the workload
		t.Errorf("told %q", s.events)
	}
	s.expectActions()
	s.expectNoWrite("the soak goes on")
}

func TestWhatWasNotDoneIsRecordedAtOnce(t *testing.T) {
	s := planned(t)
	s.doer.outcome = restart.Gone
	s.reconcile()
	s.expectActions("Annotate api " + theRestart)
	if history := s.object().Status.History; len(history) != 1 || history[0].Reason != autorebootv1.ReasonTargetGone {
		t.Errorf("history %+v", history)
	}
}
