// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	chaosv1 "github.com/fairlead-dev/fairlead/api/chaos/v1"
	"github.com/fairlead-dev/fairlead/api/common"
	"github.com/fairlead-dev/fairlead/controllers/internal/requests"
	rules "github.com/fairlead-dev/fairlead/internal/rules/chaospod"
)

// refusalStays refuses one of the actions in each way, and all others are as if they had been done.
func refusalStays(m *model, o Observation) error {
	d := Decide(m.stored, o)
	p := m.stored.DeepCopy()
	p.Status = d.Status
	for _, refused := range d.Actions {
		for _, outcome := range []Outcome{Blocked, Misconfigured, Refused, Retry} {
			var results []Result
			for _, a := range d.Actions {
				result := Result{Action: a, Outcome: Done}
				if a.UID == refused.UID {
					result.Outcome = outcome
				}
				results = append(results, result)
			}
			after := p.DeepCopy()
			after.Status = Record(p, results, o.Now, o.Requests).Status
			next := Decide(after, o)
			if len(d.Actions) > 1 && next.Status.Halt != nil && p.Status.Halt == nil {
				return fmt.Errorf("%s of %s halts all: %+v", outcome, refused.Pod, next.Status.Halt)
			}
			for _, st := range []*chaosv1.ChaosPodStatus{&after.Status, &next.Status} {
				if st.CurrentRun == nil {
					continue
				}
				for _, v := range st.CurrentRun.Victims {
					if v.UID != refused.UID && kills(&d)[v.UID] && !rules.IsDead(v.Outcome) && v.Outcome != chaosv1.VictimDryRun {
						return fmt.Errorf("%s of %s leaves %s as %s", outcome, refused.Pod, v.Name, v.Outcome)
					}
				}
			}
		}
	}
	// A workload whose pods cannot be evicted at all keeps no other workload from its run, unless the run has tried that.
	w := m.fork()
	tried := map[string]bool{}
	if run := w.stored.Status.CurrentRun; run != nil {
		for _, v := range run.Victims {
			tried[v.Owner.Name] = tried[v.Owner.Name] || isMisconfigured(v)
		}
	}
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
			if other.budget < 2 && other.wanted > 0 && !tried[other.name] {
				return fmt.Errorf("%s is halted too: %s", other.name, h.Message)
			}
		}
	}
	return nil
}

// holds returns the conditions that keep every run from starting.
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
		held.Spec.Blackouts = append(held.Spec.Blackouts, common.Window{Name: "hold", Cron: common.Cron(o.Now.UTC().Format("4 15 * * *")), Duration: "1h"})
	}
	holds()[name](&o)
	return held, o
}

// onAndOffIsNothing decides once with each hold, and then without: the result is as if the hold had never been. A hold of a run
// that kills is reported, and spares its victims.
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

// clocksHoldNothing sets the clock of the operator by up to twelve hours: a run under way ends in its time, and a target
// that recovers passes.
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
		skewed := before != nil && before.StartTime.After(w.clock().Add(rules.ClockSlack))
		if skewed && !slices.ContainsFunc(d.Messages, func(n Message) bool { return strings.Contains(n.Text, "clock") }) {
			return fmt.Errorf("nothing tells that the clock went by %s: %+v", by, d.Messages)
		}
		if !d.RequeueAt.IsZero() && before != nil && d.RequeueAt.Sub(w.clock()) > 15*time.Minute {
			return fmt.Errorf("the clock went by %s, and run %s waits until %s", by, before.ID, d.RequeueAt)
		}
		if err := w.settle(15 * time.Minute); err != nil {
			return fmt.Errorf("the clock went by %s: %w", by, err)
		}
		fails := before != nil && w.stored.Status.History[0].Result == chaosv1.ResultRecoveryFailed
		if by == 0 {
			failed = fails
		} else if by < -2*time.Hour && fails && !failed { // with less, the clock may pass the times of pods meanwhile
			return fmt.Errorf("the clock went by %s, and run %s has failed: %s", by, before.ID, w.stored.Status.History[0].Message)
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
		held, suspended := d.holds(chaosv1.ConditionWaiting), d.holds(chaosv1.ConditionSuspended)
		stalled, ready := d.says(chaosv1.ConditionStalled), d.says(chaosv1.ConditionReady)
		token := requests.New(w.stored, chaosv1.RunNowAnnotation, d.Status.HandledRunNow)
		named := held != nil || suspended != nil || stalled != nil || ready.Status != metav1.ConditionTrue
		switch {
		case st.CurrentRun != nil && again.IsZero():
			return fmt.Errorf("nothing ends %s", w.bytes(st.CurrentRun))
		case d.Status.CurrentRun == nil && token != "" && !named:
			return fmt.Errorf("run-now %s waits for nothing that is named: %s", token, w.bytes(st))
		case held != nil && held.Reason != chaosv1.ReasonBudgetBlocked && st.CurrentRun == nil && !isCalendarReason(held.Reason) &&
			(again.IsZero() || again.Sub(w.clock()) > heldInterval):
			return fmt.Errorf("it is held by %s until %s", held.Message, again)
		}
		for _, kind := range []string{chaosv1.ConditionReady, chaosv1.ConditionWaiting, chaosv1.ConditionProgressing, chaosv1.ConditionSurvived, chaosv1.ConditionSuspended} {
			if d.says(kind) == nil {
				return fmt.Errorf("%s is absent: %s", kind, w.bytes(d.Status.Conditions))
			}
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
	forgotten := begins(edited, &d) == nil && !missed && d.holds(chaosv1.ConditionWaiting) == nil
	if owed != nil && held && !isCalendarReason(reason) && forgotten {
		return fmt.Errorf("run %s is forgotten with the next spec: %+v", owed.ID, d.Messages)
	}
	created := m.stored.DeepCopy()
	created.Status = chaosv1.ChaosPodStatus{}
	metav1.SetMetaDataAnnotation(&created.ObjectMeta, chaosv1.RunNowAnnotation, "at once")
	d = Decide(created, o)
	told := slices.ContainsFunc(d.Messages, func(n Message) bool { return strings.Contains(n.Text, "at once") })
	if begins(created, &d) == nil && !told && d.holds(chaosv1.ConditionWaiting) == nil {
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
	i := slices.IndexFunc(w.stored.Status.History, func(run chaosv1.Run) bool { return run.ID == c.ID })
	if i < 0 || w.stored.Status.History[i].Message == "" {
		return fmt.Errorf("run %s is forgotten with its workloads: %s", c.ID, w.bytes(w.stored.Status.History))
	}
	if w.stored.Status.History[i].Result == chaosv1.ResultSurvived {
		return fmt.Errorf("run %s is survived by workloads of other UIDs", c.ID)
	}
	return nil
}
