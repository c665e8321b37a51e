// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package memory bounds what a process that holds many objects takes beside them.
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

// LimitGarbage has the garbage collector keep at most so many bytes beside each 100 in use, where Go's default is 100. GOGC in
// the environment is left as it is.
func LimitGarbage(percent int) {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(percent)
	}
}

// Return returns to the system what a burst of work has left behind, once the process is quiet, until the context ends: a start
// needs twice of what it leaves in caches. Go returns of that only what the next burst would not need, and a process at rest may
// have no other for days. One that is never quiet collects garbage as usual.
func Return(clock clock.WithTicker) func(context.Context) error {
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
