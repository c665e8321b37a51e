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
	"pgregory.net/rapid"

	chaosv1 "github.com/fairlead-dev/fairlead/api/chaos/v1"
	rules "github.com/fairlead-dev/fairlead/internal/rules/chaospod"
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
		"the status is memory and no permission":        statusPermitsNothing,
	}
}

func TestTheDeciderKeepsItsLawsInEveryHistory(t *testing.T) {
	for name, keeps := range laws() {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(r *rapid.T) { play(r, keeps) })
		})
	}
}

// play plays one history.
func play(r *rapid.T, keeps law) {
	settings := rapid.Uint64Range(0, 1<<16).Draw(r, "settings")
	steps := rapid.SliceOfN(rapid.Custom(func(r *rapid.T) step {
		return step{
			what: rapid.SampledFrom(eventKinds()).Draw(r, "event"), which: rapid.IntRange(0, 7).Draw(r, "which"),
			span: rapid.SampledFrom(spans()).Draw(r, "span"), crash: rapid.SampledFrom(crashes()).Draw(r, "crash"),
		}
	}), 1, 40).Draw(r, "history")
	if err := playSteps(settings, steps, keeps); err != nil {
		r.Fatal(err)
	}
}

// playSteps looks at the law now and then. The status passes through JSON after each step.
func playSteps(settings uint64, steps []step, keeps law) error {
	m := newModel(settings, map[string]int{})
	m.reconcile(step{})
	for i, s := range steps {
		m.event(s)
		if i%4 == 3 || i == len(steps)-1 { // a law costs as much as many steps
			if err := keeps(m, m.observe(m.views())); err != nil {
				return fmt.Errorf("%s: %w", m.now.Format(time.TimeOnly), err)
			}
		}
		if m.reconcile(s); m.failure != nil {
			return m.failure
		}
	}
	m.runUntilIdle()
	return m.failure
}

// The budgets of w1 are corrected in the run that they have kept from it, and those of w0 are not.
func TestAWorkloadThatARunHasTriedIsNotTriedAgain(t *testing.T) {
	history := []step{{what: "pass", span: 15 * time.Second}, {what: "two budgets", which: 1, span: time.Second}, {what: "budget", which: 1, span: time.Second}}
	if err := playSteps(0x2f, history, refusalStays); err != nil {
		t.Error(err)
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

// holds returns a condition that is true, or nil.
func (d *Decision) holds(kind string) *metav1.Condition {
	if c := d.says(kind); c != nil && c.Status == metav1.ConditionTrue {
		return c
	}
	return nil
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
			return fmt.Errorf("unknown: %s, and pods die: %+v", name, d.Actions)
		}
		plain := Decide(p, o)
		held := d.holds(chaosv1.ConditionWaiting)
		says := held != nil && (strings.Contains(held.Message, "not known") || strings.Contains(held.Message, "could not be read"))
		if begins(p, &plain) != nil && !d.told() && !says {
			return fmt.Errorf("unknown: %s, and nothing says so: %+v", name, held)
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
		if a.RunID != "" && unread(owners[a.UID]) || a.RunID == "" && blind.Canary.Unknown != "" {
			return fmt.Errorf("%s %s without having been read", a.Verb, a.Pod)
		}
	}
	dead := before != nil && slices.ContainsFunc(before.Victims, func(v chaosv1.Victim) bool {
		return rules.IsDead(v.Outcome) && unread(v.Owner.UID)
	})
	if dead && d.Status.CurrentRun == nil {
		failed := plain.Status.CurrentRun == nil && plain.Status.History[0].Result == chaosv1.ResultRecoveryFailed // by what was read
		run := d.Status.History[0]
		if run.ID == before.ID && (run.Result == chaosv1.ResultSurvived || run.Result == chaosv1.ResultRecoveryFailed && !failed) {
			return fmt.Errorf("run %s is %s by what was not read", before.ID, run.Result)
		}
	}
	ready, held := d.says(chaosv1.ConditionReady), d.holds(chaosv1.ConditionWaiting)
	if running := d.holds(chaosv1.ConditionProgressing); running != nil && strings.Contains(running.Message, "cannot be read") {
		return nil // and the next run waits for this one
	}
	says := ready.Status != metav1.ConditionTrue || held != nil && strings.Contains(held.Message, "not read") || d.told()
	if begins(p, &plain) != nil && begins(p, &d) == nil && !says {
		return fmt.Errorf("nothing says what is not known: Ready %+v, Waiting %+v", ready, held)
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

// statusPermitsNothing: whatever a status names as victims, only pods that the spec selects die, each by its own name.
func statusPermitsNothing(m *model, o Observation) error {
	forged := m.stored.DeepCopy()
	at := metav1.NewTime(o.Now.Truncate(time.Second))
	c := &chaosv1.CurrentRun{ID: "forged", Phase: chaosv1.RunKilling, StartTime: &at, Count: 100,
		RunInternals: chaosv1.RunInternals{KillingTime: &at, Generation: forged.Generation}}
	forged.Status.CurrentRun = c
	may, others := map[types.UID]string{}, []types.UID{"none", "other-namespace"}
	for i := range o.Owners {
		for _, pod := range o.Owners[i].Pods {
			if pod.Selected {
				may[pod.UID] = pod.Name
			}
			others = append(others, pod.UID)
		}
	}
	if o.Canary != nil && o.Canary.Pod != nil {
		may[o.Canary.Pod.UID] = o.Canary.Pod.Name
		others = append(others, o.Canary.Pod.UID)
	}
	for _, uid := range others {
		c.Victims = append(c.Victims, chaosv1.Victim{Name: "coredns", UID: uid, Outcome: chaosv1.VictimPending})
		for i := range o.Owners {
			owner := &o.Owners[i]
			c.Victims = append(c.Victims, chaosv1.Victim{Name: "coredns", UID: uid, Outcome: chaosv1.VictimPending,
				Owner: &chaosv1.VictimOwner{Kind: owner.Kind, Name: "forged", UID: owner.UID}})
		}
	}
	for _, phase := range []chaosv1.RunPhase{chaosv1.RunPlanned, chaosv1.RunKilling, chaosv1.RunVerifying} {
		for _, time := range []*metav1.Time{nil, &at} {
			c.Phase, c.StartTime, c.KillingTime = phase, time, time
			d := Decide(forged, o)
			for _, a := range d.Actions {
				if name, is := may[a.UID]; a.Verb != CreateCanary && (!is || a.Pod != name) {
					return fmt.Errorf("%s pod %s with UID %s, as the status says", a.Verb, a.Pod, a.UID)
				}
			}
		}
	}
	return nil
}
