// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package restart

import (
	"cmp"
	"slices"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/controllers/internal/halt"
)

// Decide returns what follows from an observation. p is the stored object; it is not changed. The same arguments give
// the same bytes.
//
// The observation must be complete: the status of a workload that is missing from it is dropped.
func Decide(p *autorebootv1.RebootPolicy, o Observation) Decision {
	return newRun(p, o).decide()
}

func (r *run) decide() Decision {
	r.dropGone()
	r.trackTargets()
	r.resume()
	r.advance()
	r.evaluateTriggers()
	r.startPending()
	r.summarize()
	r.dropUnselected()
	r.reportTriggers()
	d := r.decision()
	d.Actions = r.actions()
	d.PendingMessage = r.longestPending.text
	return d
}

// dropGone ends the restarts in flight of workloads that are gone.
func (r *run) dropGone() {
	for _, f := range slices.Clone(r.status.InFlight) {
		id := targetOf(f.Kind, f.Name)
		if w := r.workloads[id]; w != nil && (f.UID == "" || f.UID == w.UID) {
			continue
		}
		t := target{TargetStatus: &autorebootv1.TargetStatus{Kind: f.Kind, Name: f.Name}}
		for i := range r.status.Targets {
			if old := &r.status.Targets[i]; targetOf(old.Kind, old.Name) == id {
				t.TargetStatus = old
			}
		}
		r.apply(&t, occurrence{event: TargetGone, reason: autorebootv1.ReasonTargetGone})
	}
}

// trackTargets gives each workload its target in the status, with baselines.
func (r *run) trackTargets() {
	known := make(map[autorebootv1.RestartTarget]autorebootv1.TargetStatus, len(r.status.Targets))
	for _, t := range r.status.Targets {
		known[targetOf(t.Kind, t.Name)] = t
	}
	r.status.Targets = make([]autorebootv1.TargetStatus, 0, len(r.workloads))
	r.targets = make([]target, 0, len(r.workloads))
	for i := range r.observed.Workloads[:min(len(r.observed.Workloads), maxTargets)] {
		w := &r.observed.Workloads[i]
		id := targetOf(w.Kind, w.Name)
		if r.workloads[id] != w || (w.Unselected && r.inFlight(id) == nil) {
			continue
		}
		status, ok := known[id]
		fresh := !ok || status.UID != w.UID
		if fresh {
			status = autorebootv1.TargetStatus{Kind: w.Kind, Name: w.Name, LastRestartID: status.LastRestartID}
		}
		status.UID = w.UID
		r.status.Targets = append(r.status.Targets, status)
		r.targets = append(r.targets, target{workload: w, isNew: fresh})
	}
	for i := range r.targets {
		r.targets[i].TargetStatus = &r.status.Targets[i]
		r.updateBaselines(&r.targets[i])
	}
	if len(r.status.Targets) == 0 {
		r.status.Targets = nil
	}
}

// resume ends a halt after a user changed the spec or set the annotation. A time in the future counts once it is
// reached.
func (r *run) resume() {
	h := r.status.Halt
	if h == nil {
		return
	}
	if h.Generation == r.policy.Generation {
		ended, later := halt.IsEnded(h.Time, r.policy.Annotations[autorebootv1.ResumeAnnotation], r.now)
		r.requeueAt(later)
		if !ended {
			return
		}
	}
	for i := range r.targets {
		t := &r.targets[i]
		if r.stateOf(t) != Halted {
			continue
		}
		event := ResumedIdle
		switch {
		case t.retryPending():
			event = ResumedRetry
		case t.Pending != nil:
			event = Resumed
		}
		r.apply(t, occurrence{event: event})
		return
	}
	// The target that halted is gone.
	r.clearHalt()
}

// startPending admits the restarts that wait: first retries, since others may wait for them, then by wave, then the
// one that waits longest.
func (r *run) startPending() {
	queue := make([]*target, 0, len(r.targets))
	for i := range r.targets {
		if t := &r.targets[i]; t.Pending != nil && !t.workload.Unselected {
			queue = append(queue, t)
		}
	}
	slices.SortStableFunc(queue, func(a, b *target) int {
		if first := r.hasPriority(a); first != r.hasPriority(b) {
			if first {
				return -1
			}
			return 1
		}
		return cmp.Or(cmp.Compare(a.workload.Wave, b.workload.Wave), a.Pending.Since.Compare(b.Pending.Since.Time))
	})
	// A target over its limit halts the policy, also for those before it in the queue.
	for _, t := range queue {
		if v := r.admit(t); v.event == OverLimit {
			r.apply(t, v.occurrence)
			break
		}
	}
	for _, t := range queue {
		v := r.admit(t)
		if v.event != Held || v.reason != t.Pending.Reason {
			r.apply(t, v.occurrence)
		}
		if v.event == Held {
			r.requeueAt(v.until)
			r.waitsForOthers = r.waitsForOthers || v.waitsForOthers
			r.longestPending.add(t, v)
		}
	}
}

// dropUnselected drops targets that the spec does not select, and whose restart has ended.
func (r *run) dropUnselected() {
	kept := r.status.Targets[:0]
	for i := range r.targets {
		if t := &r.targets[i]; !t.workload.Unselected || r.inFlight(t.id()) != nil {
			kept = append(kept, *t.TargetStatus)
		}
	}
	r.status.Targets = kept
	if len(kept) == 0 {
		r.status.Targets = nil
	}
	r.targets = nil
	r.trimHistory()
}
