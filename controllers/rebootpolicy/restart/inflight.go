// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package restart

import (
	"slices"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
)

// How long to wait before something is tried again that nothing else would bring back.
const (
	repeatAfter    = 5 * time.Second
	blockedAfter   = 10 * time.Second
	forbiddenAfter = time.Minute
)

// unavailableFor is how long pods may be unavailable during a soak that the workload cannot do without:
// a readiness probe may fail once, and what replaces a pod takes a moment to be seen.
const unavailableFor = 10 * time.Second

// stepsAtOnce bounds how many phases a restart can go through in one decision.
const stepsAtOnce = 4

// advance takes each restart in flight as far as it has come.
func (r *run) advance() {
	for i := range r.targets {
		t := &r.targets[i]
		for range stepsAtOnce {
			f := r.inFlight(t.id())
			if f == nil {
				break
			}
			o, ok := r.nextEvent(t, f)
			if !ok {
				r.requeueInFlight(f)
				break
			}
			r.apply(t, o)
		}
	}
}

// nextEvent is what has become of a restart, if anything. What is good comes before what is too late:
// while there was no reconcile, time has passed but the workload has not waited.
func (r *run) nextEvent(t *target, f *autorebootv1.InFlightRestart) (occurrence, bool) {
	w := t.workload
	started := timeOf(f.StartedTime)
	// The annotation is not missed before it was seen to be there, nor in a view that is older.
	if f.Phase != autorebootv1.PhasePlanned && f.Generation > 0 && w.Generation >= f.Generation && w.RestartID != f.ID {
		return r.failure(t, autorebootv1.ReasonTargetReverted), true
	}
	if f.Phase != autorebootv1.PhasePlanned && w.containerRestarts(started) > r.maxContainerRestarts {
		return r.failure(t, autorebootv1.ReasonContainerRestarts), true
	}
	switch f.Phase {
	case autorebootv1.PhasePlanned:
		switch {
		case w.Unselected && w.RestartID != f.ID:
			return occurrence{event: TargetGone, reason: autorebootv1.ReasonTargetGone}, true // nothing was done yet
		case w.RestartID == f.ID:
			return occurrence{event: Annotated, generation: w.Generation}, true
		case r.evict && w.allPodsNew(started):
			return occurrence{event: EvictionStarted}, true
		}
	case autorebootv1.PhaseRollingOut:
		// Every pod is of the revision that carries the id. When each was made is not asked: that is
		// told by the clock of another machine.
		if w.Complete && w.Generation >= f.Generation {
			return occurrence{event: PodsReplaced}, true
		}
	case autorebootv1.PhaseEvicting:
		if w.Available && w.allPodsNewAndReady(started) {
			return occurrence{event: PodsReplaced}, true
		}
		if f.BlockedTime != nil && !r.now.Before(f.BlockedTime.Add(r.evictTimeout)) {
			o := r.failure(t, autorebootv1.ReasonEvictionBlocked)
			if f.BlockedBy != "" {
				o.message = "by the PodDisruptionBudget " + f.BlockedBy
			}
			return o, true
		}
	case autorebootv1.PhaseSoaking:
		return r.nextSoakEvent(t, f)
	}
	if !r.now.Before(started.Add(r.timeout)) {
		if w.Unselected {
			return occurrence{event: TargetGone, reason: autorebootv1.ReasonTargetGone}, true
		}
		return r.failure(t, autorebootv1.ReasonTimedOut), true
	}
	return occurrence{}, false
}

// nextSoakEvent is what has become of a restart that is watched. Its pods may be unavailable for a moment. Those
// that the workload could do without in a rollout, and those whose successors have yet to start, may be
// until verification.timeout; without them all at the end, nothing is verified.
func (r *run) nextSoakEvent(t *target, f *autorebootv1.InFlightRestart) (occurrence, bool) {
	w, ends := t.workload, timeOf(f.PhaseTime).Add(r.soakTime)
	short := w.podsMissing(f)
	if short <= 0 {
		f.UnavailableTime = nil
		return occurrence{event: Verified, message: w.keptPodsText()}, !r.now.Before(ends)
	}
	if f.UnavailableTime == nil {
		f.UnavailableTime = r.timestampPtr()
	}
	until := f.UnavailableTime.Add(unavailableFor)
	if short <= min(w.MaxUnavailable, w.podsWanted(f)-1) || short <= w.podsStarting(f) {
		until = latest(until, latest(ends, timeOf(f.StartedTime).Add(r.timeout)))
	}
	r.requeueAt(until)
	return r.failure(t, autorebootv1.ReasonUnavailable), !r.now.Before(until)
}

// podsWanted is how many pods must be available: those that are desired now, and were when the soak began.
func (w *Workload) podsWanted(f *autorebootv1.InFlightRestart) int32 {
	if f.Desired == nil {
		return w.Desired
	}
	return min(w.Desired, *f.Desired)
}

// podsMissing is how many pods too few are available.
func (w *Workload) podsMissing(f *autorebootv1.InFlightRestart) int32 {
	if w.Available || w.Generation < f.Generation {
		return 0 // or a view from before the restart
	}
	available := w.AvailablePods
	if f.Generation == 0 { // after evictions nothing tells how old the workload's own status is: its pods must agree
		ready := int32(0)
		for i := range w.Pods {
			if pod := &w.Pods[i]; pod.Ready && !pod.Terminating && !pod.Created.Before(timeOf(f.StartedTime)) {
				ready++
			}
		}
		available = max(available, ready)
	}
	return w.podsWanted(f) - available
}

// podsStarting is how many pods were made after the soak began and are not ready.
func (w *Workload) podsStarting(f *autorebootv1.InFlightRestart) int32 {
	n := int32(0)
	for i := range w.Pods {
		if pod := &w.Pods[i]; !pod.Ready && !pod.Terminating && pod.Created.After(timeOf(f.PhaseTime)) {
			n++
		}
	}
	return n
}

// keptPodsText says which pods a restart has left as they were; empty where none.
func (w *Workload) keptPodsText() string {
	if len(w.Kept) == 0 || w.RestartID == "" {
		return ""
	}
	names := make([]string, 0, maxNamed)
	for i := range w.Kept[:min(len(w.Kept), maxNamed)] {
		names = append(names, w.Kept[i].Name)
	}
	words := "the partition keeps these pods as they were: " + strings.Join(names, ", ")
	if more := len(w.Kept) - maxNamed; more > 0 {
		words += " and " + strconv.Itoa(more) + " more"
	}
	return words
}

func latest(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// failure says what follows a restart that failed.
func (r *run) failure(t *target, reason string) occurrence {
	o := occurrence{event: Failed, reason: reason}
	exhausted := t.Attempts+1 > r.maxAttempts
	// Neither goes away by itself, and to go on would be to fight another writer.
	hopeless := reason == autorebootv1.ReasonTargetReverted || reason == autorebootv1.ReasonEvictionMisconfigured
	switch {
	case hopeless && r.status.Halt == nil && reason == autorebootv1.ReasonTargetReverted:
		o.event = Reverted
	case (hopeless || (exhausted && r.haltOnFailure)) && r.status.Halt == nil:
		o.event = FailedAndHalted
	case exhausted && !r.haltOnFailure && !hopeless:
		o.event = FailedAndGivenUp
	}
	return o
}

// requeueInFlight sets when a restart in flight may change by the mere passing of time.
func (r *run) requeueInFlight(f *autorebootv1.InFlightRestart) {
	if f.Phase == autorebootv1.PhaseSoaking {
		r.requeueAt(timeOf(f.PhaseTime).Add(r.soakTime))
		return
	}
	r.requeueAt(timeOf(f.StartedTime).Add(r.timeout))
	if f.Phase == autorebootv1.PhasePlanned {
		r.requeueAt(r.now.Add(repeatAfter))
	}
	if f.BlockedTime != nil {
		r.requeueAt(r.now.Add(blockedAfter))
		r.requeueAt(f.BlockedTime.Add(r.evictTimeout))
	}
}

// actions are what is due for the restarts in flight. Each may be repeated: the annotation has the
// same values, and pods that are new already are not evicted.
func (r *run) actions() []Action {
	var actions []Action
	for i := range r.status.InFlight {
		f := &r.status.InFlight[i]
		w := r.workloads[targetOf(f.Kind, f.Name)]
		if w == nil || w.Unselected {
			continue // whatever the status says of it, the policy does not name it
		}
		action := Action{Verb: Annotate, ID: f.ID, Workload: w, Started: timeOf(f.StartedTime)}
		switch {
		case f.Phase == autorebootv1.PhaseEvicting, f.Phase == autorebootv1.PhasePlanned && r.evict:
			action.Verb = Evict
			for _, pod := range w.podsToEvict(action.Started, scaledValue(r.maxUnavailable, int(w.Desired))) {
				action.Pod = pod
				actions = append(actions, action)
			}
		case f.Phase == autorebootv1.PhasePlanned:
			actions = append(actions, action)
		}
	}
	return actions
}

// podsToEvict are the pods to evict now, those first that serve no traffic. No more places may be empty
// because of the restart than allowed; a place is filled by an old pod or by a new one that is ready.
func (w *Workload) podsToEvict(started time.Time, allowed int) []*Pod {
	var old []*Pod
	filled := 0
	for i := range w.Pods {
		pod := &w.Pods[i]
		switch {
		case pod.Terminating:
		case pod.Created.Before(started):
			old = append(old, pod)
			filled++
		case pod.Ready:
			filled++
		}
	}
	slices.SortStableFunc(old, func(a, b *Pod) int {
		switch {
		case a.Ready != b.Ready && a.Ready:
			return 1
		case a.Ready != b.Ready:
			return -1
		default:
			return a.Created.Compare(b.Created)
		}
	})
	empty := max(int(w.Desired)-filled, 0)
	return old[:min(max(allowed-empty, 0), len(old))]
}

// allPodsNew says that no pod is left from before.
func (w *Workload) allPodsNew(started time.Time) bool {
	for i := range w.Pods {
		if pod := &w.Pods[i]; !pod.Terminating && pod.Created.Before(started) {
			return false
		}
	}
	return true
}

// allPodsNewAndReady says that no pod is left from before, and that as many as are desired are ready. The workload
// and its pods are seen by two caches, of which either may be behind.
func (w *Workload) allPodsNewAndReady(started time.Time) bool {
	ready := 0
	for i := range w.Pods {
		if pod := &w.Pods[i]; pod.Ready && !pod.Terminating {
			ready++
		}
	}
	return ready >= int(w.Desired) && w.allPodsNew(started)
}

// containerRestarts of containers in pods that were made since.
func (w *Workload) containerRestarts(started time.Time) int64 {
	var n int64
	for i := range w.Pods {
		if pod := &w.Pods[i]; !pod.Created.Before(started) {
			n += int64(pod.Restarts)
		}
	}
	return n
}

// newestPod is when the latest pod was made; zero where there is none.
func (w *Workload) newestPod() time.Time {
	var at time.Time
	for i := range w.Pods {
		if pod := &w.Pods[i]; !pod.Terminating && pod.Created.After(at) {
			at = pod.Created
		}
	}
	return at
}

func timeOf(t *metav1.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return t.Time
}
