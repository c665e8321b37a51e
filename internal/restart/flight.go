// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package restart

import (
	"slices"
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

// stepsAtOnce bounds how many phases a restart can go through in one decision.
const stepsAtOnce = 4

// advance takes each restart in flight as far as it has come.
func (r *run) advance() {
	for i := range r.targets {
		t := &r.targets[i]
		for range stepsAtOnce {
			f := r.flight(t.id())
			if f == nil {
				break
			}
			o, ok := r.next(t, f)
			if !ok {
				r.expect(f)
				break
			}
			r.apply(t, o)
		}
	}
}

// next is what has become of a restart, if anything. What is good comes before what is too late:
// while nobody looked, time has passed but the workload has not waited.
func (r *run) next(t *target, f *autorebootv1.InFlightRestart) (occurrence, bool) {
	w := t.workload
	started := timeOf(f.StartedTime)
	// The annotation is not missed before it was seen to be there, nor in a view that is older.
	if f.Phase != autorebootv1.PhasePlanned && f.Generation > 0 && w.Generation >= f.Generation && w.RestartID != f.ID {
		return r.failure(t, autorebootv1.ReasonTargetReverted), true
	}
	if f.Phase != autorebootv1.PhasePlanned && w.restarts(started) > r.maxContainerRestarts {
		return r.failure(t, autorebootv1.ReasonContainerRestarts), true
	}
	switch f.Phase {
	case autorebootv1.PhasePlanned:
		switch {
		case w.RestartID == f.ID:
			return occurrence{event: Annotated, generation: w.Generation}, true
		case r.evict && w.renewed(started):
			return occurrence{event: EvictionBegun}, true
		}
	case autorebootv1.PhaseRollingOut:
		// Every pod is of the revision that carries the id. When each was made is not asked: that is
		// told by the clock of another machine.
		if w.Complete && w.Generation >= f.Generation {
			return occurrence{event: Renewed}, true
		}
	case autorebootv1.PhaseEvicting:
		if w.Available && w.staffed(started) {
			return occurrence{event: Renewed}, true
		}
		if f.BlockedTime != nil && !r.now.Before(f.BlockedTime.Add(r.evictTimeout)) {
			return r.failure(t, autorebootv1.ReasonEvictionBlocked), true
		}
	case autorebootv1.PhaseSoaking:
		switch {
		// After evictions nothing tells how old the workload's own status is: its pods must agree.
		case !w.Available && (f.Generation == 0 && !w.staffed(started) || f.Generation > 0 && w.Generation >= f.Generation):
			return r.failure(t, autorebootv1.ReasonUnavailable), true
		case !r.now.Before(timeOf(f.PhaseTime).Add(r.soakTime)):
			return occurrence{event: Verified}, true
		}
		return occurrence{}, false
	}
	if !r.now.Before(started.Add(r.timeout)) {
		return r.failure(t, autorebootv1.ReasonTimedOut), true
	}
	return occurrence{}, false
}

// failure says what follows a restart that failed.
func (r *run) failure(t *target, reason string) occurrence {
	o := occurrence{event: Failed, reason: reason}
	exhausted := t.Attempts+1 > r.maxAttempts
	// Neither goes away by itself, and to go on would be to fight somebody.
	hopeless := reason == autorebootv1.ReasonTargetReverted || reason == autorebootv1.ReasonEvictionMisconfigured
	switch {
	case hopeless && r.status.Halt == nil && reason == autorebootv1.ReasonTargetReverted:
		o.event = Reverted
	case (hopeless || (exhausted && r.haltOnFailure)) && r.status.Halt == nil:
		o.event = FailedForGood
	case exhausted && !r.haltOnFailure && !hopeless:
		o.event = Abandoned
	}
	return o
}

// expect sets when a restart in flight may change by the mere passing of time.
func (r *run) expect(f *autorebootv1.InFlightRestart) {
	if f.Phase == autorebootv1.PhaseSoaking {
		r.look(timeOf(f.PhaseTime).Add(r.soakTime))
		return
	}
	r.look(timeOf(f.StartedTime).Add(r.timeout))
	if f.Phase == autorebootv1.PhasePlanned {
		r.look(r.now.Add(repeatAfter))
	}
	if f.BlockedTime != nil {
		r.look(r.now.Add(blockedAfter))
		r.look(f.BlockedTime.Add(r.evictTimeout))
	}
}

// actions are what is due for the restarts in flight. Each may be repeated: the annotation has the
// same values, and pods that are new already are not evicted.
func (r *run) actions() []Action {
	var actions []Action
	for i := range r.status.InFlight {
		f := &r.status.InFlight[i]
		w := r.workloads[nameOf(f.Kind, f.Name)]
		if w == nil {
			continue
		}
		action := Action{Verb: Annotate, ID: f.ID, Workload: w, Started: timeOf(f.StartedTime)}
		switch {
		case f.Phase == autorebootv1.PhaseEvicting, f.Phase == autorebootv1.PhasePlanned && r.evict:
			action.Verb = Evict
			for _, pod := range w.victims(action.Started, share(r.maxUnavailable, int(w.Desired))) {
				action.Pod = pod
				actions = append(actions, action)
			}
		case f.Phase == autorebootv1.PhasePlanned:
			actions = append(actions, action)
		}
	}
	return actions
}

// victims are the pods to evict now, those first that serve nobody. No more places may be empty
// because of the restart than allowed; a place is filled by an old pod or by a new one that is ready.
func (w *Workload) victims(started time.Time, allowed int) []*Pod {
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

// renewed says that no pod is left from before.
func (w *Workload) renewed(started time.Time) bool {
	for i := range w.Pods {
		if pod := &w.Pods[i]; !pod.Terminating && pod.Created.Before(started) {
			return false
		}
	}
	return true
}

// staffed says that no pod is left from before, and that as many as are desired are ready. The workload
// and its pods are seen by two caches, of which either may be behind.
func (w *Workload) staffed(started time.Time) bool {
	ready := 0
	for i := range w.Pods {
		if pod := &w.Pods[i]; pod.Ready && !pod.Terminating {
			ready++
		}
	}
	return ready >= int(w.Desired) && w.renewed(started)
}

// restarts of containers in pods that were made since.
func (w *Workload) restarts(started time.Time) int64 {
	var n int64
	for i := range w.Pods {
		if pod := &w.Pods[i]; !pod.Created.Before(started) {
			n += int64(pod.Restarts)
		}
	}
	return n
}

// youngest is when the latest pod was made; zero where there is none.
func (w *Workload) youngest() time.Time {
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
