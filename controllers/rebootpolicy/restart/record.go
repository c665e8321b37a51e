// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package restart

import (
	"time"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
)

// Record folds what came of actions into the status. p has the status that was stored before they
// were done; it is not changed. Again says when something is to be tried again, and counts beside
// that of Decide.
//
// What is not recorded, since the process ended or the write was refused, is found out again by
// Decide: from the annotation on the workload, and from the pods that are left.
func Record(p *autorebootv1.RebootPolicy, results []Result, now time.Time) Decision {
	return newRun(p, Observation{Now: now}).recordAll(results)
}

func (r *run) recordAll(results []Result) Decision {
	r.targets = make([]target, len(r.status.Targets))
	for i := range r.status.Targets {
		r.targets[i] = target{TargetStatus: &r.status.Targets[i]}
	}
	evicted := map[string]bool{}
	for _, result := range results {
		if result.Action.Verb == Evict && result.Outcome == Done {
			evicted[result.Action.ID] = true
		}
	}
	for _, result := range results {
		t, f := r.find(result.Action.ID)
		if f == nil {
			continue
		}
		r.recordOne(t, f, result, evicted[result.Action.ID])
	}
	return r.decision()
}

func (r *run) recordOne(t *target, f *autorebootv1.InFlightRestart, result Result, evicted bool) {
	annotate := result.Action.Verb == Annotate
	switch result.Outcome {
	case Done:
		if annotate {
			generation := result.Generation
			if generation == 0 && result.Action.Workload != nil {
				generation = result.Action.Workload.Generation
			}
			r.apply(t, occurrence{event: Annotated, generation: generation})
			return
		}
		r.apply(t, occurrence{event: EvictionStarted})
		f.BlockedTime, f.BlockedBy = nil, ""
	case Blocked:
		if annotate {
			r.requeueAt(r.now.Add(repeatAfter))
			return
		}
		r.apply(t, occurrence{event: EvictionStarted})
		if f.BlockedTime == nil && !evicted {
			f.BlockedTime = r.timestampPtr()
		}
		if f.BlockedTime != nil && result.Budget != "" {
			f.BlockedBy = clip(result.Budget, maxName)
		}
		r.requeueAt(r.now.Add(blockedAfter))
	case Misconfigured:
		r.apply(t, r.failure(t, autorebootv1.ReasonEvictionMisconfigured))
	case Gone:
		r.apply(t, occurrence{event: TargetGone, reason: autorebootv1.ReasonTargetGone})
	case Forbidden:
		r.requeueAt(r.now.Add(forbiddenAfter))
	case Retry:
		r.requeueAt(r.now.Add(repeatAfter))
	}
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
