// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !unix

package bench

import "time"

// clock names what cpuTime counts.
const clock = "wall time"

var started = time.Now()

// cpuTime returns the elapsed time: the CPU time is not known here.
func cpuTime() time.Duration { return time.Since(started) }
