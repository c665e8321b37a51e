// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package restarts

import (
	"fmt"
	"io"
	"math"
	"strings"
	"text/tabwriter"
	"time"
)

// MovePrefix of the names of all rows of a move.
const MovePrefix = "move/"

// Rows are the figures by name.
func (r *MoveResult) Rows() []Row {
	changes, storm := float64(max(r.Options.Changes, 1)), float64(max(r.changed(), 1))
	singleEvents, singleReads, singleWrites := r.Single.Calls.Split()
	events, reads, writes := r.Storm.Calls.Split()
	_, madeReads, madeWrites := r.Making.Calls.Split()
	rows := []Row{
		{"made-seconds", "s", r.Made.Seconds(), ""},
		{"known-seconds", "s", r.Known.Seconds(), ""},
		{"made-calls", "calls", float64(madeReads + madeWrites), ""},
		{"made-cpu-seconds", "s", r.Making.CPU, ""},
		{"change-p50-seconds", "s", r.latency(50).Seconds(), ""},
		{"change-p99-seconds", "s", r.latency(99).Seconds(), ""},
		{"change-cpu-seconds", "s", r.Single.CPU / changes, ""},
		{"change-calls", "calls", float64(singleReads+singleWrites) / changes, ""},
		{"change-events", "calls", float64(singleEvents) / changes, ""},
		{"storm-seconds", "s", r.Storm.Drained.Seconds(), ""},
		{"storm-floor-seconds", "s", r.Floor.Seconds(), ""},
		{"storm-cpu-seconds", "s", r.Storm.CPU, ""},
		{"storm-apiserver-seconds", "s", r.Storm.APIServer, ""},
		{"storm-floor-apiserver-seconds", "s", r.FloorAPIServer, ""},
		{"storm-calls-per-change", "calls", float64(reads+writes) / storm, ""},
		{"storm-events-per-change", "calls", float64(events) / storm, ""},
		{"of-a-workload-most", "restarts", float64(max(r.Storm.Written.Most, r.Single.Written.Most)), "1"},
		{"memory-started-mib", "MiB", r.Started / mebi, ""},
		{"memory-settled-mib", "MiB", r.Settled / mebi, ""},
		{"memory-peak-mib", "MiB", r.Peak / mebi, ""},
		{"memory-with-secrets-mib", "MiB", r.WithSecrets / mebi, ""},
	}
	for i := range rows {
		rows[i].Name = MovePrefix + rows[i].Name
		rows[i].Value = math.Round(rows[i].Value*1e4) / 1e4
	}
	return rows
}

// changed is how many sources change in the storm.
func (r *MoveResult) changed() int { return moveStorm * (r.Options.Workloads * moveShare / 100) }

// latency is a percentile, of a sorted list.
func (r *MoveResult) latency(percent int) time.Duration {
	if len(r.Latencies) == 0 {
		return 0
	}
	return r.Latencies[min(len(r.Latencies)*percent/100, len(r.Latencies)-1)]
}

// WriteTable writes the figures for a reader.
func (r *MoveResult) WriteTable(w io.Writer) error {
	o := r.Options
	var out strings.Builder
	fmt.Fprintf(&out, "One ClusterRebootPolicy for %d workloads with the annotation of Reloader in %d namespaces, with %d sources. "+
		"%d of these change, two a second; then %d at once. Last, there are %d Secrets of %d bytes besides.\n\n",
		o.Workloads, o.Namespaces, o.Workloads*perWorkload, o.Changes, r.changed(), o.Secrets, bigSecret)
	table := tabwriter.NewWriter(&out, 0, 0, 2, ' ', tabwriter.AlignRight)
	for _, row := range r.Rows() {
		if _, err := fmt.Fprintf(table, "%-35s\t%.4f\t%s\t%s\t\n", row.Name, row.Value, row.Unit, row.target); err != nil {
			return err
		}
	}
	if err := table.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(&out, "\nThe operator's calls until all policies were made: %s.\nFor single changes: %s.\nIn the storm: %s.\n",
		r.Making.Calls, r.Single.Calls, r.Storm.Calls)
	_, err := io.WriteString(w, out.String())
	return err
}
