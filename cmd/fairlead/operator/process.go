// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"math"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"time"

	"github.com/KimMachineGun/automemlimit/memlimit"
	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/fairlead-dev/fairlead/cmd/fairlead/operator/lifecycle"
	"github.com/fairlead-dev/fairlead/cmd/fairlead/options"
)

// NewLogger makes the one logger of the process, in the configured form.
func NewLogger(c options.Logging, to io.Writer) (logr.Logger, error) {
	verbosity, err := c.Verbosity()
	if err != nil {
		return logr.Logger{}, err
	}
	// logr's verbosity n is slog's level -n.
	handler := &slog.HandlerOptions{Level: slog.Level(-verbosity), ReplaceAttr: readableAttr}
	if verbosity == options.QuietLevel {
		handler.Level = slog.LevelError
	}
	if c.Format == "text" {
		return logr.FromSlogHandler(slog.NewTextHandler(to, handler)), nil
	}
	return logr.FromSlogHandler(slog.NewJSONHandler(to, handler)), nil
}

// UseLogger makes controller-runtime and client-go, which log through globals, use the logger.
func UseLogger(logger logr.Logger) {
	ctrllog.SetLogger(logger)
	klog.SetLoggerWithOptions(logger.WithName("client-go"), klog.ContextualLogger(true))
}

// readableAttr writes durations as 1.5s rather than as nanoseconds, and every verbosity as debug
// rather than as an offset from a level of slog's.
func readableAttr(groups []string, a slog.Attr) slog.Attr {
	switch {
	case a.Value.Kind() == slog.KindDuration:
		return slog.String(a.Key, a.Value.Duration().String())
	case len(groups) == 0 && a.Key == slog.LevelKey:
		level, ok := a.Value.Any().(slog.Level)
		switch {
		case !ok:
			return a
		case level >= slog.LevelError:
			return slog.String(a.Key, "error")
		case level >= slog.LevelInfo:
			return slog.String(a.Key, "info")
		default:
			return slog.String(a.Key, "debug")
		}
	}
	return a
}

const (
	// memoryShare is how much of the container's memory Go may use before it collects garbage at any price.
	// The rest is for the kernel's buffers, and for what is needed faster than it is collected.
	memoryShare = 0.85
	// requestShare is how much of Go's memory webhooks may hold for requests that are no small ones.
	requestShare = 0.3
	// gcPercent is how much garbage there may be for each 100 bytes in use, where Go's default is 100: caches can be
	// most of the memory, and change little.
	gcPercent = 50
	// quietTime is how long little is allocated before memory is returned.
	quietTime = 10 * time.Second
)

// LimitMemory has the garbage collector know the memory of the container, which the kernel kills a process
// for exceeding. GOMEMLIMIT in the environment is left as it is. The limit that holds is the metric
// go_gc_gomemlimit_bytes.
func LimitMemory(logger logr.Logger) {
	logger = logger.WithName("memory")
	if limit := os.Getenv("GOMEMLIMIT"); limit != "" {
		logger.Info("The limit of memory is that of the environment", "GOMEMLIMIT", limit)
		return
	}
	limit, err := memlimit.SetGoMemLimitWithOpts(memlimit.WithRatio(memoryShare), memlimit.WithProvider(memlimit.FromCgroup))
	switch {
	case err == nil && limit == 0, errors.Is(err, memlimit.ErrNoCgroup), errors.Is(err, memlimit.ErrCgroupsNotSupported):
		logger.Info("There is no limit of memory: the process is in no container that has one")
	case err != nil:
		logger.Info("The limit of the container's memory cannot be read; set GOMEMLIMIT", "reason", err.Error())
	default:
		logger.Info("The limit of memory follows the container's", "bytes", limit)
	}
}

// limitGarbage has the garbage collector keep less beside what is in use than it does by default, in a process that
// holds caches. GOGC in the environment is left as it is. What holds is the metric go_gc_gogc_percent.
func limitGarbage() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
}

// returnMemory returns to the system what a burst of work has left behind, once the process is quiet: a start needs
// twice of what it leaves in the caches. Go returns of that only what the next burst would not need, and an operator
// at rest may have no other for days. One that checks many addresses is never quiet, and collects garbage as usual.
func returnMemory(clock clock.WithTicker) lifecycle.Run {
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

// requestMemory is what the webhooks' server may hold, in bytes; 0 for its default.
func requestMemory() int64 {
	limit := debug.SetMemoryLimit(-1) // which only reads it
	if limit == math.MaxInt64 {
		return 0
	}
	return int64(requestShare * float64(limit))
}
