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
)

// verdict is what follows for a restart that waits.
type verdict struct {
	occurrence
	// until is when time alone may change it; zero for never.
	until time.Time
	// others says that it waits for restarts or disruptions outside of the policy.
	others bool
}

func held(reason, words string) verdict {
	return verdict{occurrence: occurrence{event: Held, reason: reason, message: words}}
}

func heldUntil(reason, words string, until time.Time) verdict {
	v := held(reason, words)
	if !until.IsZero() {
		v.message += " until " + until.UTC().Format(time.RFC3339)
		v.until = until
	}
	return v
}

// judge says why a restart may not start yet: the first of the checks that holds it. Whether it is
// still needed comes before everything else, so that nothing holds a restart that is not; then comes
// what only a human can change.
func (r *run) judge(t *target) verdict {
	checks := []func(*target) (verdict, bool){
		r.superseded, r.stopped, r.obstructed, r.settling, r.progressing, r.backing, r.cooling,
		r.limited, r.outside, r.gated, r.bereft, r.below, r.crowded, r.rehearsed,
	}
	for _, check := range checks {
		if v, ok := check(t); ok {
			if v.event == Held {
				v.message = "the restart of " + titled(t.id()) + " for " + named(t.Pending.Triggers) + " waits: " + v.message
			}
			return v
		}
	}
	return verdict{occurrence: occurrence{event: Start}}
}

func (r *run) stopped(*target) (verdict, bool) {
	switch {
	case r.suspend:
		return held(autorebootv1.ReasonSuspended, "the policy is suspended"), true
	case r.status.Halt != nil:
		return held(autorebootv1.ReasonHalted, "the policy was halted by "+titled(r.status.Halt.Target)+": "+r.status.Halt.Reason), true
	}
	return verdict{}, false
}

func (r *run) obstructed(t *target) (verdict, bool) {
	if t.workload.Obstacle == "" {
		return verdict{}, false
	}
	return held(clip(t.workload.Obstacle, maxFingerprint), "the workload is "+t.workload.Obstacle), true
}

func (r *run) settling(t *target) (verdict, bool) {
	if t.asks.now || t.owed() {
		return verdict{}, false
	}
	until := t.Pending.Changed.Add(r.quiet)
	if latest := t.Pending.Since.Add(r.maxDelay); latest.Before(until) {
		until = latest
	}
	return heldUntil(autorebootv1.ReasonDebouncing, "for further changes", until), until.After(r.now)
}

// superseded drops a restart for changes that every pod was made after. A restart that failed is
// dropped only once every pod was made after its failure, and the workload is whole again.
func (r *run) superseded(t *target) (verdict, bool) {
	q, w := &t.asks, t.workload
	owed := t.owed()
	if q.level || q.now || q.undated || !owed && !q.lasting || owed && !w.Complete || r.stateOf(t) == Halted {
		return verdict{}, false
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
		if slices.ContainsFunc(q.dated, func(s *Signal) bool { return !pod.since(s) }) || owed && !pod.Created.After(t.LastRestartTime.Time) {
			return verdict{}, false
		}
		pods++
	}
	return verdict{occurrence: occurrence{event: Superseded, reason: autorebootv1.ReasonNewerPods}}, pods > 0
}

// since says whether a pod was made after a source was written. Times of the API are whole seconds; of
// what happened within one, the versions tell. They are asked no further: the API server may keep
// kinds in several stores, whose versions mean nothing to each other.
func (p *Pod) since(s *Signal) bool {
	written := s.Written.UTC().Truncate(time.Second)
	if !p.Created.Equal(written) || s.Version == "" {
		return p.Created.After(written)
	}
	if p.Version != "" {
		order, err := resourceversion.CompareResourceVersion(p.Version, s.Version)
		return err == nil && order > 0
	}
	order, err := resourceversion.CompareResourceVersion(p.Absent, s.Version)
	return err == nil && order >= 0
}

// progressing holds while a rollout that another actor began is under way. A workload that is broken,
// rather than on its way, is not held: it may be what the restart is to heal.
func (r *run) progressing(t *target) (verdict, bool) {
	w := t.workload
	youngest := w.youngest()
	if r.evict && youngest.IsZero() {
		return held(autorebootv1.ReasonRolloutInProgress, "there is no pod to evict"), true
	}
	// A pod that was made within this second could not be told from its successor by its age.
	if r.evict && !youngest.Before(r.stamp.Time) {
		return heldUntil(autorebootv1.ReasonRolloutInProgress, "a pod was just made", r.stamp.Add(time.Second)), true
	}
	if w.Complete || (w.Updated && (t.asks.level || t.asks.now || t.owed())) {
		return verdict{}, false
	}
	quiet := youngest.Add(r.timeout)
	// Our own rollout that never ended is no reason to leave it so.
	ours := t.owed() && w.RestartID == t.LastRestartID && w.RestartID != ""
	if ours && !youngest.After(t.LastRestartTime.Time) {
		return verdict{}, false
	}
	v := held(autorebootv1.ReasonRolloutInProgress, "a rollout is in progress")
	if w.Updated || ours || (r.evict && w.Available) {
		v.until = quiet
		return v, quiet.After(r.now)
	}
	return v, true
}

func (r *run) backing(t *target) (verdict, bool) {
	if t.owed() {
		until := t.LastRestartTime.Add(r.wait(t.Attempts))
		return heldUntil(autorebootv1.ReasonBackoff, "its last restart failed; next attempt not", until), until.After(r.now) && !t.asks.now
	}
	if !r.haltOnFailure {
		return verdict{}, false
	}
	for i := range r.targets {
		other := &r.targets[i]
		// A retry under way has not shown yet that the next one will fare better.
		retrying := other.Attempts > 0 && r.flight(other.id()) != nil
		if (other.owed() || retrying) && !other.workload.Unselected && other.id() != t.id() {
			return held(autorebootv1.ReasonBackoff, "the restart of "+titled(other.id())+" failed and is to be tried again first"), true
		}
	}
	return verdict{}, false
}

func (r *run) cooling(t *target) (verdict, bool) {
	if t.owed() || t.asks.now || t.LastRestartTime == nil {
		return verdict{}, false
	}
	until := t.LastRestartTime.Add(r.cooldown)
	return heldUntil(autorebootv1.ReasonCooldown, "for the cooldown", until), until.After(r.now)
}

func (r *run) limited(t *target) (verdict, bool) {
	n := 0
	for _, at := range t.RecentRestarts {
		if r.recent(at) {
			n++
		}
	}
	return verdict{occurrence: occurrence{event: OverLimit, message: titled(t.id()) + " has had " + strconv.Itoa(n) + " restarts within " + r.within.String() +
		": the policy stalls until its spec changes or it is told to resume"}}, n >= r.maxRestarts
}

func (r *run) outside(t *target) (verdict, bool) {
	c := &r.seen.Calendar
	switch {
	case c.Cluster != "":
		v := held(autorebootv1.ReasonBlackout, c.Cluster)
		v.until = c.BlackoutEnds
		return v, true
	case c.Broken:
		return held(autorebootv1.ReasonOutsideWindow, "a window or blackout cannot be read"), true
	case c.Blackout:
		v := heldUntil(autorebootv1.ReasonBlackout, "a blackout lasts", c.BlackoutEnds)
		if c.NextOpen.IsZero() {
			v.message += "; no window is ever open outside of the blackouts"
		}
		return v, true
	case c.Window, slices.Contains(t.Pending.Triggers, autorebootv1.RestartNowTrigger):
		return verdict{}, false
	}
	urgent := t.asks.urgent
	if !urgent.IsZero() && !urgent.After(r.now) {
		return verdict{}, false
	}
	words := "no window is open"
	if c.NextOpen.IsZero() {
		words = "no window is ever open outside of the blackouts"
	}
	v := heldUntil(autorebootv1.ReasonOutsideWindow, words, c.NextOpen)
	if !urgent.IsZero() && (v.until.IsZero() || urgent.Before(v.until)) {
		v.until = urgent
	}
	return v, true
}

func (r *run) gated(t *target) (verdict, bool) {
	if len(r.seen.Gates) > 0 {
		return held(autorebootv1.ReasonGateClosed, strings.Join(r.seen.Gates, "; ")), true
	}
	if !r.seen.Suspect {
		return verdict{}, false
	}
	for _, name := range t.Pending.Triggers {
		if r.types[name] != autorebootv1.TriggerProbe {
			return verdict{}, false
		}
	}
	return held(autorebootv1.ReasonProbeSelfSuspect, "so many checks fail that the fault is probably the operator's own"), true
}

// bereft holds a restart whose pods could not start: a rollout would at best come to a stop, and at
// worst take away pods that run.
func (r *run) bereft(t *target) (verdict, bool) {
	missing := t.workload.Missing
	if len(missing) == 0 {
		return verdict{}, false
	}
	words := strings.Join(missing[:min(len(missing), maxNamed)], ", ")
	if more := len(missing) - maxNamed; more > 0 {
		words += " and " + strconv.Itoa(more) + " more"
	}
	return held(autorebootv1.ReasonSourceMissing, "new pods cannot start without "+words), true
}

// below holds a wave while one below it restarts, or waits to, for a trigger that both share. One
// that cannot be restarted as it is, such as scaled to zero, would hold the others for ever: it does
// not count. Nor does any that waits count for one that others wait for.
func (r *run) below(t *target) (verdict, bool) {
	for i := range r.targets {
		other := &r.targets[i]
		if other.workload.Wave >= t.workload.Wave {
			continue
		}
		waits := other.Pending != nil && !r.first(t) && other.workload.Obstacle == "" && len(other.workload.Missing) == 0 && !other.workload.Unselected &&
			slices.ContainsFunc(other.Pending.Triggers, func(name string) bool { return slices.Contains(t.Pending.Triggers, name) })
		if waits || r.flight(other.id()) != nil {
			return held(autorebootv1.ReasonLowerWave, "for "+titled(other.id())+" of a lower wave"), true
		}
	}
	return verdict{}, false
}

func (r *run) crowded(t *target) (verdict, bool) {
	others := &r.seen.Others
	if others.Busy[t.UID] {
		v := held(autorebootv1.ReasonChaosActive, "the workload is disrupted by another policy or a ChaosPod")
		v.others = true
		return v, true
	}
	selected := 0
	for i := range r.targets {
		if !r.targets[i].workload.Unselected {
			selected++
		}
	}
	most, own := share(r.maxTargets, selected), len(r.status.InFlight)
	switch {
	case own >= most:
		return held(autorebootv1.ReasonConcurrencyLimit, "for another restart to end"), true
	case r.evict && share(r.maxUnavailable, int(t.workload.Desired)) == 0:
		return held(autorebootv1.ReasonConcurrencyLimit, "strategy.evict.maxUnavailable lets no pod be evicted"), true
	case own+others.Group >= most, r.started >= others.Free:
		v := held(autorebootv1.ReasonConcurrencyLimit, "for restarts of other policies to end")
		v.others = true
		return v, true
	}
	return verdict{}, false
}

func (r *run) rehearsed(*target) (verdict, bool) {
	return held(autorebootv1.ReasonDryRun, "it would start now if dryRun were false"), r.dryRun
}
