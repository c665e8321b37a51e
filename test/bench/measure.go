// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"context"
	"runtime"
	"time"
)

// Options of a run.
type Options struct {
	// Rounds is how many times every case is measured on each side. Defaults to 7.
	Rounds int
	// Slot is how long a handler is called in a round, as elapsed time. Defaults to 200ms.
	Slot time.Duration
	// Progress is called when a round begins. Defaults to nil: it is not called.
	Progress func(round, of int)
}

// sample is the cost of one object in one slot.
type sample struct {
	ns, allocs, bytes float64
}

// metrics are the figures of a sample: the suffix of the name, the unit, and the field.
var metrics = []struct {
	suffix, unit string
	of           func(sample) float64
}{
	{"", "ns", func(s sample) float64 { return s.ns }},
	{"/allocs", "allocs", func(s sample) float64 { return s.allocs }},
	{"/bytes", "bytes", func(s sample) float64 { return s.bytes }},
}

// Result of one case.
type Result struct {
	Case
	// CPU time in ns, allocations, and allocated bytes, each per object.
	CPU, Allocs, Bytes Comparison

	rounds []round
}

// round holds the samples of both sides, taken one after the other.
type round struct{ ours, stock sample }

// Run measures the cases round by round. In each round, both sides of a case follow each other, and take turns at being
// first. It ends early with the error of ctx. Everything runs on one processor, so that the CPU time of the process is
// that of the handler and of its garbage. Apart from the request in Cases, neither side is warmed up.
//
// Everything runs on one processor, so that the CPU time of the process is that of the handler and
// of the garbage it leaves. Both sides have answered once before; neither has any other warm-up.
func Run(ctx context.Context, cases []Case, o Options) ([]Result, error) {
	if o.Rounds <= 0 {
		o.Rounds = 7
	}
	if o.Slot <= 0 {
		o.Slot = 200 * time.Millisecond
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	results := make([]Result, len(cases))
	for i, c := range cases {
		results[i].Case = c
	}
	for n := range o.Rounds {
		if o.Progress != nil {
			o.Progress(n+1, o.Rounds)
		}
		for i := range results {
			if ctx.Err() != nil {
				return nil, context.Cause(ctx)
			}
			r := &results[i]
			r.rounds = append(r.rounds, r.round(o.Slot, n%2 == 1))
		}
	}
	for i := range results {
		r := &results[i]
		for k, into := range []*Comparison{&r.CPU, &r.Allocs, &r.Bytes} {
			*into = compare(r.rounds, metrics[k].of)
		}
	}
	return results, nil
}

func (c Case) round(slot time.Duration, stockFirst bool) (r round) {
	if stockFirst {
		r.stock = measure(c.stock, slot)
	}
	r.ours = measure(c.ours, slot)
	if !stockFirst {
		r.stock = measure(c.stock, slot)
	}
	return r
}

// Floor returns the cost of the harness with the body of a case.
func Floor(c Case, slot time.Duration) (ns, allocs float64) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	s := measure(newCall(floor, c.ours.body), slot)
	return s.ns, s.allocs
}

// batch is how many calls are made between two looks at the clock.
const batch = 16

func measure(c *call, slot time.Duration) sample {
	// Collect the garbage of the previous measurement, so that this one does not pay for it.
	runtime.GC()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	calls, began, start := 0, cpuTime(), time.Now()
	for time.Since(start) < slot {
		for range batch {
			c.send()
		}
		calls += batch
	}
	used := cpuTime() - began
	runtime.ReadMemStats(&after)
	n := float64(calls)
	return sample{
		ns:     float64(used.Nanoseconds()) / n,
		allocs: float64(after.Mallocs-before.Mallocs) / n,
		bytes:  float64(after.TotalAlloc-before.TotalAlloc) / n,
	}
}
