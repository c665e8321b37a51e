// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package pausetest

import (
	"errors"
	"testing"
	"time"
)

func TestOnlyAnAttemptThatWasStalledIsRepeated(t *testing.T) {
	slow := errors.New("it took long")
	for name, test := range map[string]struct {
		results []error
		stall   time.Duration // of each attempt
		calls   int
		fails   bool
	}{
		"success":                 {[]error{nil}, time.Hour, 1, false},
		"a failure":               {[]error{slow}, minPause - 1, 1, true},
		"a failure under a stall": {[]error{slow, nil}, minPause, 2, false},
		"a failure of each":       {[]error{slow, slow, slow, slow, slow}, time.Second, 5, true},
		"the last one succeeds":   {[]error{slow, slow, slow, slow, nil}, time.Second, 5, false},
	} {
		t.Run(name, func(t *testing.T) {
			var stood time.Duration
			calls := 0
			err := retry(t.Logf, func() time.Duration { return stood }, func() error {
				stood += test.stall
				calls++
				return test.results[calls-1]
			})
			if calls != test.calls || (err != nil) != test.fails || err != nil && !errors.Is(err, slow) {
				t.Errorf("%d attempts, %v; want %d, an error %t", calls, err, test.calls, test.fails)
			}
		})
	}
}
