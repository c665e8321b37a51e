// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-dev/fairlead/test/soak/counters"
)

func rows() []Row {
	return []Row{{
		Scenario: "rolling update on a real node", Strict: true, Took: 90 * time.Second, Notes: []string{"3 times"},
		Sum: counters.Sum{Sent: 20_000, Failed: 1, Unavailable: 1, P50: 5_140 * time.Microsecond, P99: 61 * time.Millisecond,
			Reasons: []counters.Reason{{Text: "get v1alpha1: refused", Count: 2}}},
		lags: []lag{{"10.244.1.2", terminating, 30 * time.Millisecond}, {"10.244.1.3", terminating, 900 * time.Millisecond}, {"10.244.1.4", unready, 0}},
	}}
}

func TestRowsAreWrittenInTheFormOfTheSoak(t *testing.T) {
	var out strings.Builder
	if err := WriteJSON(&out, rows()); err != nil {
		t.Fatal(err)
	}
	const want = `[
  {
    "scenario": "rolling update on a real node",
    "sent": 20000,
    "failed": 2,
    "p50ms": 5.1,
    "p99ms": 61
  }
]
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Error(diff)
	}
}

func TestTheTableSaysWhatWasLostAndHowLateKubeProxyWas(t *testing.T) {
	var out strings.Builder
	if err := table(&out, rows()); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"20000  2       5.1     61.0    90 s      3 times\n",
		"2 times, ", "get v1alpha1: refused\n",
		"from a pod seen terminating to the rule without it: 2 times, p50 30 ms, max 900 ms\n",
		"from a pod seen not ready to the rule without it: 1 times, p50 0 ms, max 0 ms\n",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("not there: %q in\n%s", want, out.String())
		}
	}
}

func TestAStrictRowMayLoseNothingAndAnotherOnlyWhatCouldNotBeKnown(t *testing.T) {
	killed := time.Unix(1000, 0)
	s := &environment{blind: []window{{killed, killed.Add(2 * time.Second)}}}
	lost := func(strict bool, sent, answered time.Duration) Row {
		return Row{Scenario: "killed", Strict: strict, Sum: counters.Sum{Sent: 9, Failed: 1,
			Lost: []counters.Request{{Kind: "get v1", Reason: "refused", Sent: killed.Add(sent), Took: answered - sent}}}}
	}
	unknown := lost(false, 0, time.Second)
	unknown.Failed = 2
	for name, c := range map[string]struct {
		row  Row
		says string
	}{
		"nothing lost":              {Row{Strict: true}, ""},
		"lost in an orderly update": {lost(true, 0, time.Second), "1 of 9 requests were lost"},
		"lost before it was known":  {lost(false, 0, time.Second), ""},
		"on its way for seconds":    {lost(false, -5*time.Second, time.Second), ""},
		"lost in the aftermath":     {lost(false, 6*time.Second, 9*time.Second), ""},
		"lost once it was known":    {lost(false, 8*time.Second, 9*time.Second), "live processes only: get v1: refused"},
		"lost before anything":      {lost(false, -5*time.Second, -time.Second), "live processes only: get v1: refused"},
		"lost and not remembered":   {unknown, "only 1 are known"},
	} {
		err := s.judge(&c.row)
		if (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
