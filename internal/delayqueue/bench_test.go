// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package delayqueue

import (
	"context"
	"math/rand/v2"
	"runtime"
	"testing"
	"time"
)

// BenchmarkStart is the cost of one start among 50,000 keys: taking it from the queue, running
// nothing, and planning the next.
func BenchmarkStart(b *testing.B) {
	const keys = 50_000
	left := b.N
	done := make(chan struct{})
	var a *Queue[*int]
	step := time.Duration(0)
	a = New(Options[*int]{
		Workers: 1,
		Tenant:  func(*int) string { return "share" },
		Process: func(context.Context, *int) time.Time {
			left--
			if left == 0 {
				close(done)
			}
			step++
			return a.base.Add(-time.Hour).Add(step)
		},
	})
	for range keys {
		a.Set(new(int), a.base.Add(-2*time.Hour).Add(time.Duration(rand.IntN(1e9))))
	}
	ctx, cancel := context.WithCancel(b.Context())
	ended := make(chan error, 1)
	b.ReportAllocs()
	b.ResetTimer()
	go func() { ended <- a.Run(ctx) }()
	<-done
	b.StopTimer()
	cancel()
	if err := <-ended; err != nil {
		b.Fatal(err)
	}
}

// BenchmarkMemory measures the memory of a key at rest.
func BenchmarkMemory(b *testing.B) {
	const keys = 50_000
	all := make([]int, keys)
	for b.Loop() {
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		a := New(Options[*int]{Process: func(context.Context, *int) time.Time { return time.Time{} }})
		for i := range all {
			a.Set(&all[i], a.base.Add(time.Duration(i)*time.Second))
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
		b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/float64(a.Len()), "B/key")
	}
}
