// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package shards

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
)

// Prefix of the names of all rows.
const Prefix = "shards/"

const mebi = 1 << 20

// Row is a figure: of a shard, the largest of the three.
type Row struct {
	Name  string  `json:"name"`
	Unit  string  `json:"unit"`
	Value float64 `json:"value"`
	// Peer is that of one leader of all namespaces, and Ratio how much of it Value is; absent where there is none.
	Peer  float64 `json:"peer,omitempty"`
	Ratio float64 `json:"ratio,omitempty"`

	target string
}

// Result of Run.
type Result struct{ rows []Row }

// add appends a row. A peer of 0 is none.
func (r *Result) add(name, unit string, value, peer float64, target string) {
	row := Row{Name: Prefix + name, Unit: unit, Value: round(value), Peer: round(peer), target: target}
	if peer > 0 {
		row.Ratio = math.Round(100*value/peer) / 100
	}
	r.rows = append(r.rows, row)
}

// round keeps thousandths.
func round(value float64) float64 { return math.Round(1000*value) / 1000 }

// Rows are the figures by name.
func (r *Result) Rows() []Row { return r.rows }

// WriteTable writes the figures for a reader.
func (r *Result) WriteTable(w io.Writer) error {
	var out strings.Builder
	out.WriteString("Three shards, the largest figure of the three, beside one leader of all namespaces.\n\n")
	table := tabwriter.NewWriter(&out, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(table, "\ta shard\tone leader\tof it\tunit\ttarget\t")
	for _, row := range r.rows {
		peer, ratio := "-", "-"
		if row.Ratio > 0 {
			peer, ratio = number(row.Peer), fmt.Sprintf("%.2f", row.Ratio)
		}
		_, _ = fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\t\n", row.Name, number(row.Value), peer, ratio, row.Unit, row.target)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	_, err := io.WriteString(w, out.String())
	return err
}

func number(value float64) string { return strconv.FormatFloat(value, 'f', -1, 64) }

// quantile is the least that so many percent of the times do not exceed; 0 of none.
func quantile(times []time.Duration, percent int) time.Duration {
	if len(times) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(times))
	return sorted[max((len(sorted)*percent+99)/100, 1)-1]
}
