// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package restart

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/resourceversion"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/api/common"
	"github.com/fairlead-dev/fairlead/internal/text"
)

// admission is the result of admit: an event, and for Held when that may change.
type admission struct {
	occurrence
	// until is when the result may change by time alone; zero for never.
	until time.Time
	// waitsForOthers means that it waits for other objects to disrupt less.
	waitsForOthers bool
}

func held(reason, message string) admission {
	return admission{occurrence: occurrence{event: Held, reason: reason, message: message}}
}

func heldUntil(reason, message string, until time.Time) admission {
	v := held(reason, message)
	if !until.IsZero() {
		v.message += " until " + until.UTC().Format(time.RFC3339)
		v.until = until
	}
	return v
}

// admit returns Start, or the result of the first check that applies, for a restart that is still needed. Each check bears the
// name of the reason that it yields. What only a user can change comes first.
func (r *run) admit(t *target) admission {
	for _, check := range r.checks() {
		if v, ok := check(t); ok {
			if v.event == Held {
				v.message = "the restart of " + targetText(t.id()) + " for " + triggersText(t.Pending.Triggers) + " waits: " + v.message
			}
			return v
		}
	}
	return admission{occurrence: occurrence{event: Start}}
}

// checks are what a restart has to pass, in their order.
func (r *run) checks() []func(*target) (admission, bool) {
	return []func(*target) (admission, bool){
		r.checkSuspendedOrHalted, r.checkUnread, r.checkObstacle, r.checkSourceUnknown, r.checkRefused, r.checkDebouncing,
		r.checkApprovalRequired, r.checkRolloutInProgress, r.checkBackoff, r.checkCooldown,
		r.checkLimitReached, r.checkOutsideWindow, r.checkGateClosed, r.checkProbesInconclusive, r.checkSourceMissing, r.checkLowerWave,
		r.checkUnchecked, r.checkChaosActive, r.checkConcurrencyLimit, r.checkDryRun,
	}
}

func (r *run) checkSuspendedOrHalted(*target) (admission, bool) {
	switch {
	case r.suspend:
		return held(autorebootv1.ReasonSuspended, "the policy is suspended"), true
	case r.status.Halt != nil:
		return held(autorebootv1.ReasonHalted, "the policy was halted by "+targetText(r.status.Halt.Target)+": "+r.status.Halt.Reason), true
	}
	return admission{}, false
}

func (r *run) checkObstacle(t *target) (admission, bool) {
	if t.workload.Obstacle == "" {
		return admission{}, false
	}
	return held(text.Truncate(t.workload.Obstacle, maxFingerprint), t.workload.obstacleText()), true
}

// checkSourceUnknown holds a restart none of whose triggers can be observed now: it may not be needed any more.
func (r *run) checkSourceUnknown(t *target) (admission, bool) {
	name := t.Pending.Triggers[0]
	return held(autorebootv1.ReasonSourceUnknown,
		"what trigger "+name+" watches is not known: "+r.unobservable[name]), !t.isOwed() && len(t.requested.triggers) == 0
}

// checkRefused holds a restart that the API server refused, until it is tried again.
func (r *run) checkRefused(t *target) (admission, bool) {
	refusal := t.Pending.Refusal
	until := r.refusedUntil(refusal)
	if until.IsZero() || t.requested.now {
		return admission{}, false
	}
	v := held(refusal.Reason, refusal.Message)
	v.until = until
	return v, true
}

func (r *run) checkDebouncing(t *target) (admission, bool) {
	scheduled := !slices.ContainsFunc(t.Pending.Triggers, func(name string) bool { return r.types[name] != autorebootv1.TriggerSchedule })
	if t.requested.now || t.isOwed() || scheduled { // a schedule does not change again in a moment
		return admission{}, false
	}
	until := t.Pending.LastRequestTime.Add(r.quiet)
	if latest := t.Pending.FirstRequestTime.Add(r.maxDelay); latest.Before(until) {
		until = latest
	}
	return heldUntil(autorebootv1.ReasonDebouncing, "for further changes", until), until.After(r.now)
}

// checkSuperseded drops a restart for changes that every pod is newer than. One that failed or was refused is dropped
// only once every pod is newer than that, and the workload is complete.
func (r *run) checkSuperseded(t *target) (admission, bool) {
	q, w := &t.requested, t.workload
	owed, since := t.isOwed(), t.owedSince()
	if w.Unread != "" || q.level || q.now || q.undated || !owed && !q.edge || owed && !w.Complete || r.stateOf(t) == Halted {
		return admission{}, false
	}
	all := w.Pods
	if w.Obstacle == autorebootv1.ReasonPartitioned {
		all = w.Kept
	}
	pods := 0
	for i := range all {
		pod := &all[i]
		if pod.Terminating {
			continue
		}
		if slices.ContainsFunc(q.dated, func(s *Signal) bool { return !pod.createdAfter(s) }) || owed && !pod.Created.After(since) {
			return admission{}, false
		}
		pods++
	}
	return admission{occurrence: occurrence{event: Superseded, reason: autorebootv1.ReasonNewerPods}}, pods > 0
}

// createdAfter reports whether a pod was created after a source was written. Times of the API are whole seconds;
// within the same second, resourceVersions are compared. They decide nothing else, since the API server may keep
// kinds in stores whose versions are unrelated.
func (p *Pod) createdAfter(s *Signal) bool {
	written := s.Written.UTC().Truncate(time.Second)
	if !p.Created.Equal(written) || s.Version == "" {
		return p.Created.After(written)
	}
	if p.Version != "" {
		order, err := resourceversion.CompareResourceVersion(p.Version, s.Version)
		return err == nil && order > 0
	}
	order, err := resourceversion.CompareResourceVersion(p.AbsentAt, s.Version)
	return err == nil && order >= 0
}

// progressDeadline is how long a rollout may make no pod before it has come to a standstill: the default of a Deployment.
const progressDeadline = 10 * time.Minute

// checkRolloutInProgress holds a restart during a rollout that another user or controller started. A workload that
// is updated but not available is broken, and not held: the restart may repair it.
func (r *run) checkRolloutInProgress(t *target) (admission, bool) {
	w := t.workload
	if v, ok := r.checkNewestPod(w); ok {
		return v, true
	}
	if w.Restarting != "" { // by another user or controller, or by a restart that has failed
		v := held(autorebootv1.ReasonRolloutInProgress, w.Restarting)
		v.until = latest(w.RestartAt, w.newestPod()).Add(max(r.timeout, progressDeadline))
		return v, v.until.After(r.now)
	}
	if w.Complete || (w.Updated && (t.requested.level || t.requested.now || t.retryPending())) {
		return admission{}, false
	}
	if s := &w.Shortage; s.Reason != "" {
		return held(s.Reason, "the workload has fewer pods than it should: "+text.Truncate(s.Message, maxRecord)), !t.requested.now
	}
	// Our own rollout that never ended does not hold its retry, and no other that has come to a standstill holds anything:
	// what the restart is for may be the remedy.
	ours := w.RestartID == t.LastRestartID && w.RestartID != "" && t.LastRestartTime != nil
	if w.Stalled || ours && t.retryPending() && !w.newestPod().After(t.owedSince()) {
		return admission{}, false
	}
	message := "a rollout is in progress"
	if text := w.finalizerText(); text != "" {
		message += ": " + text
	}
	v := held(autorebootv1.ReasonRolloutInProgress, message)
	if w.isChanging() {
		return v, true
	}
	v.until = r.rolloutEnds(t, ours)
	return v, v.until.After(r.now)
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

// rolloutEnds returns when a rollout that makes no progress holds nothing any more. ours means that a restart began it.
func (r *run) rolloutEnds(t *target, ours bool) time.Time {
	w := t.workload
	ends := w.standstill()
	if r.isFuture(ends) { // by a clock that is ahead
		ends = t.Pending.FirstRequestTime.Time
	}
	if w.Updated || ours || (r.evict && w.Available) {
		ends = ends.Add(r.timeout)
	} else {
		ends = ends.Add(max(r.timeout, progressDeadline))
	}
	if ours {
		ends = latest(ends, t.LastRestartTime.Add(r.timeout))
	}
	return ends
}

func (r *run) checkBackoff(t *target) (admission, bool) {
	if t.retryPending() {
		until := t.LastRestartTime.Add(r.backoffAfter(t.Attempts))
		return heldUntil(autorebootv1.ReasonBackoff, "its last restart failed; next attempt not", until), until.After(r.now) && !t.requested.now
	}
	if !r.haltOnFailure {
		return admission{}, false
	}
	for i := range r.targets {
		other := &r.targets[i]
		// A retry in flight has not shown yet that another restart will succeed.
		f := r.inFlight(other.id())
		retrying := f != nil && isRetry(other, f)
		if (other.retryPending() || retrying) && !other.workload.Unselected && other.id() != t.id() {
			return held(autorebootv1.ReasonBackoff, "the restart of "+targetText(other.id())+" failed and is to be tried again first"), true
		}
	}
	return admission{}, false
}

func (r *run) checkCooldown(t *target) (admission, bool) {
	if t.isOwed() || t.requested.now || t.LastRestartTime == nil {
		return admission{}, false
	}
	until := t.LastRestartTime.Add(r.cooldown)
	return heldUntil(autorebootv1.ReasonCooldown, "for the cooldown", until), until.After(r.now)
}

func (r *run) checkLimitReached(t *target) (admission, bool) {
	n := 0
	for _, at := range t.RecentRestartTimes {
		if r.countsForLimit(at) {
			n++
		}
	}
	return admission{occurrence: occurrence{event: OverLimit,
		message: targetText(t.id()) + " has had " + strconv.Itoa(n) + " restarts within " + string(common.DurationOf(r.within)) +
			": the policy stalls until its spec changes or it is resumed"}}, n >= r.maxRestarts
}

func (r *run) checkOutsideWindow(t *target) (admission, bool) {
	c := &r.observed.Calendar
	switch {
	case c.Cluster != "":
		v := held(autorebootv1.ReasonBlackout, c.Cluster)
		v.until = c.BlackoutEnds
		return v, true
	case c.Broken:
		return held(autorebootv1.ReasonOutsideWindow, "a window or blackout cannot be read"), true
	case c.Blackout != "":
		v := heldUntil(autorebootv1.ReasonBlackout, "blackout "+c.Blackout+" lasts", c.BlackoutEnds)
		if c.NextOpen.IsZero() {
			v.message += "; no window is ever open outside of the blackouts"
		}
		return v, true
	case c.Window, slices.Contains(t.Pending.Triggers, autorebootv1.RestartNowTrigger):
		return admission{}, false
	}
	urgent := t.requested.urgent
	if !urgent.IsZero() && !urgent.After(r.now) {
		return admission{}, false
	}
	v := held(autorebootv1.ReasonOutsideWindow, "no window is ever open outside of the blackouts")
	if !c.NextOpen.IsZero() {
		v = heldUntil(autorebootv1.ReasonOutsideWindow, "no window is open", c.NextOpen)
		v.message += ", when " + c.NextWindow + " opens"
	}
	if !urgent.IsZero() && (v.until.IsZero() || urgent.Before(v.until)) {
		v.until = urgent
	}
	return v, true
}

func (r *run) checkGateClosed(t *target) (admission, bool) {
	closed := r.observed.Gates
	if fault := t.workload.Fault; fault != "" && !slices.Contains(closed, fault) {
		closed = append(slices.Clip(closed), fault)
	}
	return held(autorebootv1.ReasonGateClosed, strings.Join(closed, "; ")), len(closed) > 0
}

// checkProbesInconclusive holds a restart that only Probe triggers ask for.
func (r *run) checkProbesInconclusive(t *target) (admission, bool) {
	if !r.observed.Suspect {
		return admission{}, false
	}
	for _, name := range t.Pending.Triggers {
		if r.types[name] != autorebootv1.TriggerProbe {
			return admission{}, false
		}
	}
	return held(autorebootv1.ReasonProbesInconclusive, "so many checks fail that the fault is probably the operator's own"), true
}

// checkSourceMissing holds a restart whose new pods could not start: the rollout would get stuck with fewer pods.
func (r *run) checkSourceMissing(t *target) (admission, bool) {
	return held(autorebootv1.ReasonSourceMissing, "new pods cannot start without "+firstNames(t.workload.Missing)), len(t.workload.Missing) > 0
}

// checkLowerWave holds a target while one of a lower wave restarts, or waits to for a trigger that both share. A
// target that cannot be restarted as it is, such as one scaled to zero or refused, does not count: it would hold the
// others forever. Targets that wait do not hold one that has priority.
func (r *run) checkLowerWave(t *target) (admission, bool) {
	for i := range r.targets {
		other := &r.targets[i]
		if other.workload.Wave >= t.workload.Wave {
			continue
		}
		waits := other.Pending != nil && !r.hasPriority(t) && other.isRestartable() && !other.workload.Unselected &&
			slices.ContainsFunc(other.Pending.Triggers, func(name string) bool { return slices.Contains(t.Pending.Triggers, name) })
		if waits || r.inFlight(other.id()) != nil {
			return held(autorebootv1.ReasonLowerWave, "for "+targetText(other.id())+" of a lower wave"), true
		}
	}
	return admission{}, false
}

// isRestartable reports whether nothing about the workload itself keeps its restart from being begun, as far as is known.
func (t *target) isRestartable() bool {
	return t.workload.Obstacle == "" && len(t.workload.Missing) == 0 && (t.Pending == nil || t.Pending.Refusal == nil)
}

func (r *run) checkChaosActive(t *target) (admission, bool) {
	v := held(autorebootv1.ReasonChaosActive, "the workload is disrupted by another policy or a ChaosPod")
	v.waitsForOthers = true
	return v, r.observed.Others.Disrupted[t.UID]
}

func (r *run) checkConcurrencyLimit(t *target) (admission, bool) {
	others, selected := &r.observed.Others, 0
	for i := range r.targets {
		if !r.targets[i].workload.Unselected {
			selected++
		}
	}
	limit, own, free := scaledValue(r.maxTargets, selected), len(r.status.InFlight), others.Free
	if r.slots() < others.Share {
		free += r.released
	}
	switch {
	case own >= limit:
		return held(autorebootv1.ReasonConcurrencyLimit, "for another restart to end"), true
	case r.evict && scaledValue(r.maxUnavailable, int(t.workload.Desired)) == 0:
		return held(autorebootv1.ReasonConcurrencyLimit, "strategy.evict.maxUnavailable lets no pod be evicted"), true
	case own+others.Group >= limit:
		return heldByOthers("for restarts of other policies of its group to end"), true
	case r.started >= free && others.Full != "":
		return heldByOthers(others.Full), true
	case r.started >= free:
		return heldByOthers("for restarts of other policies to end"), true
	}
	return admission{}, false
}

func heldByOthers(message string) admission {
	v := held(autorebootv1.ReasonConcurrencyLimit, message)
	v.waitsForOthers = true
	return v
}

func (r *run) checkDryRun(*target) (admission, bool) {
	return held(autorebootv1.ReasonDryRun, "it would start now if dryRun were false"), r.dryRun
}
