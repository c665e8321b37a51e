// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package counters

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestPercentiles(t *testing.T) {
	hundred := make([]time.Duration, 100)
	for i := range hundred {
		hundred[i] = time.Duration(i+1) * time.Millisecond
	}
	for _, c := range []struct {
		sorted []time.Duration
		p      int
		want   time.Duration
	}{
		{nil, 50, 0},
		{hundred[:1], 1, 1 * time.Millisecond},
		{hundred[:1], 99, 1 * time.Millisecond},
		{hundred[:3], 50, 2 * time.Millisecond},
		{hundred, 50, 50 * time.Millisecond},
		{hundred, 99, 99 * time.Millisecond},
		{hundred, 100, 100 * time.Millisecond},
		{hundred[:10], 99, 10 * time.Millisecond},
	} {
		if got := Percentile(c.sorted, c.p); got != c.want {
			t.Errorf("percentile %d of %d values is %s, want %s", c.p, len(c.sorted), got, c.want)
		}
	}
}

func TestEveryRequestIsCounted(t *testing.T) {
	began := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	c := New()
	add := func(second int, kind string, o Outcome, reason string, took time.Duration) {
		c.Add(Request{Kind: kind, Outcome: o, Reason: reason, Sent: began.Add(time.Duration(second) * time.Second), Took: took})
	}
	add(0, "create v1", OK, "", 4*time.Millisecond)
	add(1, "create v1", Failed, "EOF", 6*time.Millisecond)
	add(2, "get v1alpha1", Unavailable, "connection refused", time.Hour)
	add(3, "create v1", Failed, "EOF", 8*time.Millisecond)
	add(4, "list v1alpha1", Deferred, "429", time.Hour)
	want := Sum{
		Sent: 5, Failed: 2, Unavailable: 1, Deferred: 1,
		P50: 6 * time.Millisecond, P99: 8 * time.Millisecond, Max: 8 * time.Millisecond,
		Kinds: map[string]int{"create v1": 3, "get v1alpha1": 1, "list v1alpha1": 1},
		Reasons: []Reason{
			{Text: "create v1: EOF", Outcome: Failed, Count: 2, First: began.Add(time.Second), Last: began.Add(3 * time.Second)},
			{Text: "get v1alpha1: connection refused", Outcome: Unavailable, Count: 1, First: began.Add(2 * time.Second), Last: began.Add(2 * time.Second)},
			{Text: "list v1alpha1: 429", Outcome: Deferred, Count: 1, First: began.Add(4 * time.Second), Last: began.Add(4 * time.Second)},
		},
		Lost: []Request{
			{Kind: "create v1", Outcome: Failed, Reason: "EOF", Sent: began.Add(time.Second), Took: 6 * time.Millisecond},
			{Kind: "get v1alpha1", Outcome: Unavailable, Reason: "connection refused", Sent: began.Add(2 * time.Second), Took: time.Hour},
			{Kind: "create v1", Outcome: Failed, Reason: "EOF", Sent: began.Add(3 * time.Second), Took: 8 * time.Millisecond},
		},
	}
	if diff := cmp.Diff(want, c.Sum()); diff != "" {
		t.Error(diff)
	}
	if c.Sent() != 5 {
		t.Errorf("sent %d", c.Sent())
	}
}

func TestReasonsAreBounded(t *testing.T) {
	c := New()
	for i := range 1000 + maxFailures {
		c.Add(Request{Kind: "get", Outcome: Failed, Reason: fmt.Sprint(i)})
	}
	sum := c.Sum()
	if len(sum.Lost) != maxFailures {
		t.Errorf("%d requests are remembered one by one", len(sum.Lost))
	}
	if sum.Failed != 1000+maxFailures || len(sum.Reasons) != maxReasons+1 || sum.Reasons[0].Text != other || sum.Reasons[0].Count != 1000+maxFailures-maxReasons {
		t.Errorf("%d failed for %d reasons, most often %+v", sum.Failed, len(sum.Reasons), sum.Reasons[0])
	}
}
