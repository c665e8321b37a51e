// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package soak

import (
	"encoding/json"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/fairlead-dev/fairlead/test/soak/tally"
)

// Row is the outcome of one scenario.
type Row struct {
	Scenario string
	// Sent is how many requests were sent, and Failed how many of them did not get the answer that was
	// wanted. What only the API server could not answer, since it or etcd was away, is Unavailable.
	Sent, Failed, Unavailable int
	// Lost is how many webhook calls were in a replica when it was killed or cut off, or were sent to
	// it before the Service knew: nobody could answer these any more, and no API server sends a call to
	// a webhook twice.
	Lost     int
	P50, P99 time.Duration
	Took     time.Duration
	// Notes say what happened and what was proven.
	Notes []string
	// Faults say what must not be, besides failed requests.
	Faults []string
	// Reasons are why requests were not answered as wanted.
	Reasons []tally.Reason
}

// Sound says whether nothing failed that a replica could have answered, and nothing else was wrong.
func (r Row) Sound() bool { return r.Failed <= r.Lost && len(r.Faults) == 0 }

// WriteTable prints the rows, and below them why requests failed and what else was wrong.
func WriteTable(w io.Writer, rows []Row) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "SCENARIO\tSENT\tFAILED\tP50 ms\tP99 ms\tTOOK\tWHAT HAPPENED")
	for _, r := range rows {
		note := ""
		if len(r.Notes) > 0 {
			note = r.Notes[0]
		}
		fmt.Fprintf(table, "%s\t%d\t%d\t%.1f\t%.1f\t%s\t%s\n",
			r.Scenario, r.Sent, r.Failed, milliseconds(r.P50), milliseconds(r.P99), r.Took.Round(time.Second), note)
		for i := 1; i < len(r.Notes); i++ {
			fmt.Fprintf(table, "\t\t\t\t\t\t%s\n", r.Notes[i])
		}
	}
	if err := table.Flush(); err != nil {
		return err
	}
	for _, r := range rows {
		if err := writeReasons(w, r); err != nil {
			return err
		}
	}
	return nil
}

func writeReasons(w io.Writer, r Row) error {
	for _, fault := range r.Faults {
		if _, err := fmt.Fprintf(w, "%s: %s\n", r.Scenario, fault); err != nil {
			return err
		}
	}
	for _, reason := range r.Reasons {
		what := "failed"
		if reason.Outcome == tally.Unavailable {
			what = "unavailable"
		}
		if _, err := fmt.Fprintf(w, "%s: %d %s from %s to %s: %s\n", r.Scenario, reason.Count, what,
			reason.First.Format(clockFormat), reason.Last.Format(clockFormat), reason.Text); err != nil {
			return err
		}
	}
	return nil
}

const clockFormat = "15:04:05.000"

// WriteJSON writes the figures of the rows.
func WriteJSON(w io.Writer, rows []Row) error {
	type entry struct {
		Scenario string  `json:"scenario"`
		Sent     int     `json:"sent"`
		Failed   int     `json:"failed"`
		P50      float64 `json:"p50ms"`
		P99      float64 `json:"p99ms"`
	}
	entries := make([]entry, 0, len(rows))
	for _, r := range rows {
		entries = append(entries, entry{r.Scenario, r.Sent, r.Failed, milliseconds(r.P50), milliseconds(r.P99)})
	}
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	return encoder.Encode(entries)
}

// milliseconds has a hundredth as its last digit.
func milliseconds(d time.Duration) float64 {
	return float64(d.Round(10*time.Microsecond)) / float64(time.Millisecond)
}
