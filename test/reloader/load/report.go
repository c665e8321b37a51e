// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package load

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
)

const (
	mebi = 1 << 20

	// aimCPU and aimMemory are how many times as much as Reloader's the operator's may be.
	aimCPU, aimMemory = 1.5, 1.5
	// aimWrites is how many writes a restart may take.
	aimWrites = 3.0
	// aimLast is how much later than Reloader's the last restart may be, in seconds.
	aimLast = 1.0
)

// Comparison is one of the two sides in one scenario, by the median of each figure.
type Comparison struct {
	Scenario string      `json:"scenario"`
	Title    string      `json:"title"`
	Reloader Measurement `json:"reloader"`
	Fairlead Measurement `json:"fairlead"`
	// CPU and memory are Fairlead's by Reloader's, and Writes are Fairlead's for each restart.
	CPU        float64 `json:"cpuRatio"`
	MemoryPeak float64 `json:"memoryPeakRatio"`
	MemoryEnd  float64 `json:"memoryEndRatio"`
	Writes     float64 `json:"writesPerRestart"`
	// Missed are the aims that Fairlead misses, and faults of either side.
	Missed []string `json:"missed"`
}

// Report is the JSON report.
type Report struct {
	Comparisons  []Comparison  `json:"comparisons"`
	Measurements []Measurement `json:"measurements"`
}

// Compare compares the sides. A scenario that was not measured on both is left out.
func Compare(measured []Measurement) Report {
	report := Report{Measurements: measured}
	for _, s := range scenarios() {
		of := func(side string) []Measurement {
			return slices.DeleteFunc(slices.Clone(measured), func(m Measurement) bool { return m.Scenario != s.Name || m.Side != side })
		}
		a, b := of(Reloader), of(Fairlead)
		if len(a) == 0 || len(b) == 0 {
			continue
		}
		c := Comparison{Scenario: s.Name, Title: s.Title, Reloader: typical(a), Fairlead: typical(b)}
		c.CPU, c.MemoryPeak = ratio(c.Fairlead.CPUSeconds, c.Reloader.CPUSeconds), ratio(c.Fairlead.MemoryPeak, c.Reloader.MemoryPeak)
		c.MemoryEnd, c.Writes = ratio(c.Fairlead.MemoryEnd, c.Reloader.MemoryEnd), ratio(float64(c.Fairlead.Writes), float64(c.Fairlead.Restarts))
		c.judge()
		report.Comparisons = append(report.Comparisons, c)
	}
	return report
}

// typical has the median of each figure, but the most of faults.
func typical(of []Measurement) Measurement {
	t := of[0]
	t.Run, t.Calls = 0, nil
	t.Changes, t.Restarts, t.Workloads = median(of, func(m Measurement) int { return m.Changes }),
		median(of, func(m Measurement) int { return m.Restarts }), median(of, func(m Measurement) int { return m.Workloads })
	t.Writes, t.Reads = median(of, func(m Measurement) int { return m.Writes }), median(of, func(m Measurement) int { return m.Reads })
	t.LastSeconds = median(of, func(m Measurement) float64 { return m.LastSeconds })
	t.CPUSeconds = median(of, func(m Measurement) float64 { return m.CPUSeconds })
	t.CPUSecondsBefore = median(of, func(m Measurement) float64 { return m.CPUSecondsBefore })
	t.MemoryPeak = median(of, func(m Measurement) float64 { return m.MemoryPeak })
	t.MemoryEnd = median(of, func(m Measurement) float64 { return m.MemoryEnd })
	for _, m := range of {
		t.Stale, t.Uncaused = max(t.Stale, m.Stale), max(t.Uncaused, m.Uncaused)
	}
	return t
}

// median returns the lower one of two.
func median[T cmp.Ordered](of []Measurement, figure func(Measurement) T) T {
	var all []T
	for _, m := range of {
		all = append(all, figure(m))
	}
	slices.Sort(all)
	return all[(len(all)-1)/2]
}

// ratio is 0 where there is nothing to compare with.
func ratio(a, b float64) float64 {
	if b == 0 {
		return 0
	}
	return a / b
}

func (c *Comparison) judge() {
	c.Missed = []string{}
	r, f := c.Reloader, c.Fairlead
	miss := func(is bool, format string, args ...any) {
		if is {
			c.Missed = append(c.Missed, fmt.Sprintf(format, args...))
		}
	}
	miss(f.CPUSeconds > aimCPU*r.CPUSeconds, "processor %.1f times", c.CPU)
	miss(f.MemoryPeak > aimMemory*r.MemoryPeak, "memory at its peak %.1f times", c.MemoryPeak)
	miss(f.MemoryEnd > aimMemory*r.MemoryEnd, "memory at the end %.1f times", c.MemoryEnd)
	miss(float64(f.Writes) > aimWrites*float64(f.Restarts), "%d writes for %d restarts", f.Writes, f.Restarts)
	miss(f.LastSeconds > r.LastSeconds+aimLast, "the last restart %.1fs later", f.LastSeconds-r.LastSeconds)
	for _, m := range []Measurement{r, f} {
		miss(m.Stale > 0, "%s leaves %d workloads with old content", m.Side, m.Stale)
		miss(m.Uncaused > 0, "%s restarts %d times without a change", m.Side, m.Uncaused)
	}
}

// IsMet returns whether no aim is missed.
func (r Report) IsMet() bool {
	return !slices.ContainsFunc(r.Comparisons, func(c Comparison) bool { return len(c.Missed) > 0 })
}

// Write writes the table, and below it what is missed.
func (r Report) Write(to io.Writer) error {
	_, err := fmt.Fprintf(to, "Reloader / Fairlead, medians. Aims: processor %.1f times, memory %.1f times, %.0f writes a restart, the last restart %.0fs later.\n\n",
		aimCPU, aimMemory, aimWrites, aimLast)
	if err != nil {
		return err
	}
	table := tabwriter.NewWriter(to, 0, 0, 2, ' ', 0)
	row := func(cells ...string) { _, _ = fmt.Fprintln(table, strings.Join(cells, "\t")) }
	row("", "changes", "restarts", "last, s", "processor, s", "", "peak, MiB", "", "end, MiB", "", "writes", "a restart")
	for _, c := range r.Comparisons {
		a, b := c.Reloader, c.Fairlead
		row(c.Scenario, fmt.Sprint(b.Changes), fmt.Sprintf("%d / %d", a.Restarts, b.Restarts), fmt.Sprintf("%.1f / %.1f", a.LastSeconds, b.LastSeconds),
			fmt.Sprintf("%.2f / %.2f", a.CPUSeconds, b.CPUSeconds), fmt.Sprintf("%.1f", c.CPU),
			fmt.Sprintf("%.0f / %.0f", a.MemoryPeak/mebi, b.MemoryPeak/mebi), fmt.Sprintf("%.1f", c.MemoryPeak),
			fmt.Sprintf("%.0f / %.0f", a.MemoryEnd/mebi, b.MemoryEnd/mebi), fmt.Sprintf("%.1f", c.MemoryEnd),
			fmt.Sprintf("%d / %d", a.Writes, b.Writes), fmt.Sprintf("%.1f", c.Writes))
	}
	if err := table.Flush(); err != nil {
		return err
	}
	for _, c := range r.Comparisons {
		if len(c.Missed) > 0 {
			if _, err := fmt.Fprintf(to, "\n%s, %s: %s", c.Scenario, c.Title, strings.Join(c.Missed, "; ")); err != nil {
				return err
			}
		}
	}
	_, err = fmt.Fprintln(to)
	return err
}
