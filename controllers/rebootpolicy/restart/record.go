// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package restart

import (
	"cmp"
	"slices"
	"time"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/controllers/internal/requestcount"
	"github.com/fairlead-dev/fairlead/internal/text"
)

// Record adds the results of actions to the status. p has the status that was stored before they were done; it is not
// changed. Requests are those of the Observation. RequeueAt is when something is to be tried again, besides that of Decide.
//
// Results that are not recorded, because the process ended or the write failed, are found again by Decide, from the
// annotation on the workload and from the pods that are left.
func Record(p *autorebootv1.RebootPolicy, results []Result, now time.Time, requests map[string][]requestcount.Requests) Decision {
	return newRun(p, Observation{Now: now, Requests: requests}).recordAll(results)
}

func (r *run) recordAll(results []Result) Decision {
	r.targets = make([]target, len(r.status.Targets))
	for i := range r.status.Targets {
		r.targets[i] = target{TargetStatus: &r.status.Targets[i]}
	}
	for _, result := range inOrder(results) {
		if t, f := r.find(result.Action.ID); f != nil {
			r.recordOne(t, f, result, func(outcome Outcome) bool {
				return slices.ContainsFunc(results, func(other Result) bool {
					return other.Action.ID == result.Action.ID && other.Action.Verb == Evict && other.Outcome == outcome
				})
			})
		}
	}
	return r.decision()
}

// inOrder returns first the results of what was done: a restart that has begun cannot be refused any more.
func inOrder(results []Result) []Result {
	ordered := slices.Clone(results)
	slices.SortStableFunc(ordered, func(a, b Result) int {
		switch {
		case a.Outcome == b.Outcome || a.Outcome != Done && b.Outcome != Done:
			return 0
		case a.Outcome == Done:
			return -1
		}
		return 1
	})
	return ordered
}

// recordOne records one result. Others reports whether an eviction of the same restart had an outcome.
func (r *run) recordOne(t *target, f *autorebootv1.InFlightRestart, result Result, others func(Outcome) bool) {
	if result.Action.Verb == Resume {
		if result.Outcome != Done {
			r.requeueAt(r.now.Add(retryInterval))
		}
		return
	}
	switch result.Outcome {
	case Done:
		r.recordDone(t, f, result, others)
	case Blocked, Misconfigured:
		r.recordBlocked(t, f, result, others)
	case Gone:
		r.apply(t, occurrence{event: TargetGone, reason: autorebootv1.ReasonTargetGone})
	case Refused:
		r.recordRefusal(t, f, result)
	case Retry:
		r.requeueAt(r.now.Add(retryInterval))
	}
}

func (r *run) recordDone(t *target, f *autorebootv1.InFlightRestart, result Result, others func(Outcome) bool) {
	if result.Action.Verb == Annotate {
		generation := result.Generation
		if generation == 0 && result.Action.Workload != nil {
			generation = result.Action.Workload.Generation
		}
		r.apply(t, occurrence{event: Annotated, generation: generation})
		return
	}
	r.apply(t, occurrence{event: EvictionStarted})
	f.BlockedTime, f.BlockedBy = nil, ""
	if f.Refusal != nil && !others(Refused) {
		f.Refusal, f.PhaseTime = nil, r.timestampPtr() // verification.timeout goes on
	}
}

func (r *run) recordBlocked(t *target, f *autorebootv1.InFlightRestart, result Result, others func(Outcome) bool) {
	if result.Outcome == Misconfigured && f.Phase != autorebootv1.PhaseRollingOut { // else it goes on without evictions
		r.apply(t, r.failure(t, autorebootv1.ReasonEvictionMisconfigured))
		return
	}
	if result.Action.Verb == Annotate {
		r.requeueAt(r.now.Add(retryInterval))
		return
	}
	r.apply(t, occurrence{event: EvictionStarted})
	if f.BlockedTime == nil && !others(Done) {
		f.BlockedTime = r.timestampPtr()
	}
	if f.BlockedTime != nil && result.Budget != "" {
		f.BlockedBy = text.Truncate(result.Budget, maxName)
	}
	r.requeueAt(r.now.Add(blockedInterval))
}

// recordRefusal has a restart that was not begun wait again, so that it holds no other and no attempt counts. One whose
// first pods are evicted goes on once the API server allows it.
func (r *run) recordRefusal(t *target, f *autorebootv1.InFlightRestart, result Result) {
	o := occurrence{event: StartRefused, reason: cmp.Or(result.Reason, autorebootv1.ReasonWriteRefused), message: result.Message}
	if f.Phase == autorebootv1.PhasePlanned {
		if isRetry(t, f) {
			o.event = RetryRefused
		}
		r.apply(t, o)
	} else {
		r.addRefusedMessage(t, f.Refusal, o)
		f.Refusal, f.BlockedTime, f.BlockedBy = r.refusalOf(o), nil, ""
	}
	r.requeueAt(r.now.Add(refusedInterval))
}

func (r *run) find(id string) (*target, *autorebootv1.InFlightRestart) {
	for i := range r.status.InFlight {
		f := &r.status.InFlight[i]
		if f.ID != id {
			continue
		}
		for j := range r.targets {
			if r.targets[j].id() == targetOf(f.Kind, f.Name) {
				return &r.targets[j], f
			}
		}
		return &target{TargetStatus: &autorebootv1.TargetStatus{Kind: f.Kind, Name: f.Name}}, f
	}
	return nil, nil
}
