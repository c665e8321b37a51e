// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	"reflect"
	"strings"
	"testing"
	"time"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/api/common"
	"github.com/fairlead-dev/fairlead/controllers/internal/clientprobe"
	"github.com/fairlead-dev/fairlead/controllers/internal/controller"
	"github.com/fairlead-dev/fairlead/controllers/internal/requestcount"
	"github.com/fairlead-dev/fairlead/controllers/rebootpolicy/restart"
)

// proven is config with a probe of what clients use.
var proven = strings.Replace(config, "{soak: 10s}", "{soak: 10s, probes: [{name: shop, host: shop.example.com, tcpSocket: {port: 443}}]}", 1)

func (s *suite) requests(sent, failed int64) {
	s.sender.counted = []requestcount.Requests{{ProbeRequests: shopRequests(sent, failed)}}
}

func shopRequests(sent, failed int64) common.ProbeRequests {
	return common.ProbeRequests{Name: "shop", RequestCounts: common.RequestCounts{Sent: sent, Failed: failed}}
}

// beginRestart has a restart begin.
func (s *suite) beginRestart() {
	s.reconcile()
	s.changeSource("Secret/creds", "hmac:2")
	s.reconcile()
	s.advance(16 * time.Second)
	s.reconcile()
}

func TestRequestsAreSentWhileARestartIsInFlightAndWriteNoStatus(t *testing.T) {
	writes := map[string]int{}
	for _, spec := range []string{config, proven} {
		s := newSuite(t, spec, deployment("api", 2, nil)...)
		s.reconcile()
		if len(s.sender.wants) > 0 {
			t.Errorf("nothing is in flight: %+v", s.sender.wants)
		}
		s.writes = 0
		s.beginRestart()
		if spec == proven {
			if got := s.sender.wants; len(got) != 1 || got[0].Probe.Host != "shop.example.com" || *got[0].Probe.MaxFailures != 0 ||
				!reflect.DeepEqual(s.sender.restarts, []clientprobe.Disruption{{ID: theRestart}}) {
				t.Errorf("the requests of a restart that has begun: %+v for %+v", got, s.sender.restarts)
			}
		}
		for n := range int64(30) {
			s.requests(n+1, 0)
			s.advance(controller.CoalescingInterval)
			s.reconcile()
		}
		s.completeRollout("api")
		s.reconcile()
		s.requests(1240, 0)
		s.advance(11 * time.Second)
		s.reconcile()
		writes[spec] = s.writes
		if len(s.sender.wants) > 0 {
			t.Errorf("it is over: %+v", s.sender.wants)
		}
		record := s.object().Status.History[0]
		if record.Result != autorebootv1.ResultSucceeded || (record.Requests != nil) != (spec == proven) {
			t.Errorf("%+v", record)
		}
		if spec == proven && (record.Message != "0 of 1,240 requests failed while it restarted" || !strings.Contains(strings.Join(s.all, "\n"), record.Message)) {
			t.Errorf("%+v; events %q", record, s.all)
		}
	}
	if writes[config] != writes[proven] {
		t.Errorf("a restart takes %d writes of the status, and %d with requests", writes[config], writes[proven])
	}
}

func TestAnotherProcessGoesOnWithTheCountsOfTheStatus(t *testing.T) {
	s := newSuite(t, proven, deployment("api", 2, nil)...)
	s.beginRestart()
	s.requests(40, 2)
	s.advance(controller.CoalescingInterval)
	s.reconcile() // the first that are too many are stored
	s.sender.counted, s.sender.wants = nil, nil
	s.restart()
	s.reconcile()
	want := []clientprobe.Disruption{{ID: theRestart, Stored: []common.ProbeRequests{shopRequests(40, 2)}, Resumed: true}}
	if got := s.sender.restarts; len(s.sender.wants) != 1 || !reflect.DeepEqual(got, want) {
		t.Fatalf("%+v", got)
	}
	s.completeRollout("api")
	s.reconcile()
	s.expectCondition(autorebootv1.ConditionVerified, "False ProbesFailed")
	s.expectCondition(autorebootv1.ConditionStalled, "True VerificationFailed")
}

func TestNoRequestIsSentForWhatIsNotApprovedOrNotDone(t *testing.T) {
	s := newSuite(t, proven, deployment("api", 2, nil)...)
	s.beginRestart()
	s.editUnapproved(func(p *autorebootv1.RebootPolicy) { p.Spec.Verification.Probes[0].Host = "other.example.com" })
	if s.reconcile(); len(s.sender.wants) > 0 {
		t.Errorf("not approved: %+v", s.sender.wants)
	}
	s.edit(func(*autorebootv1.RebootPolicy) {})
	if s.reconcile(); len(s.sender.wants) != 1 || s.sender.wants[0].Probe.Host != "other.example.com" {
		t.Errorf("approved: %+v", s.sender.wants)
	}
	s.must(s.store.Delete(t.Context(), s.object()))
	if s.reconcile(); len(s.sender.wants) > 0 {
		t.Errorf("deleted: %+v", s.sender.wants)
	}

	refused := newSuite(t, proven, deployment("api", 2, nil)...)
	refused.doer.outcome = restart.Refused
	refused.beginRestart()
	if len(refused.object().Status.InFlight) > 0 || len(refused.sender.wants) > 0 {
		t.Errorf("refused: %+v", refused.sender.wants)
	}
}

func TestTheAuthorityOfAProbeIsReadAndItsAbsenceTold(t *testing.T) {
	spec := strings.Replace(proven, "tcpSocket: {port: 443}", "httpGet: {port: 443}, tls: {caSecretName: roots}", 1)
	s := newSuite(t, spec, deployment("api", 2, nil)...)
	s.beginRestart()
	if got := s.sender.wants; len(got) != 1 || got[0].Unsupported != autorebootv1.ReasonSecretUnavailable {
		t.Errorf("%+v", got)
	}
}
