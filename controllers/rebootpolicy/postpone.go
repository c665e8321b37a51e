// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	"slices"

	"github.com/fairlead-dev/fairlead/controllers/internal/controller"
	"github.com/fairlead-dev/fairlead/controllers/rebootpolicy/restart"
)

// postpone leaves it to the next look to record that workloads were told to restart, where nothing
// else has come of the actions: it stores what it decides anyway, and one write of the status does for
// both. If the process ends before that, the next one finds the restart's id on the workload.
func (s *survey) postpone(d restart.Decision, results []restart.Result) bool {
	untold := func(r restart.Result) bool { return r.Action.Verb != restart.Annotate || r.Outcome != restart.Done }
	if len(results) == 0 || len(results) < len(d.Actions) || slices.ContainsFunc(results, untold) {
		return false
	}
	s.memory.results = results
	s.look(s.now.Add(controller.CoalescingInterval))
	return true
}

// recall folds in what was postponed, and returns what is to be told of it. What was restarted since
// under another id is not there any more, and is passed over.
func (s *survey) recall() []restart.Notice {
	if len(s.memory.results) == 0 {
		return nil
	}
	before := restart.Record(s.decided(), s.memory.results, s.now)
	s.policy.Status = before.Status
	return before.Notices
}
