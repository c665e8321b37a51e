// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package restart

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/resourceversion"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/api/common"
	"github.com/fairlead-dev/fairlead/internal/events"
	rules "github.com/fairlead-dev/fairlead/internal/rules/rebootpolicy"
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
				if t.isCorrected() {
					v.message += "; it is " + r.correctedText(t)
				}
			}
			return v
		}
	}
	return admission{occurrence: occurrence{event: Start}}
}

// checks returns the checks that a restart must pass, in the order in which they run.
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
	first := &t.Pending.FirstRequestTime
	if t.isCorrected() {
		first = t.Pending.CorrectedTime
	} else if t.isOwed() {
		return admission{}, false
	}
	if t.requested.now || scheduled { // a schedule does not change again in a moment
		return admission{}, false
	}
	until := t.Pending.LastRequestTime.Add(r.quiet)
	if latest := first.Add(r.maxDelay); latest.Before(until) {
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

func (r *run) checkBackoff(t *target) (admission, bool) {
	if t.isCorrected() && t.requested.content {
		return admission{}, false
	}
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
		if (other.retryPending() || other.isCorrected() || retrying) && !other.workload.Unselected && other.id() != t.id() {
			return held(autorebootv1.ReasonBackoff, "the restart of "+targetText(other.id())+" failed and is to be tried again first"), true
		}
	}
	return admission{}, false
}

// checkCooldown holds what repeats: what has no content, and content that comes back to what it was.
func (r *run) checkCooldown(t *target) (admission, bool) {
	if t.isOwed() || t.requested.now || t.LastRestartTime == nil {
		return admission{}, false
	}
	var wait time.Duration
	if !t.requested.content || t.PreviousContent != "" && t.PreviousContent == r.contentOf(t, (*target).currentFingerprint) {
		wait = r.cooldown
	}
	until := t.LastRestartTime.Add(wait)
	return heldUntil(autorebootv1.ReasonCooldown, "for the cooldown", until), until.After(r.now)
}

func (r *run) checkLimitReached(t *target) (admission, bool) {
	n := 0
	for _, at := range t.RecentRestartTimes {
		if r.countsForLimit(at) {
			n++
		}
	}
	writers := ""
	if changed := ChangedText(t.requested.dated); changed != "" {
		writers = "; the next one is for " + changed
	}
	return admission{occurrence: occurrence{event: OverLimit,
		message: targetText(t.id()) + " has had " + strconv.Itoa(n) + " restarts within " + string(common.DurationOf(r.within)) + writers +
			": the policy stalls until its spec changes or you retry"}}, n >= r.maxRestarts
}

// ChangedText names the sources of signals, and who wrote each last: what changes without end is to be found by that.
func ChangedText(changed []*Signal) string {
	var names []string
	for _, s := range changed {
		name := s.Source
		if s.Writer != "" {
			name += fmt.Sprintf(", which field manager %q wrote last", s.Writer)
		}
		if s.Source != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return events.Summarize(names)
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
	case c.Window, slices.Contains(t.Pending.Triggers, autorebootv1.RestartNowTrigger), r.isUrgent(t.Pending.Triggers):
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
	if r.isUrgent(t.Pending.Triggers) {
		return admission{}, false
	}
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
	// One that has made its workload available again is observed beside the next.
	own := 0
	for i := range r.status.InFlight {
		if !IsSoaking(&r.status.InFlight[i]) {
			own++
		}
	}
	limit, free := rules.Scaled(r.maxTargets, selected), others.Free
	if r.slots() < others.Share {
		free += r.released
	}
	urgent := r.isUrgent(t.Pending.Triggers) && limit > 0
	switch {
	case own >= limit && !urgent:
		return held(autorebootv1.ReasonConcurrencyLimit, "for another workload to be available again"), true
	case r.evict && rules.Scaled(r.maxUnavailable, int(t.workload.Desired)) == 0:
		return held(autorebootv1.ReasonConcurrencyLimit, "strategy.evict.maxUnavailable lets no pod be evicted"), true
	case own+others.Group >= limit && !urgent:
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
