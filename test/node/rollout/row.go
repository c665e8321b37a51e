// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/fairlead-dev/fairlead/test/soak/counters"
)

// Row is the cost of a scenario for the requests that flowed meanwhile.
type Row struct {
	Scenario string
	// Strict rows must not lose a request.
	Strict bool
	counters.Sum
	// Took is how long it went on.
	Took time.Duration
	// Notes say what happened, and what was measured besides.
	Notes []string
	lags  []lag
}

// Lost counts every request that was not answered as wanted. Nothing happens to the API server here,
// so that no answer of its own is excused.
func (r *Row) Lost() int { return r.Failed + r.Unavailable }

// WriteJSON writes the rows in the form of the soak.
func WriteJSON(w io.Writer, rows []Row) error {
	type figures struct {
		Scenario string  `json:"scenario"`
		Sent     int     `json:"sent"`
		Failed   int     `json:"failed"`
		P50      float64 `json:"p50ms"`
		P99      float64 `json:"p99ms"`
	}
	all := make([]figures, 0, len(rows))
	for i := range rows {
		all = append(all, figures{rows[i].Scenario, rows[i].Sent, rows[i].Lost(), milliseconds(rows[i].P50), milliseconds(rows[i].P99)})
	}
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	return encoder.Encode(all)
}

// milliseconds with one digit behind the point.
func milliseconds(d time.Duration) float64 {
	return math.Round(float64(d)/float64(time.Millisecond)*10) / 10
}

// table writes the rows as a table, and below it what failed and how late kube-proxy was.
func table(w io.Writer, rows []Row) error {
	if len(rows) == 0 {
		return nil
	}
	out := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(out, "scenario\tsent\tfailed\tp50 ms\tp99 ms\tduration\twhat happened")
	for i := range rows {
		r := &rows[i]
		fmt.Fprintf(out, "%s\t%d\t%d\t%.1f\t%.1f\t%.0f s\t%s\n", r.Scenario, r.Sent, r.Lost(), milliseconds(r.P50), milliseconds(r.P99),
			r.Took.Seconds(), strings.Join(r.Notes, "; "))
	}
	if err := out.Flush(); err != nil {
		return err
	}
	var below strings.Builder
	for i := range rows {
		for _, reason := range rows[i].Reasons[:min(len(rows[i].Reasons), maxReasons)] {
			fmt.Fprintf(&below, "%s: %d times, %s to %s: %s\n", rows[i].Scenario, reason.Count,
				reason.First.Format(clock), reason.Last.Format(clock), reason.Text)
		}
	}
	for _, cause := range []string{terminating, unready} {
		if said := late(rows, cause); said != "" {
			fmt.Fprintf(&below, "kube-proxy, from a pod seen %s to the rule without it: %s\n", cause, said)
		}
	}
	_, err := io.WriteString(w, below.String())
	return err
}

const (
	clock = "15:04:05.000"
	// maxReasons bounds how many reasons of a row are printed, the most frequent first.
	maxReasons = 12
)

// late sums up the lags of one cause over all rows.
func late(rows []Row, cause string) string {
	var took []time.Duration
	for i := range rows {
		for _, l := range rows[i].lags {
			if l.cause == cause {
				took = append(took, l.took)
			}
		}
	}
	if len(took) == 0 {
		return ""
	}
	slices.Sort(took)
	return fmt.Sprintf("%d times, p50 %.0f ms, max %.0f ms", len(took), milliseconds(counters.Percentile(took, 50)), milliseconds(took[len(took)-1]))
}
