// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package handover

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// Prefixes of the names of all rows.
const (
	StartPrefix = "start/"
	Prefix      = "handover/"
)

// Row is a figure: the median of some runs in milliseconds, or memory in MiB.
type Row struct {
	Name  string  `json:"name"`
	Unit  string  `json:"unit"`
	Value float64 `json:"value"`
	// Peer is controller-runtime's, and Ratio how many times better ours is; absent where there is none.
	Peer  float64 `json:"peer,omitempty"`
	Ratio float64 `json:"ratio,omitempty"`

	ours, theirs []time.Duration
	target       string
}

func newRow(name, target string, ours, theirs []time.Duration) Row {
	r := Row{Name: name, Unit: "ms", Value: median(ours), ours: ours, theirs: theirs, target: target}
	if len(theirs) > 0 {
		r.Peer = median(theirs)
		r.Ratio = math.Round(100*r.Peer/r.Value) / 100
	}
	return r
}

// median is in milliseconds, with one digit.
func median(times []time.Duration) float64 {
	sorted := slices.Sorted(slices.Values(times))
	n := len(sorted)
	if n == 0 {
		return 0
	}
	middle := (sorted[(n-1)/2] + sorted[n/2]) / 2
	return math.Round(float64(middle)/1e5) / 10
}

// Result of Run.
type Result struct{ rows []Row }

// Rows are the figures by name.
func (r *Result) Rows() []Row { return r.rows }

// WriteTable writes the figures for a reader.
func (r *Result) WriteTable(w io.Writer) error {
	var out strings.Builder
	out.WriteString("From the start of a process, and from the end of a leader, in ms: medians, and all runs. Memory is in MiB.\n\n")
	table := tabwriter.NewWriter(&out, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(table, "\tfairlead\tcontroller-runtime\tratio\ttarget\truns\t")
	for _, row := range r.rows {
		peer, ratio := "-", "-"
		if row.Ratio > 0 {
			peer, ratio = fmt.Sprintf("%.0f", row.Peer), fmt.Sprintf("%.1fx", row.Ratio)
		}
		_, _ = fmt.Fprintf(table, "%s\t%.0f\t%s\t%s\t%s\t%s / %s\t\n", row.Name, row.Value, peer, ratio, row.target, list(row.ours), list(row.theirs))
	}
	if err := table.Flush(); err != nil {
		return err
	}
	_, err := io.WriteString(w, out.String())
	return err
}

func list(times []time.Duration) string {
	var all []string
	for _, t := range times {
		all = append(all, fmt.Sprint(t.Milliseconds()))
	}
	return strings.Join(all, " ")
}
