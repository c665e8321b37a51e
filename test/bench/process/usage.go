// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// Usage of a process: seconds of a processor since its start, and bytes resident, now and at most.
type Usage struct{ CPU, Memory, Peak float64 }

// hertz is the number of clock ticks per second that the kernel reports times in, on every architecture.
const hertz = 100

// UsageOf reads it.
func UsageOf(pid int) (Usage, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return Usage{}, err
	}
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return Usage{}, err
	}
	return parse(string(stat), string(status))
}

func parse(stat, status string) (u Usage, err error) {
	// The name of the program, in parentheses, may hold anything; the state follows it.
	fields := strings.Fields(stat[strings.LastIndexByte(stat, ')')+1:])
	if len(fields) < 13 {
		return u, fmt.Errorf("stat has %d fields", len(fields))
	}
	for _, field := range fields[11:13] { // utime, stime
		ticks, err := strconv.ParseFloat(field, 64)
		if err != nil {
			return u, err
		}
		u.CPU += ticks / hertz
	}
	if u.Memory, err = kibibytes(status, "VmRSS:"); err != nil {
		return u, err
	}
	u.Peak, err = kibibytes(status, "VmHWM:")
	return u, err
}

// kibibytes reads a line of a status, and returns bytes.
func kibibytes(status, name string) (float64, error) {
	for line := range strings.Lines(status) {
		if value, ok := strings.CutPrefix(line, name); ok {
			n, err := strconv.ParseFloat(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(value), "kB")), 64)
			return n * 1024, err
		}
	}
	return 0, fmt.Errorf("status has no %s", name)
}

// Load says how many would run now, had they a processor: averages of 1, 5 and 15 minutes.
func Load() string {
	raw, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	fields := strings.Fields(string(raw))
	return strings.Join(fields[:min(3, len(fields))], " ")
}
