// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package probes

import (
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const page = `# HELP apiserver_request_total Requests
# TYPE apiserver_request_total counter
apiserver_request_total{code="201",dry_run="",resource="services",subresource="",verb="POST"} 3
apiserver_request_total{code="409",dry_run="",resource="services",subresource="",verb="POST"} 2
apiserver_request_total{code="200",dry_run="All",resource="services",subresource="",verb="POST"} 40
apiserver_request_total{code="200",dry_run="",resource="services",subresource="",verb="GET"} 50
apiserver_request_total{code="200",dry_run="",resource="leases",subresource="",verb="PUT"} 60
apiserver_request_total{code="200",dry_run="",resource="externalservices",subresource="status",verb="PATCH"} 1e+01
apiserver_request_total_more{verb="POST",resource="services"} 70
odd{text="a \"quoted\", {braced}=\n value",other="x"} 4
plain 1.5
plain_too 2
`

func TestMetricsAreAddedUp(t *testing.T) {
	for name, want := range map[string]float64{"plain": 1.5, "plain_too": 2, "odd": 4, "apiserver_request_total": 165, "none": 0} {
		if got := text(page).sum(name); got != want {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
	text(page).each("odd", func(labels map[string]string, _ float64) {
		if diff := cmp.Diff(map[string]string{"text": "a \"quoted\", {braced}=\n value", "other": "x"}, labels); diff != "" {
			t.Errorf("labels (-want +got):\n%s", diff)
		}
	})
}

func TestOnlyWhatWritesCounts(t *testing.T) {
	got := writesOf(page)
	if diff := cmp.Diff(writes{"POST services": 5, "PATCH externalservices/status": 10}, got); diff != "" {
		t.Errorf("writes (-want +got):\n%s", diff)
	}
	added := got.since(writes{"POST services": 4, "PATCH externalservices/status": 10})
	if added.total() != 1 || added.String() != "POST services: 1" {
		t.Errorf("added: %v, in all %v", added, added.total())
	}
	if nothing := got.since(got); nothing.total() != 0 || nothing.String() != "none" {
		t.Errorf("added to itself: %v", nothing)
	}
}

func TestQuantilesAreValuesThatWereMeasured(t *testing.T) {
	var hundred []time.Duration
	for i := range 100 {
		hundred = append(hundred, time.Duration(i+1))
	}
	for _, tc := range []struct {
		sorted  []time.Duration
		percent int
		want    time.Duration
	}{
		{nil, 50, 0}, {hundred[:1], 1, 1}, {hundred[:1], 99, 1}, {hundred[:2], 50, 1}, {hundred[:3], 50, 2},
		{hundred, 50, 50}, {hundred, 99, 99}, {hundred, 100, 100}, {hundred[:10], 99, 10},
	} {
		if got := quantile(tc.sorted, tc.percent); got != tc.want {
			t.Errorf("%d%% of %d values: %d, want %d", tc.percent, len(tc.sorted), got, tc.want)
		}
	}
}

func TestAFailureThatWasPublishedTooEarlyIsNotMeasured(t *testing.T) {
	at := func(ms int) time.Time { return time.UnixMilli(int64(1e6 + ms)) }
	got := detectionOf([]*failure{{met: at(10), published: at(40)}, {met: at(10), published: at(9)}, {met: at(20), published: at(30)}})
	want := Detection{Measured: 2, Unmeasured: 1, P50: 10 * time.Millisecond, P99: 30 * time.Millisecond, Max: 30 * time.Millisecond}
	if got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

func TestNothingIsDividedByNothing(t *testing.T) {
	for name, got := range map[string]float64{
		"per second of no time": perSecond(5, 0), "percent of nothing": percent(1, 0), "less than nothing": percent(-1, 5),
	} {
		if got != 0 {
			t.Errorf("%s: %v", name, got)
		}
	}
	if a, b := perSecond(5, 2*time.Second), percent(1, 8); a != 2.5 || b != 12.5 {
		t.Errorf("%v and %v, want 2.5 and 12.5", a, b)
	}
}

func TestGoroutinesAreReadFromTheirProfile(t *testing.T) {
	if n, err := goroutinesOf("goroutine profile: total 150\n1 @ 0x1\n"); n != 150 || err != nil {
		t.Errorf("%v, %v", n, err)
	}
	if _, err := goroutinesOf("404 page not found"); err == nil {
		t.Error("goroutines where there is no profile")
	}
}

func TestRowsAreFinite(t *testing.T) {
	seen := map[string]bool{}
	for _, row := range (&Result{}).Rows() {
		if math.IsNaN(row.Value) || math.IsInf(row.Value, 0) || seen[row.Name] || row.Unit == "" {
			t.Errorf("row %+v", row)
		}
		seen[row.Name] = true
	}
}
