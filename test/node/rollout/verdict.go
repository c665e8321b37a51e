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
func (e *environment) judge(row *Row) error {
	if row.Strict && row.Lost() > 0 {
		return fmt.Errorf("%s: %d of %d requests were lost, and none may be", row.Scenario, row.Lost(), row.Sent)
	}
	for _, request := range row.Sum.Lost {
		if !e.excused(request) {
			return fmt.Errorf("%s: requests were lost although the Service led to live processes only: %s: %s, at %s",
				row.Scenario, request.Kind, request.Reason, request.Sent.Format(clock))
		}
	}
	if known := len(row.Sum.Lost); known < row.Lost() {
		return fmt.Errorf("%s: of %d requests that were lost only %d are known", row.Scenario, row.Lost(), known)
	}
	return nil
}

// excused says whether a request was on its way in a time in which it could not be known where to send it.
// On a busy machine it may have been sent seconds before.
func (e *environment) excused(request counters.Request) bool {
	for _, w := range e.blind {
		if !request.Sent.Add(request.Took).Before(w.from) && !request.Sent.After(w.to.Add(aftermath)) {
			return true
		}
	}
	return false
}
