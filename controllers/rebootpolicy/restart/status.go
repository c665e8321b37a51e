// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package restart

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strconv"
	"strings"
	"time"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
)

// reportTriggers sets the status of each trigger.
func (r *run) reportTriggers() {
	known := make(map[string]autorebootv1.TriggerStatus, len(r.status.Triggers))
	for _, s := range r.status.Triggers {
		known[s.Name] = s
	}
	busy, baselines := r.busyTriggers(), map[string][]string{}
	for i := range r.status.Targets {
		for _, b := range r.status.Targets[i].Baselines {
			baselines[b.Trigger] = append(baselines[b.Trigger], b.Source+"\x00"+b.Fingerprint)
		}
	}
	r.status.Triggers = nil
	for i := range r.policy.Spec.Triggers {
		name := r.policy.Spec.Triggers[i].Name
		s := r.triggerStatus(name, known[name], busy[name])
		s.Fingerprint = digest(baselines[name])
		r.status.Triggers = append(r.status.Triggers, s)
	}
}

// busyTriggers returns the triggers of restarts that wait or are in flight.
func (r *run) busyTriggers() map[string]bool {
	busy := map[string]bool{}
	add := func(names []string) {
		for _, name := range names {
			busy[name] = true
		}
	}
	for i := range r.status.InFlight {
		add(r.status.InFlight[i].Triggers)
	}
	for i := range r.status.Targets {
		if p := r.status.Targets[i].Pending; p != nil {
			add(p.Triggers)
		}
	}
	return busy
}

// triggerStatus returns the status of a trigger from the one that is known.
func (r *run) triggerStatus(name string, known autorebootv1.TriggerStatus, busy bool) autorebootv1.TriggerStatus {
	s := known
	s.Name, s.State, s.Reason = name, autorebootv1.TriggerIdle, ""
	if r.fired[name] {
		s.LastFiredTime = r.timestampPtr()
	}
	if r.fired[name] || r.changed[name] {
		s.LastObservedTime = r.timestampPtr()
	}
	switch {
	case busy:
		s.State = autorebootv1.TriggerPending
	case r.unobservable[name] != "":
		s.State, s.Reason = autorebootv1.TriggerUnknown, r.unobservable[name]
	case !r.settlesAt[name].IsZero():
		s.State, s.Reason = autorebootv1.TriggerPending, autorebootv1.ReasonSettling
		if known.Reason != autorebootv1.ReasonSettling {
			r.addMessage(Message{Reason: autorebootv1.EventRestartExpected, Text: "trigger " + name + " asks for restarts at " +
				r.settlesAt[name].UTC().Format(time.RFC3339) + " if the addresses stay as they are"})
		}
	}
	return s
}

// summarize counts the targets, and sets whether the latest restart-now was verified.
func (r *run) summarize() {
	st := &r.status
	asked := false
	st.WatchedTargets = new(int32)
	for i := range r.targets {
		t := &r.targets[i]
		if !t.workload.Unselected {
			*st.WatchedTargets++
		}
		asked = asked || t.Attempts > r.maxAttempts || r.mayOweRestartNow(t) ||
			t.Pending != nil && slices.Contains(t.Pending.Triggers, autorebootv1.RestartNowTrigger)
	}
	for i := range st.InFlight {
		asked = asked || slices.Contains(st.InFlight[i].Triggers, autorebootv1.RestartNowTrigger)
	}
	if r.restartNowDone && !asked {
		r.handleRestartNow()
		st.VerifiedRestartNow = st.HandledRestartNow
	}
}

// ProgressReason returns the reason of the condition Progressing: the earliest phase of the restarts in flight, or why there is none.
func ProgressReason(st *autorebootv1.RebootPolicyStatus, isSuspended bool) string {
	waits := slices.ContainsFunc(st.Targets, func(t autorebootv1.TargetStatus) bool { return t.Pending != nil })
	phase := autorebootv1.RestartPhase("")
	for i := range st.InFlight {
		switch f := &st.InFlight[i]; {
		case IsRefusedPlan(f):
			waits = true
		case phase == "", slices.Index(phases(), f.Phase) < slices.Index(phases(), phase):
			phase = f.Phase
		}
	}
	switch {
	case phase == autorebootv1.PhasePlanned:
		return string(autorebootv1.PhaseRollingOut)
	case phase != "":
		return string(phase)
	case st.Halt != nil:
		return autorebootv1.ReasonHalted
	case isSuspended:
		return autorebootv1.ReasonSuspended
	case waits:
		return autorebootv1.ReasonWaiting
	case hasFailed(st):
		return autorebootv1.ReasonFailed
	}
	return autorebootv1.ReasonIdle
}

// hasFailed reports whether the latest restart failed, and its workload was not deleted since: one of the same name has not
// failed.
func hasFailed(st *autorebootv1.RebootPolicyStatus) bool {
	if len(st.History) == 0 || st.History[0].Result != autorebootv1.ResultFailed {
		return false
	}
	return slices.ContainsFunc(slices.Concat(st.Targets, st.UnselectedTargets), func(t autorebootv1.TargetStatus) bool {
		return targetOf(t.Kind, t.Name) == st.History[0].Target && t.LastRestartTime != nil
	})
}

// IsRefusedPlan reports whether a restart is tried that the API server refused before: until it is allowed, it waits.
func IsRefusedPlan(f *autorebootv1.InFlightRestart) bool {
	return f.Phase == autorebootv1.PhasePlanned && f.Refusal != nil
}

// phases returns the phases in the order of a restart.
func phases() []autorebootv1.RestartPhase {
	return []autorebootv1.RestartPhase{autorebootv1.PhasePlanned, autorebootv1.PhaseRollingOut, autorebootv1.PhaseEvicting,
		autorebootv1.PhaseSoaking}
}

// digest returns the only fingerprint, or a hash of all.
func digest(baselines []string) string {
	slices.Sort(baselines)
	baselines = slices.Compact(baselines)
	if len(baselines) == 0 {
		return ""
	}
	_, only, _ := strings.Cut(baselines[0], "\x00")
	if len(baselines) == 1 {
		return only
	}
	sum := sha256.Sum256([]byte(strings.Join(baselines, "\x00")))
	return "sha256:" + hex.EncodeToString(sum[:])
}

// nextID returns an id one higher than all in the status and on workloads. An id is reused only without history, after
// its workload is gone.
func (r *run) nextID() string {
	uid := strings.ToLower(strings.ReplaceAll(string(r.policy.UID), "-", ""))
	prefix := cmp.Or(uid[:min(len(uid), 8)], "restart") + "-"
	highest := 0
	see := func(id string) {
		digits, ok := strings.CutPrefix(id, prefix)
		if n, err := strconv.Atoi(digits); ok && err == nil && n > highest {
			highest = n
		}
	}
	for i := range r.status.InFlight {
		see(r.status.InFlight[i].ID)
	}
	for i := range r.status.Targets {
		see(r.status.Targets[i].LastRestartID)
	}
	for _, t := range slices.Concat(r.policy.Status.Targets, r.policy.Status.UnselectedTargets) {
		see(t.LastRestartID)
	}
	for i := range r.status.History {
		see(r.status.History[i].ID)
	}
	if r.status.Halt != nil {
		see(r.status.Halt.RecordID)
	}
	for _, w := range r.workloads {
		see(w.RestartID)
	}
	return prefix + strconv.Itoa(highest+1)
}
