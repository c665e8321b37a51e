// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package failures

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-dev/fairlead/test/soak/counters"
	"github.com/fairlead-dev/fairlead/test/soak/proxy"
)

var began = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func at(ms int) time.Time { return began.Add(time.Duration(ms) * time.Millisecond) }

func request(name string, from, to int) counters.Request {
	return counters.Request{Kind: name, Sent: at(from), Took: at(to).Sub(at(from))}
}

func held(from, to int) proxy.Loss   { return proxy.Loss{Held: true, From: at(from), To: at(to)} }
func missed(from, to int) proxy.Loss { return proxy.Loss{From: at(from), To: at(to)} }

func TestExplanations(t *testing.T) {
	for name, c := range map[string]struct {
		failed                    []counters.Request
		losses                    []proxy.Loss
		held, missed, unexplained []string
	}{
		"nothing failed": {losses: []proxy.Loss{held(1, 2)}},
		"nothing was lost": {
			failed: []counters.Request{request("a", 0, 9)}, unexplained: []string{"a"},
		},
		"under way at the loss": {
			failed: []counters.Request{request("a", 0, 9), request("b", 10, 20)},
			losses: []proxy.Loss{held(5, 6), missed(11, 11)},
			held:   []string{"a"}, missed: []string{"b"},
		},
		"sent after it, or over before it": {
			failed: []counters.Request{request("early", 0, 4), request("late", 7, 9)},
			losses: []proxy.Loss{held(5, 6), held(5, 6)}, unexplained: []string{"early", "late"},
		},
		"no loss explains two": {
			failed: []counters.Request{request("a", 0, 9), request("b", 0, 9)},
			losses: []proxy.Loss{held(5, 6)}, held: []string{"a"}, unexplained: []string{"b"},
		},
		"a request makes room for one that has no choice": {
			failed: []counters.Request{request("any", 0, 20), request("first", 0, 6)},
			losses: []proxy.Loss{held(5, 5), missed(15, 15)}, held: []string{"first"}, missed: []string{"any"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			v := Explain(c.failed, c.losses)
			for _, part := range []struct {
				what string
				got  []counters.Request
				want []string
			}{{"held", v.Held, c.held}, {"missed", v.Missed, c.missed}, {"unexplained", v.Unexplained, c.unexplained}} {
				var names []string
				for _, r := range part.got {
					names = append(names, r.Kind)
				}
				if diff := cmp.Diff(part.want, names); diff != "" {
					t.Errorf("%s: %s", part.what, diff)
				}
			}
		})
	}
}

func TestEveryRequestThatFailedWithALossOfItsOwnIsExplained(t *testing.T) {
	var failed []counters.Request
	var losses []proxy.Loss
	for i := range 500 {
		failed = append(failed, request("x", i, i+40))
		losses = append(losses, missed(499-i+20, 499-i+20))
	}
	if v := Explain(failed, losses); len(v.Missed) != 500 || len(v.Unexplained) != 0 {
		t.Errorf("%d explained, %d not", len(v.Missed), len(v.Unexplained))
	}
}
