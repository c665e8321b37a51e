// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package restarts

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestCallsAreSplitByWhatTheyAreFor(t *testing.T) {
	got, err := callsOf(strings.NewReader(`{"verb": "get", "objectRef": {"resource": "secrets"}, "responseStatus": {"code": 200}}
{"verb": "get", "objectRef": {"resource": "secrets"}, "responseStatus": {"code": 200}}
{"verb": "watch", "objectRef": {"resource": "pods"}}
{"verb": "update", "objectRef": {"resource": "rebootpolicies", "subresource": "status"}, "responseStatus": {"code": 409}}
{"verb": "patch", "objectRef": {"resource": "deployments"}, "responseStatus": {"code": 200}}
{"verb": "create", "objectRef": {"resource": "events", "apiGroup": "events.k8s.io"}, "responseStatus": {"code": 201}}
`))
	want := Calls{"get secrets": 2, "watch pods": 1, "update rebootpolicies/status (409)": 1, "patch deployments": 1, "create events": 1}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v %s", err, diff)
	}
	if events, reads, writes := got.Split(); events != 1 || reads != 3 || writes != 2 {
		t.Errorf("%d events, %d reads, %d writes", events, reads, writes)
	}
	if _, err := callsOf(strings.NewReader("half a li")); err == nil {
		t.Error("a log that is none is read")
	}
}

func TestRowsAreFinite(t *testing.T) {
	seen := map[string]bool{}
	for _, row := range (&Result{}).Rows() {
		if math.IsNaN(row.Value) || math.IsInf(row.Value, 0) || seen[row.Name] || row.Unit == "" || !strings.HasPrefix(row.Name, Prefix) {
			t.Errorf("row %+v", row)
		}
		seen[row.Name] = true
	}
}

func TestRowsOfAMoveAreFiniteAndTakePercentilesOfSortedTimes(t *testing.T) {
	r := &MoveResult{}
	for _, row := range r.Rows() {
		if math.IsNaN(row.Value) || math.IsInf(row.Value, 0) || row.Unit == "" || !strings.HasPrefix(row.Name, MovePrefix) {
			t.Errorf("row %+v", row)
		}
	}
	for i := range 200 {
		r.Latencies = append(r.Latencies, time.Duration(i)*time.Second)
	}
	if p50, p99, most := r.latency(50), r.latency(99), r.latency(100); p50 != 100*time.Second || p99 != 198*time.Second || most != 199*time.Second {
		t.Errorf("p50 %s, p99 %s, at most %s", p50, p99, most)
	}
}

func TestOptionsOfAMoveOutOfRangeAreRefusedBeforeAnythingStarts(t *testing.T) {
	for _, o := range []MoveOptions{{Workloads: -1}, {Workloads: 10_001}, {Namespaces: -1}, {Changes: -1}, {Secrets: -1}} {
		o.Root = t.TempDir()
		if _, err := RunMove(t.Context(), o); err == nil || !strings.Contains(err.Error(), "there may be") {
			t.Errorf("%+v: %v", o, err)
		}
	}
}

func TestWhatDidNotSucceedHasFailedUnlessItWasNotNeededAnyMore(t *testing.T) {
	r := Result{Endings: map[string]int{"Succeeded": 5, "Failed": 1, "TargetGone": 2, "Superseded": 4}}
	if n := r.failed(); n != 3 {
		t.Errorf("%d, want 3", n)
	}
}

func TestThoseChangedInTheAbsenceAreToldFromTheOthers(t *testing.T) {
	for _, workloads := range []int{1, 20, 25, 50, 1000} {
		r := run{options: Options{Workloads: workloads}, result: Result{Away: min(away, workloads)}}
		var changed, told []int
		for i := range r.result.Away {
			changed = append(changed, r.spread(i))
		}
		for i := range workloads {
			if r.changedAway(i) {
				told = append(told, i)
			}
		}
		if !slices.Equal(changed, told) {
			t.Errorf("of %d workloads changed %v, told %v", workloads, changed, told)
		}
	}
}

func TestWorkloadsAndPoliciesShareANamespace(t *testing.T) {
	r := run{options: Options{Workloads: 250, Targets: 100}}
	if n := r.policies(); n != 3 {
		t.Errorf("%d policies, want 3", n)
	}
	if got := r.key(205); got != "restarts-2/workload-205" {
		t.Errorf("workload 205 is %s", got)
	}
}

func TestOptionsOutOfRangeAreRefusedBeforeAnythingStarts(t *testing.T) {
	for _, o := range []Options{{Workloads: -1}, {Workloads: 10_001}, {Targets: 101}, {Targets: -1}, {Cap: -1}} {
		o.Root = t.TempDir()
		if _, err := Run(t.Context(), o); err == nil || !strings.Contains(err.Error(), "there may be") {
			t.Errorf("%+v: %v", o, err)
		}
	}
}
