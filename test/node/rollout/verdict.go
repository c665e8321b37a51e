// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"fmt"
	"time"

	"github.com/fairlead-dev/fairlead/test/soak/counters"
)

// window is a time in which requests may be lost.
type window struct{ from, to time.Time }

// aftermath is how long the API server may take to list again what it could not convert for a watch:
// it says "storage is (re)initializing" meanwhile.
const aftermath = 5 * time.Second

// judge is the verdict on a row. Where a process was killed, what was lost must lie in the time in
// which it could not be known.
func (s *scene) judge(row *Row) error {
	if row.Strict && row.Lost() > 0 {
		return fmt.Errorf("%s: %d of %d requests were lost, and none may be", row.Scenario, row.Lost(), row.Sent)
	}
	for _, reason := range row.Reasons {
		if !s.excused(reason) {
			return fmt.Errorf("%s: requests were lost although the Service led to live processes only: %s", row.Scenario, reason.Text)
		}
	}
	return nil
}

func (s *scene) excused(reason counters.Reason) bool {
	within := func(at time.Time) bool {
		for _, w := range s.blind {
			if !at.Before(w.from.Add(-time.Second)) && !at.After(w.to.Add(aftermath)) {
				return true
			}
		}
		return false
	}
	return within(reason.First) && within(reason.Last)
}
