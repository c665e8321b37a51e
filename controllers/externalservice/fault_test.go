// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package externalservice

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
)

const tenMinutes = "BlackHole for=10m at=2026-03-02T14:00:00Z"

var asked = time.Date(2026, 3, 2, 14, 0, 0, 0, time.UTC)

// drill is the decision with all around it, stored as an API server would store it.
type drill struct {
	*testing.T
	faultCase
	outcome, why string // of what hinders
	stored       *networkingv1.FaultStatus
}

func newDrill(t *testing.T) *drill {
	d := &drill{T: t}
	d.now, d.asked = asked, tenMinutes
	d.restarts()
	return d
}

// restarts has another process decide from now on.
func (d *drill) restarts() {
	d.faultCase = faultCase{now: d.now, asked: d.asked, dependants: d.dependants, hinders: func(*networkingv1.FaultStatus, bool) (string, string) { return d.outcome, d.why }}
}

// decides decides once. stores says that the status is written.
func (d *drill) decides(stores bool) fault {
	d.faultCase.stored = d.stored
	was := d.stored.Lasts()
	f := d.judge()
	if f.effect && !was {
		d.Error("a fault has an effect that is not stored")
	}
	if d.now.After(d.latest) {
		d.latest = d.now
	}
	if was && !f.effect {
		d.ended = f.status
	}
	if stores {
		d.stored = f.status.DeepCopy()
	}
	return f
}

func (d *drill) passes(span time.Duration) { d.now = d.now.Add(span) }

// lasts demands that the fault has an effect, or that it ended as said.
func (d *drill) lasts(outcome string) {
	d.Helper()
	f := d.decides(true)
	switch {
	case outcome == "" && !f.effect:
		d.Errorf("the fault has no effect: %+v", f.status)
	case outcome != "" && (f.effect || f.status == nil || f.status.Outcome != outcome):
		d.Errorf("effect %v, want %s: %+v", f.effect, outcome, f.status)
	}
}

func (d *drill) begins() {
	d.Helper()
	if f := d.decides(true); f.effect || !f.status.Lasts() {
		d.Fatalf("does not begin: %+v", f)
	}
	d.lasts("")
}

func TestAFaultEndsAtItsDeadlineInAnyProcess(t *testing.T) {
	d := newDrill(t)
	d.begins()
	if want := asked.Add(10 * time.Minute); !d.stored.Deadline.Time.Equal(want) {
		t.Errorf("deadline %s", d.stored.Deadline)
	}
	d.passes(5 * time.Minute)
	d.restarts()
	d.lasts("")
	d.passes(5*time.Minute - time.Second)
	d.lasts("")
	d.passes(time.Second)
	d.lasts(networkingv1.FaultOutcomeDeadlineReached)
	d.lasts(networkingv1.FaultOutcomeDeadlineReached)
	d.restarts() // and the annotation is still there
	d.lasts(networkingv1.FaultOutcomeDeadlineReached)
	d.passes(-8 * time.Minute)
	d.restarts()
	d.lasts(networkingv1.FaultOutcomeDeadlineReached)
}

func TestAFaultThatEndedStaysEndedUntilThatIsStored(t *testing.T) {
	d := newDrill(t)
	d.begins()
	d.outcome, d.why = networkingv1.FaultOutcomeRealFailure, "it burns"
	d.decides(false)
	d.outcome, d.why = "", ""
	d.passes(time.Second)
	d.lasts(networkingv1.FaultOutcomeRealFailure)
	if !d.stored.EndTime.Time.Equal(asked) {
		t.Errorf("ended at %s", d.stored.EndTime)
	}
}

func TestTheOperatorWasAway(t *testing.T) {
	d := newDrill(t)
	d.passes(10 * time.Minute)
	d.lasts(networkingv1.FaultOutcomeRefused)
	d.passes(-9 * time.Minute) // the clock is set back
	d.restarts()
	d.lasts(networkingv1.FaultOutcomeRefused)

	d = newDrill(t)
	d.passes(7 * time.Minute) // it begins late, and ends when it would have
	d.begins()
	d.restarts()
	d.passes(time.Hour)
	d.lasts(networkingv1.FaultOutcomeDeadlineReached)
}

func TestARequestActsOnce(t *testing.T) {
	d := newDrill(t)
	d.begins()
	d.passes(time.Minute)
	d.asked = ""
	d.lasts(networkingv1.FaultOutcomeWithdrawn)
	d.asked = tenMinutes // a GitOps tool applies it again
	d.lasts(networkingv1.FaultOutcomeWithdrawn)

	d.asked = "Drain endpoint=a for=5m at=2026-03-02T14:00:00Z"
	if f := d.decides(true); f.reason != networkingv1.ReasonFaultRefused || f.status.Lasts() {
		t.Errorf("another request with the same time: %+v", f)
	}
	d.asked = "BlackHole for=5m at=2026-03-02T14:01:00Z"
	d.begins()
	d.asked = "BlackHole for=5m at=2026-03-02T14:01:01Z" // which ends the one that lasts
	d.passes(time.Second)
	d.lasts(networkingv1.FaultOutcomeWithdrawn)
	d.begins()
	d.asked = ""
	d.lasts(networkingv1.FaultOutcomeWithdrawn)
	d.asked = tenMinutes // of which the first acted long ago
	if f := d.decides(true); f.reason != networkingv1.ReasonFaultRefused || f.status.Lasts() {
		t.Errorf("an old request: %+v", f)
	}
}

func TestAClockThatIsSetBackEndsAFault(t *testing.T) {
	d := newDrill(t)
	d.begins()
	d.passes(5 * time.Minute)
	d.lasts("")
	d.passes(-clockTolerance)
	d.lasts("")
	d.passes(-time.Second)
	d.lasts(networkingv1.FaultOutcomeClockChanged)

	d = newDrill(t)
	d.begins()
	d.passes(-time.Hour)
	d.restarts()
	d.lasts(networkingv1.FaultOutcomeClockChanged)
}

func TestAFaultWaitsOrIsRefused(t *testing.T) {
	d := newDrill(t)
	d.passes(-time.Minute)
	if f := d.decides(true); f.reason != networkingv1.ReasonFaultPending || !f.again.Equal(asked) || f.status != nil {
		t.Errorf("before its time: %+v", f)
	}
	d.passes(time.Minute)
	d.waits = "nothing was checked yet"
	if f := d.decides(true); f.reason != networkingv1.ReasonFaultPending || f.message != d.waits || !f.again.Equal(asked.Add(faultPace)) {
		t.Errorf("what is not known: %+v", f)
	}
	d.waits = ""
	d.outcome, d.why = networkingv1.FaultOutcomeBlackout, "a blackout holds"
	d.lasts(networkingv1.FaultOutcomeRefused)
	if d.stored.Message != "a blackout holds" || d.stored.StartTime != nil {
		t.Errorf("%+v", d.stored)
	}
	d.outcome, d.why = "", "" // what was refused does not begin by surprise
	d.passes(time.Minute)
	d.lasts(networkingv1.FaultOutcomeRefused)

	d = newDrill(t)
	for _, d.asked = range []string{"BlackHole", "BlackHole at=2026-03-02T14:00:00Z", "BlackHole for=2h at=2026-03-02T14:00:00Z"} {
		if f := d.decides(true); f.reason != networkingv1.ReasonFaultRefused || f.status != nil {
			t.Errorf("%s: %+v", d.asked, f)
		}
	}
}

func TestWhatEndsAFault(t *testing.T) {
	for _, outcome := range []string{networkingv1.FaultOutcomeRealFailure, networkingv1.FaultOutcomeBlackout, networkingv1.FaultOutcomeSpecChanged} {
		d := newDrill(t)
		d.begins()
		d.outcome, d.why = outcome, "why"
		d.lasts(outcome)
		d.outcome, d.why = "", ""
		d.passes(time.Second)
		d.restarts()
		d.lasts(outcome)
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
		"none":            {[][]networkingv1.FaultDependant{nil, nil}, metav1.ConditionUnknown, "", "no RebootPolicy names"},
		"well":            {[][]networkingv1.FaultDependant{{ready("a", well)}, {ready("a", well)}}, metav1.ConditionTrue, well, "1 dependant stayed ready"},
		"ill in between":  {[][]networkingv1.FaultDependant{{ready("a", well), ready("b", well)}, {ready("a", well), ready("b", ill)}, {ready("a", well), ready("b", well)}}, metav1.ConditionFalse, networkingv1.DependantBecameUnready, "1 of 2 dependants became unready, the first is Deployment b"},
		"ill before":      {[][]networkingv1.FaultDependant{{ready("a", ill), ready("b", well)}, {ready("a", well), ready("b", well)}}, metav1.ConditionUnknown, ill, "1 of 2 dependants stayed ready"},
		"gone":            {[][]networkingv1.FaultDependant{{ready("a", well)}, {}}, metav1.ConditionUnknown, lost, "0 of 1 dependant"},
		"both":            {[][]networkingv1.FaultDependant{{ready("a", ill), ready("b", well)}, {ready("a", ill), ready("b", ill)}}, metav1.ConditionFalse, networkingv1.DependantBecameUnready, "1 of 2"},
		"one that is new": {[][]networkingv1.FaultDependant{{ready("a", well)}, {ready("a", well), ready("z", ill)}}, metav1.ConditionTrue, well, "1 dependant stayed"},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDrill(t)
			d.dependants = test.looks[0]
			d.begins()
			for _, d.dependants = range test.looks[1:] {
				d.passes(faultPace)
				d.restarts()
				d.lasts("")
			}
			d.passes(time.Hour)
			d.lasts(networkingv1.FaultOutcomeDeadlineReached)
			if d.stored.DependantsStayedReady != test.want || test.first != "" && d.stored.Dependants[0].Ready != test.first {
				t.Errorf("%+v", d.stored)
			}
			if words := endWords(d.stored); !strings.Contains(words, test.words) {
				t.Errorf("%q, want %q", words, test.words)
			}
		})
	}
	d := newDrill(t)
	for range 40 {
		d.dependants = append(d.dependants, ready("x", well))
	}
	d.begins()
	if len(d.stored.Dependants) != maxDependants {
		t.Errorf("%d dependants are listed", len(d.stored.Dependants))
	}
}
