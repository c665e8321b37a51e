// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package process

import "testing"

func TestUsageIsReadInSecondsAndBytes(t *testing.T) {
	stat := "77 (odd) name) S 1 77 77 0 -1 4194560 1 2 3 4 1250 250 9 9 20 0 15 0 100 200 300"
	status := "Name:\tx\nVmPeak:\t  99 kB\nVmHWM:\t  2048 kB\nVmRSS:\t  1024 kB\n"
	if got, err := parse(stat, status); err != nil || got != (Usage{CPU: 15, Memory: 1 << 20, Peak: 2 << 20}) {
		t.Errorf("%+v, %v", got, err)
	}
	for _, bad := range [][2]string{{stat, "VmRSS:\t 1 kB\n"}, {"77 (x) S 1", status}, {"", status}} {
		if got, err := parse(bad[0], bad[1]); err == nil {
			t.Errorf("%q: %+v and no error", bad, got)
		}
	}
}
