// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package restart

import (
	"cmp"
	"slices"
	"time"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	rules "github.com/fairlead-dev/fairlead/internal/rules/rebootpolicy"
	"github.com/fairlead-dev/fairlead/internal/text"
)

const (
	// standstillAfter is how long after a pod became ready a rollout makes progress still.
	standstillAfter = time.Minute
	// progressDeadline is how long a rollout may make no pod that brings newer ones: the default of a Deployment.
	progressDeadline = 10 * time.Minute
)

// checkRolloutInProgress holds a restart during a rollout that another user or controller started, while that makes progress or
// brings pods which are newer than what changed. One that stands still holds nothing: the restart may be its remedy. Nor is a
// workload rolling out that is updated but not available.
func (r *run) checkRolloutInProgress(t *target) (admission, bool) {
	w := t.workload
	if v, ok := r.checkNewestPod(w); ok {
		return v, true
	}
	awaited := w.RestartAt.After(r.now) // a restart of a Rollout would be taken for that one
	isRemedy := w.Updated && (t.requested.level || t.retryPending())
	// Our own rollout that never ended does not hold its retry.
	ours := w.RestartID == t.LastRestartID && w.RestartID != "" && t.retryPending() && !w.newestPod().After(t.owedSince())
	switch {
	case w.Complete, t.requested.now && !awaited, isRemedy && w.Restarting == "":
		return admission{}, false
	case r.replacesNoPod(w):
		return held(w.Shortage.Reason, "the workload has fewer pods than it should: "+text.Truncate(w.Shortage.Message, maxRecord)), true
	case (w.Stalled || ours) && !awaited:
		return admission{}, false
	case w.Outdated == nil && w.Restarting == "":
		return held(autorebootv1.ReasonRolloutInProgress, "its controller has not seen its latest spec"), true
	}
	what := cmp.Or(w.Restarting, "a rollout is in progress")
	if finalizer := w.finalizerText(); finalizer != "" {
		what += ": " + finalizer
	}
	until := r.pastOr(w.lastReady(), t).Add(standstillAfter)
	if w.Restarting != "" {
		until = latest(until, w.RestartAt.Add(standstillAfter))
	}
	if ends := r.pastOr(w.standstill(), t).Add(max(r.timeout, progressDeadline)); t.isBroughtNewer() && ends.After(until) {
		what, until = what+", whose pods are newer than what changed", ends
	}
	return heldUntil(autorebootv1.ReasonRolloutInProgress, what+"; it holds, unless another pod becomes ready,", until), until.After(r.now)
}

// replacesNoPod reports whether a restart of a workload that has too few pods could replace none: all that have a node are ready,
// and no more of them may be missing than are.
func (r *run) replacesNoPod(w *Workload) bool {
	most := int(w.MaxUnavailable)
	if r.evict {
		most = rules.Scaled(r.maxUnavailable, int(w.Desired))
	}
	broken := w.count(func(p *Pod) bool { return !p.Ready && !p.Terminating && p.Node != "" })
	return w.Shortage.Reason != "" && broken == 0 && int(w.AvailablePods) <= int(w.Desired)-most
}

// isBroughtNewer reports whether a rollout has made pods that are newer than all that the restart is for, or will make the first.
func (t *target) isBroughtNewer() bool {
	q, w, owed := &t.requested, t.workload, t.isOwed()
	if w.Updated || q.level || q.now || q.undated || len(q.dated) == 0 && !owed {
		return false
	}
	newer := func(p Pod) bool {
		older := func(s *Signal) bool { return !p.createdAfter(s) }
		return !p.Terminating && !slices.ContainsFunc(q.dated, older) && (!owed || p.Created.After(t.owedSince()))
	}
	return len(w.Pods) == 0 || slices.ContainsFunc(w.Pods, newer)
}

// pastOr returns a time, or when the restart was asked for where it is of a clock that is ahead.
func (r *run) pastOr(at time.Time, t *target) time.Time {
	if at.IsZero() && len(t.workload.Pods) == 0 || r.isFuture(at) {
		return t.Pending.FirstRequestTime.Time
	}
	return at
}

// checkNewestPod holds evictions while there is no pod, and while the newest one was created within this second: its age
// does not distinguish it from its successor.
func (r *run) checkNewestPod(w *Workload) (admission, bool) {
	newest := w.newestPod()
	switch {
	case !r.evict:
		return admission{}, false
	case newest.IsZero():
		return held(autorebootv1.ReasonRolloutInProgress, "there is no pod to evict"), true
	case newest.Before(r.timestamp.Time):
		return admission{}, false
	}
	message := "a pod was just made"
	if r.isFuture(newest) {
		message = "the newest pod was made at " + newest.UTC().Format(time.RFC3339) + ", which is in the future: its successor could not be told from it"
	}
	return heldUntil(autorebootv1.ReasonRolloutInProgress, message, latest(newest, r.timestamp.Time).Add(time.Second)), true
}
