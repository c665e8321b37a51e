// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package restart

import (
	"testing"
	"time"
)

func TestTheBackoffDoublesUpToSixHours(t *testing.T) {
	for _, c := range []struct {
		backoff  time.Duration
		attempts int32
		want     time.Duration
	}{
		{10 * time.Minute, 0, 0},
		{10 * time.Minute, 1, 10 * time.Minute},
		{10 * time.Minute, 3, 40 * time.Minute},
		{10 * time.Minute, 7, 6 * time.Hour},
		{10 * time.Minute, 20, 6 * time.Hour},
		{12 * time.Hour, 1, 12 * time.Hour},
		{12 * time.Hour, 2, 12 * time.Hour},
	} {
		if got := (&settings{backoff: c.backoff}).backoffAfter(c.attempts); got != c.want {
			t.Errorf("backoff %s after %d attempts: waits %s, want %s", c.backoff, c.attempts, got, c.want)
		}
	}
}
