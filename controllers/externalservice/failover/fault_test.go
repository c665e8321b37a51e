// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package failover

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-dev/fairlead/api/common"
	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	rules "github.com/fairlead-dev/fairlead/internal/rules/externalservice"
)

const tenMinutes = "BlackHole for=10m at=2026-03-02T14:00:00Z"

var asked = time.Date(2026, 3, 2, 14, 0, 0, 0, time.UTC)

// faultSuite is the decision with all around it, stored as an API server would store it.
type faultSuite struct {
	*testing.T
	faultInput
	request      faultRequest // of this process
	outcome, why string       // of what hinders
	stored       *networkingv1.FaultStatus
}

func newFaultSuite(t *testing.T) *faultSuite {
	d := &faultSuite{T: t}
	d.now, d.requested = asked, tenMinutes
	d.restarts()
	return d
}

// restarts has another process decide from now on.
func (s *faultSuite) restarts() {
	s.faultInput = faultInput{now: s.now, requested: s.requested, dependants: s.dependants}
	s.request = faultRequest{}
}

// decideOnce decides. stores says that the status is written.
func (s *faultSuite) decideOnce(stores bool) FaultDecision {
	s.faultInput.stored, s.obstacle, s.firstSeen = s.stored, obstacle{s.outcome, s.why}, s.request.firstSeen(s.requested, s.now)
	was := s.stored.Lasts()
	f := s.decide()
	if f.IsInEffect && !was {
		s.Error("a fault has an effect that is not stored")
	}
	if s.now.After(s.latestDecision) {
		s.latestDecision = s.now
	}
	if was && !f.IsInEffect {
		s.ended = f.Status
	}
	if stores {
		s.stored = f.Status.DeepCopy()
	}
	return f
}

func (s *faultSuite) advance(span time.Duration) { s.now = s.now.Add(span) }

// wantLasting demands that the fault has an effect, or that it ended as said.
func (s *faultSuite) wantLasting(outcome string) {
	s.Helper()
	f := s.decideOnce(true)
	switch {
	case outcome == "" && !f.IsInEffect:
		s.Errorf("the fault has no effect: %+v", f.Status)
	case outcome != "" && (f.IsInEffect || f.Status == nil || f.Status.Outcome != outcome):
		s.Errorf("effect %v, want %s: %+v", f.IsInEffect, outcome, f.Status)
	}
}

func (s *faultSuite) begins() {
	s.Helper()
	if f := s.decideOnce(true); f.IsInEffect || !f.Status.Lasts() {
		s.Fatalf("does not begin: %+v", f)
	}
	s.wantLasting("")
}

func TestAFaultEndsAtItsDeadlineInAnyProcess(t *testing.T) {
	d := newFaultSuite(t)
	d.begins()
	if want := asked.Add(10 * time.Minute); !d.stored.DeadlineTime.Time.Equal(want) {
		t.Errorf("deadline %s", d.stored.DeadlineTime)
	}
	d.advance(5 * time.Minute)
	d.restarts()
	d.wantLasting("")
	d.advance(5*time.Minute - time.Second)
	d.wantLasting("")
	d.advance(time.Second)
	d.wantLasting(networkingv1.FaultOutcomeDeadlineReached)
	d.wantLasting(networkingv1.FaultOutcomeDeadlineReached)
	d.restarts() // and the annotation is still there
	d.wantLasting(networkingv1.FaultOutcomeDeadlineReached)
	d.advance(-8 * time.Minute)
	d.restarts()
	d.wantLasting(networkingv1.FaultOutcomeDeadlineReached)
}

func TestAFaultThatEndedStaysEndedUntilThatIsStored(t *testing.T) {
	d := newFaultSuite(t)
	d.begins()
	d.outcome, d.why = networkingv1.FaultOutcomeRealFailure, "it burns"
	d.decideOnce(false)
	d.outcome, d.why = "", ""
	d.advance(time.Second)
	d.wantLasting(networkingv1.FaultOutcomeRealFailure)
	if !d.stored.CompletionTime.Time.Equal(asked) {
		t.Errorf("ended at %s", d.stored.CompletionTime)
	}
}

func TestTheOperatorWasAway(t *testing.T) {
	d := newFaultSuite(t)
	d.advance(10 * time.Minute)
	d.wantLasting(networkingv1.FaultOutcomeRefused)
	d.advance(-9 * time.Minute) // the clock is set back
	d.restarts()
	d.wantLasting(networkingv1.FaultOutcomeRefused)

	d = newFaultSuite(t)
	d.advance(7 * time.Minute) // it begins late, and ends when it would have
	d.begins()
	d.restarts()
	d.advance(time.Hour)
	d.wantLasting(networkingv1.FaultOutcomeDeadlineReached)
}

func TestARequestActsOnce(t *testing.T) {
	d := newFaultSuite(t)
	d.begins()
	d.advance(time.Minute)
	d.requested = ""
	d.wantLasting(networkingv1.FaultOutcomeWithdrawn)
	d.requested = tenMinutes // a GitOps tool applies it again
	d.wantLasting(networkingv1.FaultOutcomeWithdrawn)

	d.requested = "Drain endpoint=a for=5m at=2026-03-02T14:01:00Z"
	d.begins()
	d.requested = "Drain endpoint=a for=5m at=2026-03-02T14:01:00Z id=2" // which ends the one that lasts
	d.advance(time.Second)
	d.wantLasting(networkingv1.FaultOutcomeWithdrawn)
	d.begins()
	d.requested = ""
	d.wantLasting(networkingv1.FaultOutcomeWithdrawn)
	d.advance(time.Hour)
	d.requested = tenMinutes // the first of these minutes passed long ago
	d.wantLasting(networkingv1.FaultOutcomeRefused)
}

func TestARequestWithoutATimeBeginsWhenItIsFirstSeen(t *testing.T) {
	d := newFaultSuite(t)
	d.requested = "BlackHole for=10m"
	d.now = d.now.Add(300 * time.Millisecond)
	d.begins()
	if want := asked.Add(10*time.Minute + time.Second); !d.stored.DeadlineTime.Time.Equal(want) { // for ten minutes at least
		t.Errorf("deadline %s", d.stored.DeadlineTime)
	}
	d.restarts()
	d.wantLasting("")
	d.advance(11 * time.Minute)
	d.wantLasting(networkingv1.FaultOutcomeDeadlineReached)
	d.restarts() // and the annotation is still there
	d.wantLasting(networkingv1.FaultOutcomeDeadlineReached)
	d.requested = "BlackHole for=10m id=2"
	d.begins()

	d = newFaultSuite(t)
	d.requested, d.unknown = "BlackHole for=10m", "nothing was checked yet"
	d.decideOnce(true)
	d.advance(8 * time.Minute)
	d.unknown = ""
	d.begins() // late, and for what is left
	if want := asked.Add(10 * time.Minute); !d.stored.DeadlineTime.Time.Equal(want) {
		t.Errorf("deadline %s", d.stored.DeadlineTime)
	}

	d = newFaultSuite(t)
	d.requested, d.unknown = "BlackHole for=10m", "nothing was checked yet"
	d.decideOnce(true)
	d.advance(10 * time.Minute)
	d.wantLasting(networkingv1.FaultOutcomeRefused)
}

func TestAClockThatIsSetBackEndsAFault(t *testing.T) {
	d := newFaultSuite(t)
	d.begins()
	d.advance(5 * time.Minute)
	d.wantLasting("")
	d.advance(-clockTolerance)
	d.wantLasting("")
	d.advance(-time.Second)
	d.wantLasting(networkingv1.FaultOutcomeClockChanged)

	d = newFaultSuite(t)
	d.begins()
	d.advance(-time.Hour)
	d.restarts()
	d.wantLasting(networkingv1.FaultOutcomeClockChanged)
}

func TestAFaultWaitsOrIsRefused(t *testing.T) {
	d := newFaultSuite(t)
	d.advance(-time.Minute)
	if f := d.decideOnce(true); f.Reason != networkingv1.ReasonFaultPending || !f.RequeueAt.Equal(asked) || f.Status != nil {
		t.Errorf("before its time: %+v", f)
	}
	d.advance(time.Minute)
	d.unknown = "nothing was checked yet"
	if f := d.decideOnce(true); f.Reason != networkingv1.ReasonFaultPending || f.Message != d.unknown || !f.RequeueAt.Equal(asked.Add(faultInterval)) {
		t.Errorf("what is not known: %+v", f)
	}
	d.unknown = ""
	d.outcome, d.why = networkingv1.FaultOutcomeBlackout, "a blackout holds"
	d.wantLasting(networkingv1.FaultOutcomeRefused)
	if d.stored.Message != "a blackout holds" || d.stored.StartTime != nil {
		t.Errorf("%+v", d.stored)
	}
	d.outcome, d.why = "", "" // what was refused does not begin by surprise
	d.advance(time.Minute)
	d.wantLasting(networkingv1.FaultOutcomeRefused)

	d = newFaultSuite(t)
	for _, d.requested = range []common.Token{"BlackHole", "BlackHole at=2026-03-02T14:00:00Z", "BlackHole for=2h at=2026-03-02T14:00:00Z"} {
		if f := d.decideOnce(true); f.Reason != networkingv1.ReasonFaultRefused || f.Status != nil {
			t.Errorf("%s: %+v", d.requested, f)
		}
	}
}

func TestWhatEndsAFault(t *testing.T) {
	for _, outcome := range []string{networkingv1.FaultOutcomeRealFailure, networkingv1.FaultOutcomeBlackout, networkingv1.FaultOutcomeSpecChanged} {
		d := newFaultSuite(t)
		d.begins()
		d.outcome, d.why = outcome, "why"
		d.wantLasting(outcome)
		d.outcome, d.why = "", ""
		d.advance(time.Second)
		d.restarts()
		d.wantLasting(outcome)
	}
}

func TestTheVerdictOnDependants(t *testing.T) {
	ready := func(name string, how networkingv1.DependantReadiness) networkingv1.FaultDependant {
		return networkingv1.FaultDependant{Kind: "Deployment", Name: name, Ready: how}
	}
	const well, ill, lost = networkingv1.DependantStayedReady, networkingv1.DependantUnreadyBefore, networkingv1.DependantUnreadable
	for name, test := range map[string]struct {
		looks [][]networkingv1.FaultDependant
		want  metav1.ConditionStatus
		first networkingv1.DependantReadiness
		words string
	}{
		"none":            {[][]networkingv1.FaultDependant{nil, nil}, metav1.ConditionUnknown, "", "no workload is known"},
		"well":            {[][]networkingv1.FaultDependant{{ready("a", well)}, {ready("a", well)}}, metav1.ConditionTrue, well, "1 dependant stayed ready"},
		"ill in between":  {[][]networkingv1.FaultDependant{{ready("a", well), ready("b", well)}, {ready("a", well), ready("b", ill)}, {ready("a", well), ready("b", well)}}, metav1.ConditionFalse, networkingv1.DependantBecameUnready, "1 of 2 dependants became unready, the first is Deployment b"},
		"ill before":      {[][]networkingv1.FaultDependant{{ready("a", ill), ready("b", well)}, {ready("a", well), ready("b", well)}}, metav1.ConditionUnknown, ill, "1 of 2 dependants stayed ready"},
		"gone":            {[][]networkingv1.FaultDependant{{ready("a", well)}, {}}, metav1.ConditionUnknown, lost, "0 of 1 dependant"},
		"both":            {[][]networkingv1.FaultDependant{{ready("a", ill), ready("b", well)}, {ready("a", ill), ready("b", ill)}}, metav1.ConditionFalse, networkingv1.DependantBecameUnready, "1 of 2"},
		"one that is new": {[][]networkingv1.FaultDependant{{ready("a", well)}, {ready("a", well), ready("z", ill)}}, metav1.ConditionTrue, well, "1 dependant stayed"},
	} {
		t.Run(name, func(t *testing.T) {
			d := newFaultSuite(t)
			d.dependants = test.looks[0]
			d.begins()
			for _, d.dependants = range test.looks[1:] {
				d.advance(faultInterval)
				d.restarts()
				d.wantLasting("")
			}
			d.advance(time.Hour)
			d.wantLasting(networkingv1.FaultOutcomeDeadlineReached)
			if d.stored.DependantsStayedReady != test.want || test.first != "" && d.stored.Dependants[0].Ready != test.first {
				t.Errorf("%+v", d.stored)
			}
			if words := EndMessage(d.stored); !strings.Contains(words, test.words) {
				t.Errorf("%q, want %q", words, test.words)
			}
		})
	}
	d := newFaultSuite(t)
	for range 40 {
		d.dependants = append(d.dependants, ready("x", well))
	}
	d.begins()
	if len(d.stored.Dependants) != maxDependants {
		t.Errorf("%d dependants are listed", len(d.stored.Dependants))
	}
}

// Over generated schedules of requests, new processes, writes that fail, clocks that jump and real
// failures: a fault has an effect only while it is stored, asked for, within its time and nothing
// hinders it; no request begins again unless another was handled meanwhile; and none lasts longer than it asked for, as long
// as no clock jumps.
func TestNoScheduleKeepsAFaultAlive(t *testing.T) {
	began := 0
	for seed := range uint64(5000) {
		m := newFaultModel(t, seed)
		for range 60 {
			m.step()
		}
		began += m.starts
	}
	if began < 1000 {
		t.Errorf("only %d faults began: the schedules show nothing", began)
	}
}

// modelStep is the longest between two decisions of a model.
const modelStep = 40 * time.Second

// faultModel is one random schedule.
type faultModel struct {
	*faultSuite
	*rand.Rand
	seed     uint64
	requests []common.Token
	starts   int           // how many faults began, and were stored
	handled  common.Token  // the request of the status
	lasted   time.Duration // for how long the last one had an effect
	effect   bool
	jumped   bool
}

func newFaultModel(t *testing.T, seed uint64) *faultModel {
	m := &faultModel{
		faultSuite: newFaultSuite(t), Rand: rand.New(rand.NewPCG(seed, 1)), seed: seed,
		requests: []common.Token{"", "BlackHole", "BlackHole for=5m", "BlackHole for=5m id=2"},
	}
	for range 4 {
		m.requests = append(m.requests, common.Token(fmt.Sprintf("BlackHole for=%ds at=%s", 10+m.IntN(600),
			asked.Add(time.Duration(m.IntN(900)-200)*time.Second).Format(time.RFC3339))))
	}
	return m
}

func (m *faultModel) step() {
	switch m.IntN(9) {
	case 0:
		m.requested = m.requests[m.IntN(len(m.requests))]
	case 1:
		m.restarts()
	case 2:
		if m.IntN(3) == 0 {
			m.advance(time.Duration(m.IntN(1200)-600) * time.Second)
			m.jumped = true
		}
	case 3:
		m.outcome = []string{"", "", networkingv1.FaultOutcomeRealFailure, networkingv1.FaultOutcomeBlackout}[m.IntN(4)]
		m.why = m.outcome
	}
	span := time.Duration(m.IntN(int(modelStep/time.Second))) * time.Second
	m.advance(span)
	if m.effect {
		m.lasted += span
		if asked, err := rules.ParseFault(m.stored.Request); err != nil || !m.jumped && m.lasted > asked.For+modelStep {
			m.Errorf("seed %d: %q had an effect for %s: %v", m.seed, m.stored.Request, m.lasted, err)
		}
	}
	before, stores := m.stored, m.IntN(5) > 0
	f := m.decideOnce(stores)
	m.effect = f.IsInEffect
	if f.IsInEffect && (!before.Lasts() || before.Request != m.requested || !m.now.Before(before.DeadlineTime.Time) || m.outcome != "") {
		m.Errorf("seed %d: an effect at %s of %+v, asked for is %q", m.seed, m.now, before, m.requested)
	}
	if f.Status.Lasts() && !before.Lasts() && stores {
		if m.handled == f.Status.Request {
			m.Errorf("seed %d: %q began twice", m.seed, m.handled)
		}
		m.starts++
		m.lasted = 0
	}
	if stores && f.Status != nil {
		m.handled = f.Status.Request
	}
}
