// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"pgregory.net/rapid"

	chaosv1 "github.com/fairlead-dev/fairlead/api/chaos/v1"
	"github.com/fairlead-dev/fairlead/api/common"
)

// law holds for every state that a history reaches. It returns how what is decided there breaks it.
type law func(m *model, o Observation) error

func laws() map[string]law {
	return map[string]law{
		"unknown takes nothing away and starts nothing": unknownStartsNothing,
		"a name is only a name":                         namesAreOnlyNames,
		"forgetting is harmless":                        forgettingIsHarmless,
		"twice is once":                                 twiceIsOnce,
		"a refusal stays where it is":                   refusalStays,
		"on and off is nothing":                         onAndOffIsNothing,
		"more caution is never sooner":                  cautionIsNeverSooner,
		"no clock holds longer than it says":            clocksHoldNothing,
		"every wait has an end or a name":               waitsHaveEndsOrNames,
		"debts are kept or told":                        debtsAreKeptOrTold,
	}
}

func TestTheDeciderKeepsItsLawsInEveryHistory(t *testing.T) {
	for name, keeps := range laws() {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(r *rapid.T) { play(r, keeps) })
		})
	}
}

// play plays one history, and looks at the law now and then. The status passes through JSON after each.
func play(r *rapid.T, keeps law) {
	m := newModel(rapid.Uint64Range(0, 1<<16).Draw(r, "settings"), map[string]int{})
	m.reconcile(step{})
	steps := rapid.SliceOfN(rapid.Custom(func(r *rapid.T) step {
		return step{
			what: rapid.SampledFrom(eventKinds()).Draw(r, "event"), which: rapid.IntRange(0, 7).Draw(r, "which"),
			span: rapid.SampledFrom(spans()).Draw(r, "span"), crash: rapid.SampledFrom(crashes()).Draw(r, "crash"),
		}
	}), 1, 40).Draw(r, "history")
	for i, s := range steps {
		m.event(s)
		if i%4 == 3 || i == len(steps)-1 { // a law costs as much as many steps
			if err := keeps(m, m.observe(m.views())); err != nil {
				r.Fatalf("%s: %v", m.now.Format(time.TimeOnly), err)
			}
		}
		if m.reconcile(s); m.failure != nil {
			r.Fatal(m.failure)
		}
	}
	if m.runUntilIdle(); m.failure != nil {
		r.Fatal(m.failure)
	}
}

// fork returns a copy of a world, whose future is its own.
func (m *model) fork() *model {
	other := *m
	other.stored, other.owners = m.stored.DeepCopy(), nil
	copied := func(o *simOwner) *simOwner {
		c := *o
		c.pods = slices.Clone(o.pods)
		return &c
	}
	for _, o := range m.owners {
		other.owners = append(other.owners, copied(o))
	}
	if m.canary != nil {
		other.canary = copied(m.canary)
	}
	other.busy, other.named, other.fell, other.deaths = maps.Clone(m.busy), maps.Clone(m.named), maps.Clone(m.fell), maps.Clone(m.deaths)
	other.seen = map[string]int{}
	return &other
}

// settle goes on without any event, until no run is under way. All can be read meanwhile.
func (m *model) settle(within time.Duration) error {
	m.blind = false
	for _, o := range m.all() {
		o.unknown = false
	}
	for began := m.now; m.now.Sub(began) < within; {
		again := m.reconcile(step{})
		switch {
		case m.failure != nil:
			return m.failure
		case m.stored.Status.CurrentRun == nil:
			return nil
		case again.IsZero():
			return fmt.Errorf("nothing ends run %s: %s", m.stored.Status.CurrentRun.ID, m.bytes(m.stored.Status.CurrentRun))
		}
		m.advance(min(again.Sub(m.clock()), max(m.now.Sub(began)/4, 3*time.Second))) // what is watched changes in between
	}
	return fmt.Errorf("run %s lasts after %s: %s", m.stored.Status.CurrentRun.ID, within, m.bytes(m.stored.Status.CurrentRun))
}

// kills are the pods that the actions of a decision kill.
func kills(d *Decision) map[types.UID]bool {
	all := map[types.UID]bool{}
	for _, a := range d.Actions {
		if a.RunID != "" {
			all[a.UID] = true
		}
	}
	return all
}

// begins returns the run that a decision begins; nil for none.
func begins(p *chaosv1.ChaosPod, d *Decision) *chaosv1.CurrentRun {
	if c := d.Status.CurrentRun; c != nil && (p.Status.CurrentRun == nil || p.Status.CurrentRun.ID != c.ID) {
		return c
	}
	return nil
}

func (d *Decision) says(kind string) *metav1.Condition {
	return meta.FindStatusCondition(d.Status.Conditions, kind)
}

// told reports whether a decision has a message about a run that has ended.
func (d *Decision) told() bool {
	return slices.ContainsFunc(d.Messages, func(m Message) bool { return m.Ended != nil })
}

// withPods returns a copy of an observation whose owners and pods may be changed.
func withPods(o Observation, edit func(*Owner)) Observation {
	o.Owners = slices.Clone(o.Owners)
	for i := range o.Owners {
		o.Owners[i].Pods = slices.Clone(o.Owners[i].Pods)
		edit(&o.Owners[i])
	}
	if o.Canary == nil {
		return o
	}
	alone, canary := Owner{Unknown: o.Canary.Unknown}, *o.Canary
	if canary.Pod != nil {
		alone.Pods = []Pod{*canary.Pod}
	}
	if edit(&alone); len(alone.Pods) > 0 {
		canary.Pod = &alone.Pods[0]
	} else {
		canary = Canary{Unknown: alone.Unknown}
	}
	o.Canary = &canary
	return o
}

func eachPod(edit func(*Pod)) func(*Owner) {
	return func(owner *Owner) {
		for i := range owner.Pods {
			edit(&owner.Pods[i])
		}
	}
}

// unknownStartsNothing replaces each fact by one that could not be read.
func unknownStartsNothing(m *model, o Observation) error {
	p := m.stored
	all := func(types.UID) bool { return true }
	blind := withPods(o, func(owner *Owner) { owner.Unknown, owner.Pods = "it was not read", nil })
	if err := blindStartsNothing(p, o, blind, all); err != nil {
		return fmt.Errorf("all owners: %w", err)
	}
	for i := range o.Owners {
		uid := o.Owners[i].UID
		one := withPods(o, func(owner *Owner) {
			if owner.UID == uid {
				owner.Unknown, owner.Pods = "it was not read", nil
			}
		})
		if err := blindStartsNothing(p, o, one, func(owner types.UID) bool { return owner == uid }); err != nil {
			return fmt.Errorf("owner %s: %w", uid, err)
		}
	}
	nothing := o
	nothing.Unknown, nothing.Owners = "nothing was read", nil
	if o.Canary != nil {
		nothing.Canary = &Canary{Unknown: "it was not read"}
	}
	if err := blindStartsNothing(p, o, nothing, all); err != nil {
		return fmt.Errorf("the target: %w", err)
	}
	for name, hide := range map[string]func(*Pod){
		"whether pods are protected": func(pod *Pod) { pod.Protected = Unknown },
		"whether nodes are cordoned": func(pod *Pod) { pod.Cordoned = Unknown },
		"whether a budget covers":    func(pod *Pod) { pod.Covered = Unknown },
	} {
		if name == "whether a budget covers" && !requiresBudget(p) {
			continue
		}
		d := Decide(p, withPods(o, eachPod(hide)))
		if c := begins(p, &d); c != nil || len(kills(&d)) > 0 {
			return fmt.Errorf("it is not known %s, and pods die: %+v", name, d.Actions)
		}
		plain := Decide(p, o)
		if held := d.says(chaosv1.ConditionHeld); begins(p, &plain) != nil && !d.told() && (held == nil || !strings.Contains(held.Message, "not")) {
			return fmt.Errorf("it is not known %s, and nothing says so: %+v", name, held)
		}
	}
	return nil
}

func requiresBudget(p *chaosv1.ChaosPod) bool {
	s := settingsOf(p)
	return s.requireBudget
}

func blindStartsNothing(p *chaosv1.ChaosPod, o, blind Observation, unread func(owner types.UID) bool) error {
	plain, d, before := Decide(p, o), Decide(p, blind), p.Status.CurrentRun
	owners := map[types.UID]types.UID{}
	if c := d.Status.CurrentRun; c != nil {
		for _, v := range c.Victims {
			owners[v.UID] = v.Owner.UID
			known := before != nil && before.ID == c.ID && slices.ContainsFunc(before.Victims, func(w chaosv1.Victim) bool { return w.UID == v.UID })
			if unread(v.Owner.UID) && !known {
				return fmt.Errorf("%s is chosen of an owner that was not read", v.Name)
			}
			waits := before != nil && before.KillingTime != nil && o.Now.Before(before.KillingTime.Add(killTimeout))
			if known && waits && unread(v.Owner.UID) && v.Outcome == chaosv1.VictimGone && !isGone(before, v.UID) {
				return fmt.Errorf("%s counts as dead, and its owner was not read", v.Name)
			}
		}
	}
	for _, a := range d.Actions {
		if (a.Verb == Evict || a.Verb == Delete) && unread(owners[a.UID]) || a.Verb == CreateCanary && blind.Canary.Unknown != "" || a.Verb == DeleteCanary && blind.Canary.Unknown != "" {
			return fmt.Errorf("%s %s without having been read", a.Verb, a.Pod)
		}
	}
	dead := before != nil && slices.ContainsFunc(before.Victims, func(v chaosv1.Victim) bool { return isDead(v.Outcome) && unread(v.Owner.UID) })
	if dead && d.Status.CurrentRun == nil {
		failed := plain.Status.CurrentRun == nil && plain.Status.Runs[0].Outcome == chaosv1.RunRecoveryFailed // by what was read
		if run := d.Status.Runs[0]; run.ID == before.ID && (run.Outcome == chaosv1.RunSurvived || run.Outcome == chaosv1.RunRecoveryFailed && !failed) {
			return fmt.Errorf("run %s is %s by what was not read", before.ID, run.Outcome)
		}
	}
	ready, held := d.says(chaosv1.ConditionReady), d.says(chaosv1.ConditionHeld)
	if running := d.says(chaosv1.ConditionRunning); running != nil && strings.Contains(running.Message, "cannot be read") {
		return nil // and the next run waits for this one
	}
	if begins(p, &plain) != nil && begins(p, &d) == nil && ready.Status == metav1.ConditionTrue && (held == nil || !strings.Contains(held.Message, "not read")) && !d.told() {
		return fmt.Errorf("nothing says what is not known: Ready %+v, Held %+v", ready, held)
	}
	return nil
}

func isGone(c *chaosv1.CurrentRun, uid types.UID) bool {
	return slices.ContainsFunc(c.Victims, func(v chaosv1.Victim) bool { return v.UID == uid && v.Outcome == chaosv1.VictimGone })
}

// namesAreOnlyNames puts lists in another order, and renames what has a UID.
func namesAreOnlyNames(m *model, o Observation) error {
	d := Decide(m.stored, o)
	turned := withPods(o, func(owner *Owner) { slices.Reverse(owner.Pods) })
	slices.Reverse(turned.Owners)
	p := m.stored.DeepCopy()
	p.Spec.Windows = append(slices.Clone(p.Spec.Windows), p.Spec.Windows...)
	p.Spec.Blackouts = append(slices.Clone(p.Spec.Blackouts), p.Spec.Blackouts...)
	if again := Decide(p, turned); m.bytes(again.Status) != m.bytes(d.Status) || m.bytes(again.Actions) != m.bytes(d.Actions) {
		return fmt.Errorf("in another order:\n%s\n%s", m.bytes(d), m.bytes(again))
	}
	renamed := Decide(m.stored, withPods(o, func(owner *Owner) { owner.Name = "z" + owner.Name }))
	if !maps.Equal(kills(&renamed), kills(&d)) || !renamed.RequeueAt.Equal(d.RequeueAt) {
		return fmt.Errorf("renamed, %v die and not %v", kills(&renamed), kills(&d))
	}
	return nil
}

// forgettingIsHarmless ends the process after its actions, before it records their results.
func forgettingIsHarmless(m *model, _ Observation) error {
	ends := func(crash string) (*model, error) {
		w := m.fork()
		w.blind = false
		w.reconcile(step{crash: crash})
		return w, w.settle(2 * time.Hour)
	}
	kept, err := ends("")
	if err != nil {
		return err
	}
	lost, err := ends("after the kills")
	if err != nil {
		return err
	}
	if !maps.Equal(kept.fell, lost.fell) {
		return fmt.Errorf("%v died, and %v where the results were forgotten", kept.fell, lost.fell)
	}
	return nil
}

func twiceIsOnce(m *model, o Observation) error {
	m.checkRepeatable(m.stored, o, Decide(m.stored, o))
	return m.failure
}

// refusalStays refuses one of the actions in each way, and all others are as if they had been done.
func refusalStays(m *model, o Observation) error {
	d := Decide(m.stored, o)
	p := m.stored.DeepCopy()
	p.Status = d.Status
	for _, refused := range d.Actions {
		for _, outcome := range []Outcome{Blocked, Misconfigured, Forbidden, Retry} {
			var results []Result
			for _, a := range d.Actions {
				result := Result{Action: a, Outcome: Done}
				if a.UID == refused.UID {
					result.Outcome = outcome
				}
				results = append(results, result)
			}
			after := p.DeepCopy()
			after.Status = Record(p, results, o.Now).Status
			next := Decide(after, o)
			if len(d.Actions) > 1 && next.Status.Halt != nil && p.Status.Halt == nil {
				return fmt.Errorf("%s of %s halts all: %+v", outcome, refused.Pod, next.Status.Halt)
			}
			for _, st := range []*chaosv1.ChaosPodStatus{&after.Status, &next.Status} {
				if st.CurrentRun == nil {
					continue
				}
				for _, v := range st.CurrentRun.Victims {
					if v.UID != refused.UID && kills(&d)[v.UID] && !isDead(v.Outcome) && v.Outcome != chaosv1.VictimDryRun {
						return fmt.Errorf("%s of %s leaves %s as %s", outcome, refused.Pod, v.Name, v.Outcome)
					}
				}
			}
		}
	}
	// A workload whose pods cannot be evicted at all keeps no other workload from its run.
	w := m.fork()
	if len(w.owners) < 2 || w.stored.Status.Halt != nil {
		return nil
	}
	w.owners[0].budget = 2
	others := slices.ContainsFunc(w.owners[1:], func(o *simOwner) bool { return o.wanted > 0 })
	if w.reconcile(step{}); w.failure != nil || !others {
		return w.failure
	}
	if err := w.settle(2 * time.Hour); err != nil {
		return err
	}
	if h := w.stored.Status.Halt; h != nil && h.Reason == chaosv1.ReasonEvictionMisconfigured {
		for _, other := range w.owners[1:] {
			if other.budget < 2 && other.wanted > 0 {
				return fmt.Errorf("%s is halted too: %s", other.name, h.Message)
			}
		}
	}
	return nil
}

// holds are what keeps every run from starting.
func holds() map[string]func(*Observation) {
	return map[string]func(*Observation){
		"blackout":               func(*Observation) {}, // withHold adds it to the spec
		"the network is suspect": func(o *Observation) { o.Suspect = true },
		"there is no slot":       func(o *Observation) { o.Others.Free, o.Others.Full = 0, "there is no room" },
		"all is busy": func(o *Observation) {
			o.Others.Disrupted = map[types.UID]bool{}
			for i := range o.Owners {
				o.Others.Disrupted[o.Owners[i].UID] = true
			}
		},
		"a fault": func(o *Observation) {
			*o = withPods(*o, func(owner *Owner) { owner.Fault = "a fault" })
		},
		"all is unknown": func(o *Observation) { o.Unknown, o.Owners = "it was not read", nil },
	}
}

func withHold(name string, p *chaosv1.ChaosPod, o Observation) (*chaosv1.ChaosPod, Observation) {
	held := p.DeepCopy()
	if name == "blackout" {
		held.Spec.Blackouts = append(held.Spec.Blackouts, common.Window{Schedule: o.Now.UTC().Format("4 15 * * *"), Duration: "1h"})
	}
	holds()[name](&o)
	return held, o
}

// onAndOffIsNothing decides once with each hold, and then without: that is as if the hold had never been. A hold of a run
// that kills is told, and spares its victims.
func onAndOffIsNothing(m *model, o Observation) error {
	if c := m.stored.Status.CurrentRun; c != nil && c.Phase != chaosv1.RunVerifying || m.canary != nil {
		return nil
	}
	direct := Decide(m.stored, o)
	for name := range holds() {
		switch {
		case name == "all is unknown" && m.stored.Status.CurrentRun != nil:
			continue // what was not seen to stay ready soaks again
		case name == "blackout" && *m.stored.Spec.Schedule.JitterPercent > 0:
			continue // jitter moves no run into a blackout
		}
		held, in := withHold(name, m.stored, o)
		between := Decide(held, in)
		p := m.stored.DeepCopy()
		p.Status = between.Status
		after := Decide(p, o)
		if a, b := m.withoutTransitions(direct.Status), m.withoutTransitions(after.Status); a != b {
			return fmt.Errorf("%s, on and off:\n%s\n%s", name, a, b)
		}
	}
	return nil
}

// withoutTransitions leaves out when conditions became what they are.
func (m *model) withoutTransitions(st chaosv1.ChaosPodStatus) string {
	st = *st.DeepCopy()
	for i := range st.Conditions {
		st.Conditions[i].LastTransitionTime = metav1.Time{}
	}
	slices.SortFunc(st.Conditions, func(a, b metav1.Condition) int { return strings.Compare(a.Type, b.Type) })
	return m.bytes(st)
}

// cautionIsNeverSooner adds a reason to wait, or a limit: no run begins that would not begin without it, and no more dies.
func cautionIsNeverSooner(m *model, o Observation) error {
	plain := Decide(m.stored, o)
	check := func(name string, p *chaosv1.ChaosPod, in Observation, all bool) error {
		d := Decide(p, in)
		more, less := begins(p, &d), begins(m.stored, &plain)
		switch {
		case more != nil && (less == nil || all):
			return fmt.Errorf("a run begins although %s", name)
		case more != nil && more.Count > less.Count:
			return fmt.Errorf("%d die because %s, and not %d", more.Count, name, less.Count)
		case more == nil && len(kills(&d)) > len(kills(&plain)):
			return fmt.Errorf("%v die because %s, and not %v", kills(&d), name, kills(&plain))
		}
		return nil
	}
	for name := range holds() {
		held, in := withHold(name, m.stored, o)
		if err := check(name, held, in, true); err != nil && m.canary == nil {
			return err
		}
	}
	if m.canary != nil {
		return nil
	}
	for name, limit := range map[string]func(*chaosv1.ChaosPodSpec){
		"minReady":                func(s *chaosv1.ChaosPodSpec) { s.Safety.MinReady = ptr.To(intstr.FromString("100%")) },
		"maxPerDay":               func(s *chaosv1.ChaosPodSpec) { s.Safety.MaxPerDay = ptr.To[int32](1) },
		"requireDisruptionBudget": func(s *chaosv1.ChaosPodSpec) { s.Safety.RequireDisruptionBudget = ptr.To(true) },
		"minAge":                  func(s *chaosv1.ChaosPodSpec) { s.Filter.MinAge = ptr.To(common.Duration("1h")) },
	} {
		p := m.stored.DeepCopy()
		limit(&p.Spec)
		if err := check(name, p, o, false); err != nil {
			return err
		}
	}
	return nil
}

// clocksHoldNothing sets the clock of the operator by up to twelve hours: a run under way ends in its time, and a target that recovers passes.
func clocksHoldNothing(m *model, _ Observation) error {
	if !m.days { // the simulated containers were set back as well
		return nil
	}
	failed := true
	for _, by := range []time.Duration{0, -12 * time.Hour, -time.Hour, -time.Minute * 10, 10 * time.Minute, time.Hour} {
		w := m.fork()
		w.days = false
		for _, o := range w.all() {
			o.repair(w.now)
			o.unknown, o.budget, o.forbidden = false, 0, false
		}
		w.blind, w.suspect, w.barred = false, false, false
		w.skew += by
		w.edit(true, func(p *chaosv1.ChaosPod) { p.Spec.Suspend = ptr.To(true) })
		before := w.stored.Status.CurrentRun
		d := Decide(w.stored, w.observe(w.views()))
		skewed := before != nil && before.StartedTime.After(w.clock().Add(clockSlack))
		if skewed && !slices.ContainsFunc(d.Messages, func(n Message) bool { return strings.Contains(n.Text, "clock") }) {
			return fmt.Errorf("nothing tells that the clock went by %s: %+v", by, d.Messages)
		}
		if !d.RequeueAt.IsZero() && before != nil && d.RequeueAt.Sub(w.clock()) > 15*time.Minute {
			return fmt.Errorf("the clock went by %s, and run %s waits until %s", by, before.ID, d.RequeueAt)
		}
		if err := w.settle(15 * time.Minute); err != nil {
			return fmt.Errorf("the clock went by %s: %w", by, err)
		}
		fails := before != nil && w.stored.Status.Runs[0].Outcome == chaosv1.RunRecoveryFailed
		if by == 0 {
			failed = fails
		} else if by < -2*time.Hour && fails && !failed { // with less, the clock may pass the times of pods meanwhile
			return fmt.Errorf("the clock went by %s, and run %s has failed: %s", by, before.ID, w.stored.Status.Runs[0].Message)
		}
	}
	return nil
}

// waitsHaveEndsOrNames looks at the world at rest: what is due or under way ends, or a condition names what it waits for.
func waitsHaveEndsOrNames(m *model, _ Observation) error {
	w := m.fork()
	for range 4 {
		again := w.reconcile(step{})
		if w.failure != nil {
			return w.failure
		}
		st := &w.stored.Status
		d := Decide(w.stored, w.observe(w.views()))
		held, suspended, stalled, ready := d.says(chaosv1.ConditionHeld), d.says(chaosv1.ConditionSuspended), d.says(chaosv1.ConditionStalled), d.says(chaosv1.ConditionReady)
		token := w.stored.Annotations[chaosv1.RunNowAnnotation]
		named := held != nil || suspended != nil || stalled != nil || ready.Status != metav1.ConditionTrue
		switch {
		case st.CurrentRun != nil && again.IsZero():
			return fmt.Errorf("nothing ends %s", w.bytes(st.CurrentRun))
		case d.Status.CurrentRun == nil && token != "" && token != d.Status.LastRunNow && !named:
			return fmt.Errorf("run-now %s waits for nothing that is named: %s", token, w.bytes(st))
		case held != nil && held.Reason != chaosv1.ReasonBudgetBlocked && st.CurrentRun == nil && !isCalendarReason(held.Reason) && (again.IsZero() || again.Sub(w.clock()) > heldInterval):
			return fmt.Errorf("it is held by %s until %s", held.Message, again)
		}
		for _, kind := range d.Status.Conditions {
			if kind.ObservedGeneration != w.stored.Generation {
				return fmt.Errorf("%s is of generation %d, and the spec of %d", kind.Type, kind.ObservedGeneration, w.stored.Generation)
			}
		}
		if again.IsZero() {
			return nil
		}
		w.advance(min(again.Sub(w.clock()), time.Hour))
	}
	return nil
}

// debtsAreKeptOrTold takes away what a run is owed to: the spec, the workload, or the ChaosPod.
func debtsAreKeptOrTold(m *model, o Observation) error {
	plain := Decide(m.stored, o)
	owed := begins(m.stored, &plain)
	edited := m.stored.DeepCopy()
	edited.Generation++
	d := Decide(edited, o)
	reason, _, held := newRun(m.stored, o).wasHeld()
	missed := slices.ContainsFunc(d.Messages, func(n Message) bool { return n.Reason == "ChaosMissed" })
	if c := begins(edited, &d); owed != nil && held && !isCalendarReason(reason) && c == nil && !missed && d.says(chaosv1.ConditionHeld) == nil {
		return fmt.Errorf("run %s is forgotten with the next spec: %+v", owed.ID, d.Messages)
	}
	created := m.stored.DeepCopy()
	created.Status = chaosv1.ChaosPodStatus{}
	metav1.SetMetaDataAnnotation(&created.ObjectMeta, chaosv1.RunNowAnnotation, "at once")
	if d := Decide(created, o); begins(created, &d) == nil && !slices.ContainsFunc(d.Messages, func(n Message) bool { return strings.Contains(n.Text, "at once") }) && d.says(chaosv1.ConditionHeld) == nil {
		return fmt.Errorf("run-now is not acted on, and nothing says so: %+v", d.Messages)
	}
	c := m.stored.Status.CurrentRun
	if c == nil || m.canary != nil {
		return nil
	}
	w := m.fork()
	for _, owner := range w.owners { // made again
		owner.uid += "-again"
		owner.pods = nil
	}
	w.blind = false
	if err := w.settle(2 * time.Hour); err != nil {
		return err
	}
	i := slices.IndexFunc(w.stored.Status.Runs, func(run chaosv1.Run) bool { return run.ID == c.ID })
	if i < 0 || w.stored.Status.Runs[i].Message == "" {
		return fmt.Errorf("run %s is forgotten with its workloads: %s", c.ID, w.bytes(w.stored.Status.Runs))
	}
	if w.stored.Status.Runs[i].Outcome == chaosv1.RunSurvived {
		return fmt.Errorf("run %s is survived by workloads of other UIDs", c.ID)
	}
	return nil
}
