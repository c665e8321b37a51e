// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package soak

import (
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/fairlead-dev/fairlead/test/soak/counters"
)

// Row is the outcome of one scenario.
type Row struct {
	Scenario string
	// Sent is how many requests were sent, and Failed how many of them did not get the answer that was
	// wanted. What only the API server could not answer, since it or etcd was away, is Unavailable.
	Sent, Failed, Unavailable int
	// InTheDead are those of Failed whose call was in a replica when it was killed or cut off, and
	// SentToTheDead those whose call was sent to it before the Service knew: these could not be answered
	// any more, and no API server sends a call to a webhook twice.
	InTheDead, SentToTheDead int
	P50, P99                 time.Duration
	Took                     time.Duration
	// Notes say what happened and what was proven.
	Notes []string
	// Faults say what must not be, besides failed requests.
	Faults []string
	// Reasons are why requests were not answered as wanted.
	Reasons []counters.Reason
}

// Explained is how many of Failed were lost with a replica.
func (r Row) Explained() int { return r.InTheDead + r.SentToTheDead }

// Sound says whether nothing failed that a replica could have answered, and nothing else was wrong.
func (r Row) Sound() bool { return r.Failed == r.Explained() && len(r.Faults) == 0 }

// fault notes an error, if it is one.
func (r *Row) fault(err error) {
	if err != nil {
		r.Faults = append(r.Faults, err.Error())
	}
}

// WriteTable prints the rows, and below them why requests failed and what else was wrong. Explained are
// those of the failed requests that were lost with a replica.
func WriteTable(w io.Writer, rows []Row) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "SCENARIO\tSENT\tFAILED\tEXPLAINED\tP50 ms\tP99 ms\tTOOK\tWHAT HAPPENED")
	for _, r := range rows {
		note := ""
		if len(r.Notes) > 0 {
			note = r.Notes[0]
		}
		fmt.Fprintf(table, "%s\t%d\t%d\t%d\t%.1f\t%.1f\t%s\t%s\n",
			r.Scenario, r.Sent, r.Failed, r.Explained(), milliseconds(r.P50), milliseconds(r.P99), r.Took.Round(time.Second), note)
		for i := 1; i < len(r.Notes); i++ {
			fmt.Fprintf(table, "\t\t\t\t\t\t\t%s\n", r.Notes[i])
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
		if reason.Outcome == counters.Unavailable {
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

// milliseconds has a hundredth as its last digit.
func milliseconds(d time.Duration) float64 {
	return float64(d.Round(10*time.Microsecond)) / float64(time.Millisecond)
}
