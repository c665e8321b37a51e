// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package restart

import (
	"cmp"
	"slices"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/api/common"
	"github.com/fairlead-dev/fairlead/controllers/internal/history"
	"github.com/fairlead-dev/fairlead/controllers/internal/requests"
)

// Decide returns what follows from an observation. p is the stored object; it is not changed. The same arguments give
// the same bytes.
//
// The observation must be complete: the status of a workload that is missing from it is dropped. That of a workload which
// is not selected any more is kept apart while the workload exists.
func Decide(p *autorebootv1.RebootPolicy, o Observation) Decision {
	return newRun(p, o).decide()
}

func (r *run) decide() Decision {
	r.dropGone()
	r.ignoreInitialRequest()
	r.status.ObservedGeneration = r.policy.Generation
	r.trackTargets()
	r.endHalt()
	r.advance()
	r.evaluateTriggers()
	r.startPending()
	r.keepUnselected()
	r.summarize()
	r.reportTriggers()
	d := r.decision()
	d.Actions = r.actions()
	d.PendingMessage = r.pendingMessage
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
	known := make(map[common.WorkloadReference]autorebootv1.TargetStatus, len(r.status.Targets))
	former := slices.Concat(r.status.Targets, r.status.UnselectedTargets)
	for _, t := range former {
		if id := targetOf(t.Kind, t.Name); known[id].UID == "" {
			known[id] = t
		}
	}
	r.status.Targets = make([]autorebootv1.TargetStatus, 0, len(r.workloads))
	r.targets = make([]target, 0, len(r.workloads))
	for i := range r.observed.Workloads[:min(len(r.observed.Workloads), maxTargets)] {
		w := &r.observed.Workloads[i]
		id := targetOf(w.Kind, w.Name)
		status, ok := known[id]
		fresh := !ok || status.UID != w.UID
		back := slices.ContainsFunc(r.status.UnselectedTargets, func(t autorebootv1.TargetStatus) bool { return t.UID == w.UID })
		if r.workloads[id] != w || w.Unselected && r.inFlight(id) == nil || w.Unread != "" && (fresh || back) {
			continue // of its name there is another; it is not selected; or until it is read, it is not there or not selected
		}
		if fresh {
			status = autorebootv1.TargetStatus{Kind: w.Kind, Name: w.Name, LastRestartID: status.LastRestartID}
		}
		status.UID = w.UID
		r.status.Targets = append(r.status.Targets, status)
		r.targets = append(r.targets, target{workload: w, isBack: back, isNew: fresh})
		delete(known, id)
	}
	r.status.UnselectedTargets = slices.DeleteFunc(former, func(t autorebootv1.TargetStatus) bool {
		id := targetOf(t.Kind, t.Name)
		_, left := known[id]
		w := r.workloads[id]
		return !left || !r.observed.Unselected[t.UID] && (w == nil || w.Unread == "" || w.UID != t.UID)
	})
	for i := range r.targets {
		r.targets[i].TargetStatus = &r.status.Targets[i]
		r.updateBaselines(&r.targets[i])
	}
	if len(r.status.Targets) == 0 {
		r.status.Targets = nil
	}
}

// endHalt ends a halt after a user changed the spec or requested it.
func (r *run) endHalt() {
	h := r.status.Halt
	if h == nil || h.Generation == r.policy.Generation &&
		requests.New(r.policy, autorebootv1.RetryAnnotation, r.status.HandledRetry) == "" {
		return
	}
	for i := range r.targets {
		t := &r.targets[i]
		if r.stateOf(t) != Halted {
			continue
		}
		event := HaltEndedIdle
		switch {
		case t.retryPending():
			event = HaltEndedRetry
		case t.Pending != nil:
			event = HaltEnded
		}
		r.apply(t, occurrence{event: event})
		return
	}
	// The target that halted is gone.
	r.clearHalt()
}

// queue returns the restarts that wait: first retries, since others may wait for them, then by wave, then the one that waits
// longest.
func (r *run) queue() []*target {
	queue := make([]*target, 0, len(r.targets))
	for i := range r.targets {
		if t := &r.targets[i]; t.Pending != nil && !t.workload.Unselected {
			queue = append(queue, t)
		}
	}
	slices.SortStableFunc(queue, func(a, b *target) int {
		return cmp.Or(cmp.Compare(orderFirst(r.hasPriority(a)), orderFirst(r.hasPriority(b))),
			cmp.Compare(a.workload.Wave, b.workload.Wave), a.Pending.FirstRequestTime.Compare(b.Pending.FirstRequestTime.Time))
	})
	return queue
}

// startPending admits the restarts that wait, in their order.
func (r *run) startPending() {
	queue := r.queue()
	// What is not needed any more holds no other target.
	queue = slices.DeleteFunc(queue, func(t *target) bool {
		v, superseded := r.checkSuperseded(t)
		if superseded {
			r.apply(t, v.occurrence)
		}
		return superseded
	})
	r.approve(queue)
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
			if r.pendingMessage == "" || t.Pending.FirstRequestTime.Time.Before(r.pendingSince) {
				r.pendingSince, r.pendingMessage = t.Pending.FirstRequestTime.Time, v.message
			}
		}
	}
}

// keepUnselected keeps apart what is known of workloads that exist and that the spec does not select: what each was last
// restarted for, and what it is owed. Where there is no room for all, those that are owed a restart come first.
func (r *run) keepUnselected() {
	apart, room := r.status.UnselectedTargets, maxPolicyBaselines
	var kept []autorebootv1.TargetStatus
	r.targets = slices.DeleteFunc(r.targets, func(t target) bool {
		if t.workload.Unselected && r.inFlight(t.id()) == nil {
			apart = append(apart, *t.TargetStatus)
			return true
		}
		kept = append(kept, *t.TargetStatus)
		room -= len(t.Baselines)
		return false
	})
	for i := range r.targets {
		r.targets[i].TargetStatus = &kept[i]
	}
	slices.SortFunc(apart, func(a, b autorebootv1.TargetStatus) int {
		return cmp.Or(cmp.Compare(orderFirst(a.Pending != nil), orderFirst(b.Pending != nil)), cmp.Compare(a.Kind, b.Kind),
			cmp.Compare(a.Name, b.Name))
	})
	r.status.Targets, r.status.UnselectedTargets = kept, nil
	for i := range apart[:min(len(apart), maxTargets)] {
		t := &apart[i]
		if room -= len(t.Baselines); room < 0 {
			break
		}
		r.status.UnselectedTargets = append(r.status.UnselectedTargets, *t)
		selected := slices.ContainsFunc(r.policy.Status.Targets, func(old autorebootv1.TargetStatus) bool { return old.UID == t.UID })
		if selected && t.Pending != nil {
			id := targetOf(t.Kind, t.Name)
			r.addMessage(Message{Reason: autorebootv1.EventRestartWaiting, Target: id, Text: "the restart of " + targetText(id) + " for " +
				triggersText(t.Pending.Triggers) + " waits: the policy does not select the workload any more"})
		}
	}
	r.status.History = history.Add(r.status.History, r.historyLimit)
}

func orderFirst(first bool) int {
	if first {
		return 0
	}
	return 1
}
