// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"errors"
	"math"
	"os"
	"runtime/debug"

	"github.com/KimMachineGun/automemlimit/memlimit"
	"github.com/go-logr/logr"
)

const (
	// memoryShare is how much of the container's memory Go may use before it collects garbage at any price.
	// The rest is for the kernel's buffers, and for what is needed faster than it is collected.
	memoryShare = 0.85
	// requestShare is how much of Go's memory webhooks may hold for requests that are no small ones.
	requestShare = 0.3
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

// requestMemory is what the webhooks' server may hold, in bytes; 0 for its default.
func requestMemory() int64 {
	limit := debug.SetMemoryLimit(-1) // which only reads it
	if limit == math.MaxInt64 {
		return 0
	}
	return int64(requestShare * float64(limit))
}
