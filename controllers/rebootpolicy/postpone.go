// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	"slices"

	"github.com/fairlead-dev/fairlead/controllers/internal/controller"
	"github.com/fairlead-dev/fairlead/controllers/rebootpolicy/restart"
)

// postponeRecord leaves it to the next look to record that workloads were told to restart, where nothing
// else has come of the actions: it stores what it decides anyway, and one write of the status does for
// both. If the process ends before that, the next one finds the restart's id on the workload.
func (o *observation) postponeRecord(d restart.Decision, results []restart.Result) bool {
	untold := func(r restart.Result) bool { return r.Action.Verb != restart.Annotate || r.Outcome != restart.Done }
	if len(results) == 0 || len(results) < len(d.Actions) || slices.ContainsFunc(results, untold) {
		return false
	}
	o.state.unrecorded = results
	o.requeueAt(o.now.Add(controller.CoalescingInterval))
	return true
}

// recordPostponed folds in what was postponed, and returns what is to be told of it. What was restarted since
// under another id is not there any more, and is passed over.
func (o *observation) recordPostponed() []restart.Message {
	if len(o.state.unrecorded) == 0 {
		return nil
	}
	before := restart.Record(o.effectivePolicy(), o.state.unrecorded, o.now)
	o.policy.Status = before.Status
	return before.Messages
}
