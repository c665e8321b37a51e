// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package restart

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/controllers/internal/workloads"
)

// law holds for every state that a history reaches. It returns how what was decided breaks it.
type law func(m *model, o Observation) error

// laws are those that can be seen at one state. Repeated decisions, forgetful processes, lost changes and waits that never
// end are seen by the model itself, in each of its histories.
func laws() map[string]law {
	return map[string]law{
		"unknown takes nothing away and starts nothing":  unknownStartsNothing,
		"what cannot be read stays as it is":             unreadStays,
		"the order of a list is only an order":           orderIsNothing,
		"a name in the spec is only a name":              nameIsNothing,
		"a refusal stays where it is":                    refusalStays,
		"on and off is nothing":                          onAndOffIsNothing,
		"more caution is never sooner":                   cautionIsNeverSooner,
		"every wait has a name":                          waitsHaveNames,
		"clocks hold nothing and repeat nothing":         clocksHoldNothing,
		"debts are kept or told":                         debtsAreKeptOrTold,
		"the status is memory and no permission":         statusPermitsNothing,
		"content that is corrected is held by no former": correctionIsNotHeld,
	}
}

func TestTheDeciderKeepsItsLawsInEveryHistory(t *testing.T) {
	for name, keeps := range laws() {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(r *rapid.T) { play(r, keeps) })
		})
	}
}

// play plays one history, and looks at the law before each decision.
func play(r *rapid.T, keeps law) {
	m := newModel(rapid.Uint64Range(0, 1<<16).Draw(r, "settings"), map[string]int{})
	m.reconcile("")
	spans := []time.Duration{time.Second, 16 * time.Second, time.Minute, 3 * time.Minute, 11 * time.Minute, 70 * time.Minute}
	steps := rapid.SliceOfN(rapid.Custom(func(r *rapid.T) step {
		return step{
			what: rapid.SampledFrom(append(eventKinds(), correctionKinds()...)).Draw(r, "event"), which: rapid.IntRange(0, 7).Draw(r, "which"),
			span: rapid.SampledFrom(spans).Draw(r, "span"), crash: rapid.SampledFrom(crashes()).Draw(r, "crash"),
		}
	}), 1, 40).Draw(r, "history")
	for _, s := range steps {
		m.event(s)
		o := m.observe(m.policy.Annotations[autorebootv1.RestartNowAnnotation])
		o.Others.Free, o.Others.Share = max(m.free-slotsOf(m.policy.Status.InFlight), 0), m.share
		if err := keeps(m, o); err != nil {
			r.Fatalf("%s: %v", m.now.Format(time.TimeOnly), err)
		}
		if m.reconcile(s.crash); m.failure != nil {
			r.Fatal(m.failure)
		}
	}
	if m.runUntilIdle(); m.failure != nil {
		r.Fatal(m.failure)
	}
}

// planned returns the workloads whose restart a decision begins.
func planned(p *autorebootv1.RebootPolicy, d *Decision) map[types.UID]bool {
	began := map[types.UID]bool{}
	for _, f := range d.Status.InFlight {
		if !slices.ContainsFunc(p.Status.InFlight, func(old autorebootv1.InFlightRestart) bool { return old.ID == f.ID }) {
			began[f.UID] = true
		}
	}
	return began
}

// edited returns a copy of an observation whose workloads may be changed.
func edited(o Observation, edit func(*Workload)) Observation {
	o.Workloads = slices.Clone(o.Workloads)
	for i := range o.Workloads {
		o.Workloads[i].Signals = slices.Clone(o.Workloads[i].Signals)
		edit(&o.Workloads[i])
	}
	return o
}

func unknownStartsNothing(m *model, o Observation) error {
	d := Decide(m.policy, edited(o, func(w *Workload) {
		w.Outdated = nil
		for i := range w.Signals {
			w.Signals[i].Unknown, w.Signals[i].Fingerprint, w.Signals[i].Firing = "Unreadable", "", false
		}
	}))
	began := planned(m.policy, &d)
	for i := range m.policy.Status.Targets {
		before := &target{TargetStatus: &m.policy.Status.Targets[i]}
		at := slices.IndexFunc(d.Status.Targets, func(t autorebootv1.TargetStatus) bool { return t.UID == before.UID })
		if at < 0 {
			continue // the workload is gone
		}
		after := &d.Status.Targets[at]
		then, now := fingerprints(before.TargetStatus), fingerprints(after)
		restarts := slices.ContainsFunc(m.policy.Status.InFlight, func(f autorebootv1.InFlightRestart) bool { return f.UID == before.UID })
		probed := slices.ContainsFunc(m.policy.Spec.Triggers, func(t autorebootv1.Trigger) bool { return t.Type == autorebootv1.TriggerProbe })
		if restarts || !probed { // a restart that ends wants another success
			delete(then, checkSource)
			delete(now, checkSource)
		}
		if !maps.Equal(now, then) {
			return fmt.Errorf("%s: the baselines of what is unknown have moved", before.Name)
		}
		if began[before.UID] && !before.isOwed() && before.LastRestartTime.Equal(after.LastRestartTime) {
			return fmt.Errorf("%s is restarted for what is unknown", before.Name)
		}
	}
	for i := range d.Messages {
		if ended := d.Messages[i].Ended; ended != nil && ended.Result == autorebootv1.ResultSucceeded && !m.evicts && !m.soaks(ended.ID) {
			return fmt.Errorf("%s is verified although its pods may be old", ended.ID)
		}
	}
	for _, trigger := range d.Status.Triggers {
		if slices.ContainsFunc(o.Workloads, func(w Workload) bool { return !w.Unselected }) && trigger.State == autorebootv1.TriggerIdle {
			return fmt.Errorf("trigger %s is unknown, and called idle", trigger.Name)
		}
	}
	return nil
}

// unreadStays makes each workload in turn unreadable, so that only its status is known. Its part of the status stays and
// nothing is done to it. The restarts of others that are in flight continue.
func unreadStays(m *model, o Observation) error {
	base := Decide(m.policy, o)
	if m.policy.Status.Halt != nil && base.Status.Halt == nil {
		return nil // a user ends a halt, which gives back attempts whatever is known
	}
	for i := range 2 * len(o.Workloads) {
		unread := o
		unread.Workloads = slices.Clone(o.Workloads)
		w := &unread.Workloads[i/2]
		if i%2 == 0 { // else it is known, and its sources are not
			*w = Workload{Workload: workloads.Workload{Kind: w.Kind, Name: w.Name, UID: w.UID}, Unselected: w.Unselected}
		}
		w.Unread = "cannot be read"
		d := Decide(m.policy, unread)
		if before, after := m.partOf(&m.policy.Status, w.UID), m.partOf(&d.Status, w.UID); before != after && !w.Unselected {
			return fmt.Errorf("what is known of %s was\n%s\nand is\n%s", w.Name, before, after)
		}
		if slices.ContainsFunc(d.Actions, func(a Action) bool { return a.Workload.UID == w.UID }) {
			return fmt.Errorf("something is done to %s", w.Name)
		}
		for _, f := range m.policy.Status.InFlight {
			if f.UID != w.UID && isInFlight(&base.Status, f.ID) != isInFlight(&d.Status, f.ID) {
				return fmt.Errorf("without %s the restart of %s is\n%s\nand with it\n%s", w.Name, f.Name, m.partOf(&d.Status, f.UID), m.partOf(&base.Status, f.UID))
			}
		}
	}
	return nil
}

func isInFlight(st *autorebootv1.RebootPolicyStatus, id string) bool {
	return slices.ContainsFunc(st.InFlight, func(f autorebootv1.InFlightRestart) bool { return f.ID == id })
}

// partOf returns what a status has of a workload, except for why its restart waits.
func (m *model) partOf(st *autorebootv1.RebootPolicyStatus, uid types.UID) string {
	var part autorebootv1.RebootPolicyStatus
	for _, f := range st.InFlight {
		if f.UID == uid {
			part.InFlight = append(part.InFlight, f)
		}
	}
	for _, t := range slices.Concat(st.Targets, st.UnselectedTargets) {
		if t.UID == uid {
			if t.Pending != nil {
				t.Pending = t.Pending.DeepCopy()
				t.Pending.Reason = ""
			}
			part.Targets = append(part.Targets, t)
		}
	}
	return m.bytes(part)
}

// fingerprints returns the baselines of a target by their sources: a trigger that was renamed has the same.
func fingerprints(t *autorebootv1.TargetStatus) map[string]string {
	all := map[string]string{}
	for _, b := range t.Baselines {
		all[b.Source] = b.Fingerprint
	}
	return all
}

// soaks reports whether the pods of a restart were seen to be new already.
func (m *model) soaks(id string) bool {
	return slices.ContainsFunc(m.policy.Status.InFlight, func(f autorebootv1.InFlightRestart) bool {
		return f.ID == id && f.Phase == autorebootv1.PhaseSoaking
	})
}

func orderIsNothing(m *model, o Observation) error {
	d := Decide(m.policy, o)
	again := Decide(m.policy, edited(o, func(w *Workload) {
		slices.Reverse(w.Signals)
		w.Pods = slices.Clone(w.Pods)
	}))
	if a, b := m.bytes(d.Status), m.bytes(again.Status); a != b {
		return fmt.Errorf("signals in another order:\n%s\n%s", a, b)
	}
	renumbered := m.policy.DeepCopy()
	slices.Reverse(renumbered.Spec.Triggers)
	if again = Decide(renumbered, o); !maps.Equal(planned(m.policy, &d), planned(m.policy, &again)) || len(d.Actions) != len(again.Actions) {
		return fmt.Errorf("triggers in another order: %+v, not %+v", again.Actions, d.Actions)
	}
	return nil
}

// nameIsNothing renames each trigger in turn.
func nameIsNothing(m *model, o Observation) error {
	d := Decide(m.policy, o)
	for i := range m.policy.Spec.Triggers {
		name := &m.policy.Spec.Triggers[i].Name
		renamed := m.policy.DeepCopy()
		renamed.Spec.Triggers[i].Name = "renamed"
		again := Decide(renamed, edited(o, func(w *Workload) {
			for j := range w.Signals {
				if w.Signals[j].Trigger == *name {
					w.Signals[j].Trigger = "renamed"
				}
			}
		}))
		if !maps.Equal(planned(m.policy, &d), planned(m.policy, &again)) || len(d.Actions) != len(again.Actions) || !d.RequeueAt.Equal(again.RequeueAt) {
			return fmt.Errorf("%s under another name: %+v at %s, not %+v at %s", *name, again.Actions, again.RequeueAt, d.Actions, d.RequeueAt)
		}
	}
	return nil
}

// refusalStays refuses the actions of one restart. All others are as if they had been done.
func refusalStays(m *model, o Observation) error {
	d := Decide(m.policy, o)
	p := m.policy.DeepCopy()
	p.Status = d.Status
	for _, refused := range d.Actions {
		var done, some []Result
		for _, a := range d.Actions {
			result := Result{Action: a, Outcome: Done, Generation: a.Workload.Generation + 1}
			done = append(done, result)
			if a.ID == refused.ID {
				result = Result{Action: a, Outcome: Refused, Message: "denied"}
			}
			some = append(some, result)
		}
		all, but := Record(p, done, m.now, nil), Record(p, some, m.now, nil)
		for i := range all.Status.Targets {
			if a, b := &all.Status.Targets[i], &but.Status.Targets[i]; a.UID != refused.Workload.UID && m.bytes(a) != m.bytes(b) {
				return fmt.Errorf("the refusal of %s changes %s", refused.ID, a.Name)
			} else if a.UID == refused.Workload.UID && (b.Attempts != a.Attempts || m.bytes(a.Baselines) != m.bytes(b.Baselines)) {
				return fmt.Errorf("the refusal of %s uses up an attempt, or moves a baseline", refused.ID)
			}
		}
		if len(but.Status.History) != len(d.Status.History) || m.bytes(but.Status.Halt) != m.bytes(d.Status.Halt) {
			return fmt.Errorf("the refusal of %s ends a restart or halts the policy", refused.ID)
		}
		for _, f := range all.Status.InFlight {
			if f.ID != refused.ID && !slices.ContainsFunc(but.Status.InFlight, func(g autorebootv1.InFlightRestart) bool { return m.bytes(f) == m.bytes(g) }) {
				return fmt.Errorf("the refusal of %s changes restart %s", refused.ID, f.ID)
			}
		}
		if !owes(&but.Status, refused) {
			return fmt.Errorf("the refusal of %s is not told, or its restart is forgotten", refused.ID)
		}
	}
	return nil
}

// owes reports whether a status has a refused restart with its reason, in flight or pending.
func owes(st *autorebootv1.RebootPolicyStatus, a Action) bool {
	return slices.ContainsFunc(st.InFlight, func(f autorebootv1.InFlightRestart) bool { return f.ID == a.ID && f.Refusal != nil }) ||
		slices.ContainsFunc(st.Targets, func(t autorebootv1.TargetStatus) bool {
			return t.UID == a.Workload.UID && t.Pending != nil && t.Pending.Refusal != nil
		})
}

// onAndOffIsNothing decides once with each hold, and then without: that is as if the hold had never been.
func onAndOffIsNothing(m *model, o Observation) error {
	direct := Decide(m.policy, o)
	for name, hold := range holds() {
		if (name == "suspend" || name == "dry run") && m.isDue(o) {
			continue // a time of a schedule between the two is not owed
		}
		held := m.policy.DeepCopy()
		in := o
		hold(held, &in)
		between := Decide(held, in)
		p := m.policy.DeepCopy()
		p.Status = between.Status
		free := o
		if left := slotsOf(p.Status.InFlight); left < o.Others.Share { // the slots of those that have ended or soak
			free.Others.Free += max(slotsOf(m.policy.Status.InFlight)-left, 0)
		}
		after := Decide(p, free)
		if a, b := m.withoutIDs(&direct.Status), m.withoutIDs(&after.Status); a != b {
			return fmt.Errorf("%s, on and off:\n%s\n%s", name, a, b)
		}
	}
	return nil
}

// isDue reports whether a schedule asks that did not before.
func (m *model) isDue(o Observation) bool {
	r := newRun(m.policy, o)
	r.dropGone()
	r.trackTargets()
	return slices.ContainsFunc(r.targets, func(t target) bool {
		return slices.ContainsFunc(t.signals, func(s *Signal) bool {
			return s.Trigger == m.names[2] && !t.isPendingFor(s.Trigger) && t.baseline(s).Fingerprint != s.Fingerprint
		})
	})
}

// withoutIDs leaves out the ids of restarts: that of a workload that is gone may be given again.
func (m *model) withoutIDs(st *autorebootv1.RebootPolicyStatus) string {
	return regexp.MustCompile("0123abcd-[0-9]+").ReplaceAllString(m.bytes(st), "id")
}

// holds returns the conditions that keep every restart from starting.
func holds() map[string]func(*autorebootv1.RebootPolicy, *Observation) {
	on := true
	return map[string]func(*autorebootv1.RebootPolicy, *Observation){
		"suspend": func(p *autorebootv1.RebootPolicy, _ *Observation) { p.Spec.Suspend = &on },
		"dry run": func(p *autorebootv1.RebootPolicy, _ *Observation) { p.Spec.DryRun = &on },
		"gate":    func(_ *autorebootv1.RebootPolicy, o *Observation) { o.Gates = append(slices.Clone(o.Gates), "closed") },
		"faults": func(_ *autorebootv1.RebootPolicy, o *Observation) {
			o.Workloads = slices.Clone(o.Workloads)
			for i := range o.Workloads {
				o.Workloads[i].Fault = "injected"
			}
		},
		"blackout": func(_ *autorebootv1.RebootPolicy, o *Observation) { o.Calendar.Blackout = "release" },
		"no slot":  func(_ *autorebootv1.RebootPolicy, o *Observation) { o.Others.Free, o.Others.Share = 0, 0 },
	}
}

func cautionIsNeverSooner(m *model, o Observation) error {
	d := Decide(m.policy, o)
	free := planned(m.policy, &d)
	for name, hold := range holds() {
		held := m.policy.DeepCopy()
		in := o
		hold(held, &in)
		more := Decide(held, in)
		for uid := range planned(m.policy, &more) {
			if !free[uid] {
				return fmt.Errorf("%s: %s restarts, and would not without it", name, uid)
			}
			if name != "no slot" {
				return fmt.Errorf("%s: %s restarts all the same", name, uid)
			}
		}
	}
	return nil
}

// waitsHaveNames sees that what waits says for what, and that what is in flight is looked at again.
func waitsHaveNames(m *model, o Observation) error {
	d := Decide(m.policy, o)
	for _, t := range d.Status.Targets {
		if t.Pending != nil && (t.Pending.Reason == "" || d.PendingMessage == "") {
			return fmt.Errorf("%s waits for nothing that is named: %+v", t.Name, t.Pending)
		}
	}
	if len(d.Status.InFlight) > 0 && d.RequeueAt.IsZero() {
		return fmt.Errorf("nothing ends %+v", d.Status.InFlight)
	}
	return nil
}

// statusPermitsNothing: whatever a status has in flight, only workloads that the spec selects are restarted, and only their own
// pods are evicted.
func statusPermitsNothing(m *model, o Observation) error {
	at := stampOf(m.now)
	for _, phase := range phases() {
		forged := m.policy.DeepCopy()
		forged.Status.InFlight = nil
		outside := Workload{Unselected: true}
		outside.Kind, outside.Name, outside.UID = "Deployment", "coredns", "outside"
		seen := o
		seen.Workloads = append(slices.Clone(o.Workloads), outside)
		own := map[types.UID]map[types.UID]bool{}
		for i := range o.Workloads {
			w := &o.Workloads[i]
			own[w.UID] = map[types.UID]bool{}
			for j := range w.Pods {
				own[w.UID][w.Pods[j].UID] = true
			}
		}
		for i := range seen.Workloads {
			w := &seen.Workloads[i]
			for _, uid := range []types.UID{w.UID, "other"} {
				forged.Status.InFlight = append(forged.Status.InFlight, autorebootv1.InFlightRestart{ID: "forged-" + w.Name, Kind: w.Kind, Name: w.Name, UID: uid,
					Phase: phase, FirstRequestTime: at, StartTime: at, PhaseTime: at, RestartInternals: autorebootv1.RestartInternals{PodCutoffTime: at}})
			}
		}
		d := Decide(forged, seen)
		for _, a := range d.Actions {
			if pods, is := own[a.Workload.UID]; !is || a.Workload.Unselected || a.Pod != nil && !pods[a.Pod.UID] {
				return fmt.Errorf("%s: %s %s of pod %v, as the status says", phase, a.Verb, a.Workload.Name, a.Pod)
			}
		}
	}
	return nil
}
