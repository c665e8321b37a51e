// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package probes

import (
	"fmt"
	"io"
	"math"
	"strings"
	"text/tabwriter"
	"time"
)

// Result of Run.
type Result struct {
	objects int
	// Window is how long the operator was watched at rest, and Load how busy the machine was then.
	Window time.Duration
	Load   string
	// Cores is how many processors the operator used. Checks is how many checks it made a second,
	// and Late the percentage that began late.
	Cores, Checks, Late float64
	// Memory and MemoryPeak are bytes resident: the most at rest, and the most ever. Goroutines is
	// the most at rest.
	Memory, MemoryPeak, Goroutines float64
	// Written counts the writes at rest.
	Written writes
	// Detection of addresses that fail.
	Detection Detection
	// FirstPublish is from the start of the process until every address of objects that were new
	// to it was in an EndpointSlice, and FirstReady until each was checked and ready.
	FirstPublish, FirstReady time.Duration
	// FirstWritten counts the writes until then, and FirstProcessor the processor seconds of the API server.
	FirstWritten   writes
	FirstProcessor float64
	// FloorPublish is how long a plain client took to write the same for FloorObjects of them, and FloorProcessor the
	// seconds of a processor that the API server used.
	FloorPublish   time.Duration
	FloorProcessor float64
	FloorObjects   int
	// NamesMoved is from the moment that all Names resolved to other addresses until these were published and
	// ready, and NamesWritten what was written for it.
	NamesMoved   time.Duration
	Names        int
	NamesWritten writes
	// RestartStart is from the start of another process until it led, and RestartProbing until
	// it had checked every address. RestartWritten is what was written for it, and RestartWrites how
	// much that is, without the events that tell who leads. RestartMemory is its peak.
	RestartStart, RestartProbing time.Duration
	RestartWritten               writes
	RestartWrites, RestartMemory float64
}

// Row is a figure. There is no peer that it could be compared with.
type Row struct {
	Name  string  `json:"name"`
	Unit  string  `json:"unit"`
	Value float64 `json:"value"`

	target string
}

// Prefix of the names of all rows.
const Prefix = "probe/"

const mebi = 1 << 20

// Rows are the figures by name.
func (r *Result) Rows() []Row {
	rows := []Row{
		{"cpu-cores", "cores", r.Cores, "<= 1"},
		{"memory-mib", "MiB", r.Memory / mebi, "<= 500"},
		{"memory-peak-mib", "MiB", r.MemoryPeak / mebi, "<= 500"},
		{"goroutines", "goroutines", r.Goroutines, ""},
		{"checks-per-second", "1/s", r.Checks, ""},
		{"late-percent", "%", r.Late, "< 0.1"},
		{"writes-per-minute", "1/min", perSecond(r.Written.total()*60, r.Window), "0"},
		{"detect-to-publish-p50", "s", r.Detection.P50.Seconds(), ""},
		{"detect-to-publish-p99", "s", r.Detection.P99.Seconds(), "<= 1"},
		{"detect-to-publish-max", "s", r.Detection.Max.Seconds(), ""},
		{"first-publish-seconds", "s", r.FirstPublish.Seconds(), ""},
		{"first-ready-seconds", "s", r.FirstReady.Seconds(), ""},
		{"first-publish-over-plain-client", "x", r.overPlainClient(r.FirstPublish.Seconds(), r.FloorPublish.Seconds()), "<= 1.3"},
		{"first-publish-apiserver-over-plain-client", "x", r.overPlainClient(r.FirstProcessor, r.FloorProcessor), ""},
		{"first-publish-slice-writes", "writes", per(r.FirstWritten.of("endpointslices"), r.objects), "1"},
		{"first-publish-status-writes", "writes", per(r.FirstWritten.of("externalservices/status"), r.objects), "1"},
		{"first-publish-writes", "writes", per(r.FirstWritten.total(), r.objects), ""},
		{"names-moved-seconds", "s", r.NamesMoved.Seconds(), ""},
		{"names-moved-slice-writes", "writes", per(r.NamesWritten.of("endpointslices"), r.Names), "1"},
		{"names-moved-status-writes", "writes", per(r.NamesWritten.of("externalservices/status"), r.Names), "<= 1"},
		{"restart-start-seconds", "s", r.RestartStart.Seconds(), ""},
		{"restart-checked-seconds", "s", r.RestartProbing.Seconds(), ""},
		{"restart-writes", "writes", r.RestartWrites, "0"},
		{"restart-memory-peak-mib", "MiB", r.RestartMemory / mebi, "<= 500"},
	}
	for i := range rows {
		rows[i].Name = Prefix + rows[i].Name
		rows[i].Value = math.Round(rows[i].Value*1e4) / 1e4
	}
	return rows
}

// overPlainClient is how many times as much the first publication of an object takes as by the plain client.
func (r *Result) overPlainClient(ours, floor float64) float64 {
	if floor <= 0 || r.objects == 0 {
		return 0
	}
	return ours / float64(r.objects) / (floor / float64(r.FloorObjects))
}

func per(n float64, of int) float64 { return n / float64(max(of, 1)) }

// WriteTable writes the figures for a reader.
func (r *Result) WriteTable(w io.Writer, objects int) error {
	var out strings.Builder
	fmt.Fprintf(&out, "%d ExternalServices with %d addresses, checked every %s to a tenth more; watched at rest for %.0fs.\n\n",
		objects, objects*PerObject, interval, r.Window.Seconds())
	table := tabwriter.NewWriter(&out, 0, 0, 2, ' ', tabwriter.AlignRight)
	for _, row := range r.Rows() {
		if _, err := fmt.Fprintf(table, "%-41s\t%.3f\t%s\t%s\t\n", row.Name, row.Value, row.Unit, row.target); err != nil {
			return err
		}
	}
	if err := table.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(&out, "\nWritten for the first publication: %s. At rest: %s. For the restart: %s. For the names: %s.\n", r.FirstWritten, r.Written, r.RestartWritten, r.NamesWritten)
	fmt.Fprintf(&out, "Failures measured: %d, and %d that were found without a last check that was seen.\n", r.Detection.Measured, r.Detection.Unmeasured)
	fmt.Fprintf(&out, "Load average of the machine at rest: %s. The control plane and the other end share its processors.\n", r.Load)
	_, err := io.WriteString(w, out.String())
	return err
}
