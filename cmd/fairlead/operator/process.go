// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"errors"
	"io"
	"log"
	"log/slog"
	"math"
	"os"
	"runtime/debug"

	"github.com/KimMachineGun/automemlimit/memlimit"
	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/fairlead-dev/fairlead/cmd/fairlead/options"
	"github.com/fairlead-dev/fairlead/internal/connections"
)

// NewLogger creates the logger of the process in the configured format, and the LogLevel that changes its level.
func NewLogger(c options.Logging, to io.Writer) (logr.Logger, *LogLevel, error) {
	level := &LogLevel{}
	if err := level.Set(c.Level); err != nil {
		return logr.Logger{}, nil, err
	}
	handler := &slog.HandlerOptions{Level: &level.is, ReplaceAttr: readableAttr}
	if c.Format == "text" {
		return logr.FromSlogHandler(slog.NewTextHandler(to, handler)), level, nil
	}
	return logr.FromSlogHandler(slog.NewJSONHandler(to, handler)), level, nil
}

// UseLogger sets the logger of controller-runtime, client-go and the metrics server, which log through globals.
func UseLogger(logger logr.Logger) {
	errorLog := connections.NewErrorLog(connections.LogOptions{Logger: logger, Message: "Connection error of the metrics server"})
	log.SetFlags(0)
	log.SetOutput(errorLog.Writer())
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
	// memoryShare is the share of the container's memory from which on Go collects garbage as often as needed. The rest
	// is for the kernel's buffers, and for sudden needs.
	memoryShare = 0.85
	// requestShare is the share of Go's memory that webhooks may hold for large requests.
	requestShare = 0.3
	// gcPercent is GOGC for a process whose caches are most of the memory and change little. The default of 100 would
	// double that memory. The metric go_gc_gogc_percent has the current value.
	gcPercent = 50
)

// LimitMemory sets Go's memory limit from that of the container, since the kernel kills a process that exceeds it.
// GOMEMLIMIT in the environment takes precedence. The metric go_gc_gomemlimit_bytes has the current limit.
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

// requestMemory returns how much memory the webhooks' server may hold, in bytes; 0 for its default.
func requestMemory() int64 {
	limit := debug.SetMemoryLimit(-1) // a negative limit reads it
	if limit == math.MaxInt64 {
		return 0
	}
	return int64(requestShare * float64(limit))
}
