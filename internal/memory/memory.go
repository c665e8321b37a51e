// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package memory limits the memory that a process uses beyond the objects in its caches.
package memory

import (
	"context"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"time"

	"k8s.io/utils/clock"
)

// quietTime is how long little is allocated before memory is returned.
const quietTime = 10 * time.Second

// SetGCPercent sets how much the heap may grow until the garbage collector runs, in percent of what is in use; Go's default is
// 100. The environment variable GOGC takes precedence.
func SetGCPercent(percent int) {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(percent)
	}
}

// ReleaseWhenIdle gives unused heap back to the operating system while the process is idle, until the context ends. Filling the
// caches at start takes about twice the memory that they keep, and Go keeps the rest until the next collections, which in an idle
// process may be days away. A process that is never idle collects garbage as usual.
func ReleaseWhenIdle(clock clock.WithTicker) func(context.Context) error {
	return func(ctx context.Context) error {
		ticker := clock.NewTicker(quietTime)
		defer ticker.Stop()
		samples := []metrics.Sample{
			{Name: "/gc/heap/allocs:bytes"}, {Name: "/gc/heap/live:bytes"},
			{Name: "/memory/classes/heap/objects:bytes"}, {Name: "/memory/classes/heap/free:bytes"},
		}
		var before uint64
		for {
			select {
			case <-ctx.Done():
				return nil
			case <-ticker.C():
			}
			metrics.Read(samples)
			allocated, live := samples[0].Value.Uint64(), samples[1].Value.Uint64()
			held := samples[2].Value.Uint64() + samples[3].Value.Uint64()
			if quiet := allocated-before < live/10; quiet && held > live+live/4 {
				debug.FreeOSMemory()
			}
			before = allocated
		}
	}
}
