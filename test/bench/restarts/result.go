// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package restarts

import (
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/test/bench/process"
)

// Result of Run.
type Result struct {
	Options Options
	// Known is from the first policy until the status had a baseline for every Secret.
	Known time.Duration
	// Changed is how long it took to change all Secrets, and Drained from the first change until all
	// workloads were restarted, verified and nothing waited.
	Changed, Drained time.Duration
	// Storm counts the events of that time.
	Storm Counts
	// Endings are how restarts ended, by the operator's metrics.
	Endings map[string]int
	// Calls of the operator from the first change until nothing had happened for a while.
	Calls Calls
	// Before and After are what the operator used until then. MemoryInStorm is the most memory that
	// was seen between, and Goroutines the most of them.
	Before, After             process.Usage
	MemoryInStorm, Goroutines float64
	// Others are the seconds of a processor that the components of the control plane used.
	Others map[string]float64
	// Away is how many workloads had a Secret changed while no operator ran. Returned is from the
	// start of the next one until all of them were restarted. Missed were not, and Needless were more
	// than once, or with no change of their own.
	Away, Missed, Needless int
	Returned               time.Duration
	// Floor is how long a plain client took for as many restarts.
	Floor       time.Duration
	FloorCounts Counts
	FloorOthers map[string]float64
}

// Row is a figure.
type Row struct {
	Name  string  `json:"name"`
	Unit  string  `json:"unit"`
	Value float64 `json:"value"`

	target string
}

// Prefix of the names of all rows.
const Prefix = "restarts/"

const mebi = 1 << 20

// Rows are the figures by name.
func (r *Result) Rows() []Row {
	events, reads, writes := r.Calls.Split()
	each := func(n int) float64 { return float64(n) / float64(max(r.Options.Workloads, 1)) }
	rows := []Row{
		{"in-flight-max", "restarts", float64(r.Storm.InFlight), fmt.Sprintf("<= %d", r.Options.Cap)},
		{"in-flight-max-of-a-policy", "restarts", float64(r.Storm.InFlightOfOne), fmt.Sprintf("<= %d", perPolicy)},
		{"in-flight-mean", "restarts", r.Storm.InFlightMean, ""},
		{"rollouts-at-once-max", "rollouts", float64(r.Storm.Rolling), fmt.Sprintf("<= %d", r.Options.Cap)},
		{"rollouts-at-once-mean", "rollouts", r.Storm.RollingMean, ""},
		{"of-a-workload-least", "restarts", float64(r.Storm.Rollouts.Least), "1"},
		{"of-a-workload-most", "restarts", float64(max(r.Storm.Rollouts.Most, r.Storm.Written.Most)), "1"},
		{"failed", "restarts", float64(r.failed()), "0"},
		{"calls-per-restart", "calls", each(reads + writes), "<= 6"},
		{"reads-per-restart", "calls", each(reads), ""},
		{"writes-per-restart", "calls", each(writes), ""},
		{"events-per-restart", "calls", each(events), ""},
		{"memory-before-mib", "MiB", r.Before.Memory / mebi, ""},
		{"memory-max-mib", "MiB", r.MemoryInStorm / mebi, ""},
		{"memory-after-mib", "MiB", r.After.Memory / mebi, ""},
		{"memory-peak-mib", "MiB", r.After.Peak / mebi, ""},
		{"goroutines", "goroutines", r.Goroutines, ""},
		{"cpu-seconds", "s", r.After.CPU - r.Before.CPU, ""},
		{"baseline-seconds", "s", r.Known.Seconds(), ""},
		{"change-seconds", "s", r.Changed.Seconds(), ""},
		{"drain-seconds", "s", r.Drained.Seconds(), ""},
		{"floor-seconds", "s", r.Floor.Seconds(), ""},
		{"missed-while-away", "workloads", float64(r.Missed), "0"},
		{"needless-after-return", "restarts", float64(r.Needless), "0"},
		{"return-seconds", "s", r.Returned.Seconds(), ""},
	}
	for i := range rows {
		rows[i].Name = Prefix + rows[i].Name
		rows[i].Value = math.Round(rows[i].Value*1e3) / 1e3
	}
	return rows
}

// failed are all but those that succeeded, and those that were not needed any more: the pods had been
// made after the last of the changes.
func (r *Result) failed() int {
	n := 0
	for ending, count := range r.Endings {
		if ending != string(autorebootv1.ResultSucceeded) && ending != string(autorebootv1.ResultSuperseded) {
			n += count
		}
	}
	return n
}

// WriteTable writes the figures for a reader.
func (r *Result) WriteTable(w io.Writer) error {
	o := r.Options
	var out strings.Builder
	fmt.Fprintf(&out, "%d Secrets of %d workloads change at once; %d workloads to a policy; %d of them restart at once, and %d of all.\n\n",
		o.Workloads*perWorkload, o.Workloads, o.Targets, perPolicy, o.Cap)
	table := tabwriter.NewWriter(&out, 0, 0, 2, ' ', tabwriter.AlignRight)
	for _, row := range r.Rows() {
		if _, err := fmt.Fprintf(table, "%-35s\t%.3f\t%s\t%s\t\n", row.Name, row.Value, row.Unit, row.target); err != nil {
			return err
		}
	}
	if err := table.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(&out, "\nThe operator's calls in the storm: %s.\n", r.Calls)
	fmt.Fprintf(&out, "Restarts by how they ended: %v.\n", r.Endings)
	fmt.Fprintf(&out, "Seconds of a processor in the storm: operator %.1f, %s. For the plain client: %s.\n",
		r.After.CPU-r.Before.CPU, spending(r.Others), spending(r.FloorOthers))
	fmt.Fprintf(&out, "The plain client had %d rollouts at once, %.1f on average. The control plane shares the processors of the machine.\n",
		r.FloorCounts.Rolling, r.FloorCounts.RollingMean)
	_, err := io.WriteString(w, out.String())
	return err
}

func spending(spent map[string]float64) string {
	var list []string
	for _, name := range slices.Sorted(maps.Keys(spent)) {
		list = append(list, fmt.Sprintf("%s %.1f", name, spent[name]))
	}
	return strings.Join(list, ", ")
}
