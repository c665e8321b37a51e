// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"runtime"
	"runtime/debug"
	"strings"
	"text/tabwriter"
)

// Entry is one figure of bench.json.
type Entry struct {
	Name  string  `json:"name"`
	Unit  string  `json:"unit"`
	Value float64 `json:"value"`
	// Peer is the value of the stock handler; absent where there is none.
	Peer float64 `json:"peer,omitempty"`
	// Ratio says how many times better Value is than Peer.
	Ratio float64 `json:"ratio,omitempty"`
}

// WriteJSON writes the medians as a list of entries: of a case its CPU time under its own name,
// and allocations and bytes under /allocs and /bytes.
func WriteJSON(w io.Writer, results []Result) error {
	entries := []Entry{}
	for _, r := range results {
		for k, c := range []Comparison{r.CPU, r.Allocs, r.Bytes} {
			entries = append(entries, Entry{
				Name:  r.Name + metrics[k].suffix,
				Unit:  metrics[k].unit,
				Value: rounded(c.Ours.Median, 1),
				Peer:  rounded(c.Stock.Median, 1),
				Ratio: rounded(c.Ratio, 2),
			})
		}
	}
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	return encoder.Encode(entries)
}

func rounded(value float64, digits int) float64 {
	scale := math.Pow10(digits)
	return math.Round(value*scale) / scale
}

// WriteTable writes the results for a reader.
func WriteTable(w io.Writer, results []Result) error {
	var out strings.Builder
	fmt.Fprintf(&out, "fairlead beside the stock handlers of controller-runtime %s: %s per object, one processor\n", peerVersion(), clock)
	fmt.Fprintf(&out, "%s %s/%s. Medians of the rounds; +- is half the distance of the extremes.\n\n", runtime.Version(), runtime.GOOS, runtime.GOARCH)
	err := table(&out, results, "object\tfairlead\t+-\tstock\t+-\tratio\tin rounds\t", func(r Result) string {
		return fmt.Sprintf("%.1f KB\t%.1f us\t%.0f%%\t%.1f us\t%.0f%%\t%.2fx\t%.2f..%.2f\t", float64(r.Object)/1024,
			r.CPU.Ours.Median/1e3, r.CPU.Ours.Spread()*50, r.CPU.Stock.Median/1e3, r.CPU.Stock.Spread()*50,
			r.CPU.Ratio, r.CPU.Rounds.Least, r.CPU.Rounds.Most)
	})
	if err != nil {
		return err
	}
	fmt.Fprintln(&out, "\nAllocations, and KB allocated, per object:")
	err = table(&out, results, "fairlead\tstock\tratio\t|\tfairlead\tstock\tratio\t", func(r Result) string {
		return fmt.Sprintf("%.0f\t%.0f\t%.2fx\t|\t%.1f KB\t%.1f KB\t%.2fx\t",
			r.Allocs.Ours.Median, r.Allocs.Stock.Median, r.Allocs.Ratio,
			r.Bytes.Ours.Median/1024, r.Bytes.Stock.Median/1024, r.Bytes.Ratio)
	})
	if err != nil {
		return err
	}
	fmt.Fprintln(&out, "\nBoth sides were asked before they were timed, and their answers compared:")
	for _, r := range results {
		fmt.Fprintf(&out, "  %s  %s\n", pad(r.Name), r.Note)
	}
	out.WriteString(explanation)
	_, err = io.WriteString(w, out.String())
	return err
}

const explanation = `
Ratios are stock / fairlead: above 1 fairlead is better, below 1 it is worse. Allocations and bytes
do not depend on the machine: compare those between machines and commits, of time only the ratios.
The stock side has it easier: it counts no metrics. Neither side logs.
`

// table writes a row for each result. Columns are ended by tabs.
func table(w io.Writer, results []Result, head string, row func(Result) string) error {
	var rows strings.Builder
	fmt.Fprintf(&rows, "%s\t%s\n", pad(""), head)
	for _, r := range results {
		fmt.Fprintf(&rows, "%s\t%s\n", pad(r.Name), row(r))
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	if _, err := io.WriteString(t, rows.String()); err != nil {
		return err
	}
	return t.Flush()
}

// pad makes names a column of their own, to the left.
func pad(name string) string { return fmt.Sprintf("%-31s", name) }

// peerVersion is the version of controller-runtime in this binary.
func peerVersion() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, dep := range info.Deps {
			if dep.Path == "sigs.k8s.io/controller-runtime" {
				return dep.Version
			}
		}
	}
	return "(unknown version)"
}
