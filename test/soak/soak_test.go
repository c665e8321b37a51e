// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package soak

import (
	"context"
	"os"
	"os/signal"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/fairlead-dev/fairlead/test/soak/counters"
	"github.com/fairlead-dev/fairlead/test/soak/proxy"
)

// A small soak, so that whatever breaks a rolling update under load is found with every change.
func TestARollingUpdateUnderLoadFailsNoRequest(t *testing.T) {
	ctx, stop := signal.NotifyContext(t.Context(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	const requests = 400
	rows, err := Run(ctx, Options{
		Root: "../..", Only: regexp.MustCompile("^rolling update$"), Requests: requests, Seed: 1, Output: os.Stderr,
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := WriteTable(os.Stderr, rows); err != nil {
		t.Error(err)
	}
	if len(rows) != 1 {
		t.Fatalf("%d rows", len(rows))
	}
	row := rows[0]
	if row.Failed != 0 || !row.Sound() || row.Sent < requests {
		t.Errorf("of %d requests %d failed; faults: %q", row.Sent, row.Failed, row.Faults)
	}
	if proven := strings.Join(row.Notes, "\n"); !strings.Contains(proven, "no two at one instant") {
		t.Errorf("who reconciled when was not proven: %s", proven)
	}
}

func TestAFilterThatMatchesNothingIsAnErrorThatNamesTheScenarios(t *testing.T) {
	_, err := Run(t.Context(), Options{Only: regexp.MustCompile("^holiday$")})
	if err == nil || !strings.Contains(err.Error(), "rolling update") {
		t.Errorf("error: %v", err)
	}
}

func TestScenariosHaveNamesOfTheirOwn(t *testing.T) {
	names := Scenarios()
	slices.Sort(names)
	if len(slices.Compact(slices.Clone(names))) != len(names) {
		t.Errorf("a name comes twice: %q", names)
	}
}

func TestWhatIsUnavailableFailsUnlessTheControlPlaneWasAway(t *testing.T) {
	counted := counters.New()
	counted.Add(counters.Request{Kind: "get v1", Outcome: counters.Unavailable, Reason: "429"})
	counted.Add(counters.Request{Kind: "get v1", Outcome: counters.Failed, Reason: "EOF"})
	a := &attempt{counters: counted}
	if row := a.row(scenario{name: "x"}); row.Failed != 2 || len(row.Reasons) != 2 || row.Sound() {
		t.Errorf("with a control plane that stayed: %+v", row)
	}
	row := a.row(scenario{name: "x", controlPlane: true})
	if row.Failed != 1 || row.Unavailable != 1 || len(row.Reasons) != 1 || row.Sound() {
		t.Errorf("with a control plane that was away: %+v", row)
	}
}

func TestOnlyWhatFailedWithALostReplicaIsExplainedAndOnlyWhereOneIsLost(t *testing.T) {
	began := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	at := func(second int) time.Time { return began.Add(time.Duration(second) * time.Second) }
	counted := counters.New()
	for second := range 3 {
		counted.Add(counters.Request{Kind: "get v1alpha1", Outcome: counters.Failed, Reason: "EOF", Sent: at(second * 10), Took: time.Second})
	}
	a := &attempt{counters: counted, losses: []proxy.Loss{{Held: true, From: at(0), To: at(1)}, {From: at(10), To: at(10)}, {From: at(5), To: at(6)}}}
	row := a.row(scenario{name: "x", loses: true})
	if row.Failed != 3 || row.InTheDead != 1 || row.SentToTheDead != 1 || row.Sound() || len(row.Faults) != 1 || !strings.Contains(row.Faults[0], "12:00:20.000") {
		t.Errorf("with a replica that was lost: %+v", row)
	}
	if row := a.row(scenario{name: "x"}); row.Failed != 3 || row.Explained() != 0 || row.Sound() {
		t.Errorf("with replicas that stayed: %+v", row)
	}
}

// A checkout that there is not: no scenario can begin.
func TestAScenarioThatCannotBePlayedIsARowAndTheNextIsTried(t *testing.T) {
	rows, err := Run(t.Context(), Options{Root: t.TempDir(), Operator: "/nowhere", Only: regexp.MustCompile("^(lease lost|clock step)$")})
	if err != nil || len(rows) != 2 {
		t.Fatalf("%d rows, error: %v", len(rows), err)
	}
	for _, row := range rows {
		if row.Sound() || len(row.Faults) != 1 || !strings.Contains(row.Faults[0], "could not begin") {
			t.Errorf("%+v", row)
		}
	}
}

func TestWaitingForTheLoadEndsWithTheContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := (&attempt{counters: counters.New()}).sent(ctx, 1); err == nil {
		t.Error("nothing was sent, and that is no fault")
	}
}
