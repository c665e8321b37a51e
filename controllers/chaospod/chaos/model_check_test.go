// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	chaosv1 "github.com/fairlead-dev/fairlead/api/chaos/v1"
	"github.com/fairlead-dev/fairlead/controllers/internal/requests"
	rules "github.com/fairlead-dev/fairlead/internal/rules/chaospod"
)

// schedulesEnv is how many schedules to run, where it is not the sample of the ordinary test.
const schedulesEnv = "FAIRLEAD_CHAOS_SCHEDULES"

// check holds a decision that is about to be stored to the rules, as it was made: from what was seen.
func (m *model) check(p *chaosv1.ChaosPod, o Observation, d Decision) {
	c, before := d.Status.CurrentRun, p.Status.CurrentRun
	m.survived(p, o, d)
	m.proven(p, o, d)
	if c == nil {
		return
	}
	known := map[types.UID]bool{}
	if before != nil && before.ID == c.ID {
		for _, v := range before.Victims {
			known[v.UID] = true
		}
	} else if before != nil && !slices.ContainsFunc(d.Status.History, func(run chaosv1.Run) bool { return run.ID == before.ID }) {
		m.fail("run %s begins while %s is under way", c.ID, before.ID)
	} else if m.used(c.ID) {
		m.fail("the run %s began twice", c.ID)
	}
	standing := map[types.UID]int{}
	for _, v := range c.Victims {
		if v.Outcome != chaosv1.VictimSkippedDisruptionBudget {
			if standing[v.Owner.UID]++; standing[v.Owner.UID] > 1 {
				m.fail("run %s has two victims of %s", c.ID, v.Owner.Name)
			}
		}
		if !known[v.UID] {
			m.chosen(p, o, c, v)
		}
	}
	if n := len(c.Victims); n > chaosv1.MaxStatusVictims {
		m.fail("%d victims", n)
	}
	for _, a := range d.Actions {
		if a.Verb != Evict && a.Verb != Delete {
			continue
		}
		if o.Suspect || m.outside() {
			m.fail("%s dies while all runs are held", a.Pod)
		}
		if !slices.ContainsFunc(c.Victims, func(v chaosv1.Victim) bool {
			return v.UID == a.UID && v.Outcome == chaosv1.VictimPending
		}) {
			m.fail("%s dies without being named", a.Pod)
		}
	}
}

// survived holds a verdict to the soak: the owners had their pods ready at its beginning, which was stored
// before, and have kept them.
func (m *model) survived(p *chaosv1.ChaosPod, o Observation, d Decision) {
	before := p.Status.CurrentRun
	i := slices.IndexFunc(d.Status.History, func(run chaosv1.Run) bool {
		return before != nil && run.ID == before.ID && run.Result == chaosv1.ResultSurvived
	})
	soak, err := p.Spec.Verification.Soak.Parse()
	if i < 0 || soak == 0 || m.canary != nil || m.skew != 0 {
		return
	}
	since := o.Now.Add(-soak)
	switch run := d.Status.History[i]; {
	case err != nil:
		m.fail("soak does not parse: %v", err)
	case before.ReadyTime == nil, before.ReadyTime.After(since):
		m.fail("run %s was survived without a soak of %s: %s", run.ID, soak, m.bytes(before))
	case before.KilledTime != nil && m.days && run.RecoveryDuration.Or(0) > o.Now.Sub(before.KilledTime.Time).Truncate(time.Second)-soak.Truncate(time.Second):
		m.fail("run %s counts the soak as recovery: %s", run.ID, *run.RecoveryDuration)
	}
	m.seen["soaked"]++
	for _, v := range before.Victims {
		j := slices.IndexFunc(o.Owners, func(owner Owner) bool { return owner.UID == v.Owner.UID })
		if j < 0 || v.Outcome == chaosv1.VictimSpared || v.Outcome == chaosv1.VictimFailed || v.Outcome == chaosv1.VictimSkippedDisruptionBudget {
			continue
		}
		kept := 0
		for _, pod := range o.Owners[j].Pods {
			if !pod.ReadySince.IsZero() && !pod.Terminating && pod.UID != v.UID && (!pod.ReadySince.After(since) || pod.Created.After(since)) {
				kept++
			}
		}
		if kept < int(min(v.ReadyBefore, o.Owners[j].Desired)) {
			m.fail("run %s was survived, and %s has kept %d pods ready for %s of %d", d.Status.History[i].ID, v.Owner.Name, kept, soak, v.ReadyBefore)
		}
	}
}

// proven holds a verdict to the requests, whatever ended in between: once a decision is stored, no process forgets that too many
// failed, and nothing is killed before one has succeeded.
func (m *model) proven(p *chaosv1.ChaosPod, o Observation, d Decision) {
	before := p.Status.CurrentRun
	if before == nil || before.DryRun || len(p.Spec.Verification.Probes) == 0 {
		return
	}
	if len(o.Requests) > 0 && o.Requests[0].Failed > 1 {
		m.exceeded[before.ID] = true
	}
	i := slices.IndexFunc(d.Status.History, func(run chaosv1.Run) bool { return run.ID == before.ID })
	if i >= 0 {
		run := &d.Status.History[i]
		switch exceeded := m.exceeded[run.ID]; {
		case exceeded && run.Result == chaosv1.ResultSurvived:
			m.fail("run %s was survived though too many requests failed", run.ID)
		case !exceeded && run.Result == chaosv1.ResultProbesFailed:
			m.fail("run %s failed by its requests, and too few of them failed: %+v", run.ID, o.Requests)
		case len(o.Requests) > 0 && (run.Requests == nil || *run.Requests != o.Requests[0].RequestCounts):
			m.fail("run %s has counts of its own: %+v, not %+v", run.ID, run.Requests, o.Requests)
		}
		m.seen["proven "+run.Result]++
		return
	}
	isDead := func(v chaosv1.Victim) bool { return rules.IsDead(v.Outcome) }
	kills := slices.ContainsFunc(d.Actions, func(a Action) bool { return a.Verb == Evict || a.Verb == Delete })
	c := d.Status.CurrentRun
	if !kills || c == nil || slices.ContainsFunc(c.Victims, isDead) {
		return
	}
	if len(o.Requests) == 0 && len(c.Probes) == 0 || len(o.Requests) > 0 && (o.Requests[0].Failed > 1 || o.Requests[0].Sent == o.Requests[0].Failed) {
		m.fail("run %s kills where no request has succeeded: %+v", c.ID, o.Requests)
	}
}

func (m *model) used(id string) bool {
	return slices.ContainsFunc(m.stored.Status.History, func(run chaosv1.Run) bool { return run.ID == id })
}

// outside reports whether the calendar forbids to kill.
func (m *model) outside() bool {
	spec, minute := &m.stored.Spec, m.clock().Minute()
	return len(spec.Windows) > 0 && minute%30 >= 20 || len(spec.Blackouts) > 0 && minute >= 15 && minute < 20
}

// chosen holds the choice of one victim to the limits, read off the spec without the engine's help.
func (m *model) chosen(p *chaosv1.ChaosPod, o Observation, c *chaosv1.CurrentRun, v chaosv1.Victim) {
	spec := &p.Spec
	if spec.Suspend != nil && *spec.Suspend || m.suspect || m.barred || m.blind || p.Status.Halt != nil && p.Status.Halt.Generation == p.Generation && requests.New(p, chaosv1.RetryAnnotation, p.Status.HandledRetry) == "" {
		m.fail("%s is chosen while nothing may begin", v.Name)
	}
	if m.outside() {
		m.fail("%s is chosen outside of the calendar", v.Name)
	}
	if m.canary != nil {
		return
	}
	if o.Others.Disrupted[v.Owner.UID] {
		m.fail("%s is chosen while another disrupts %s", v.Name, v.Owner.Name)
	}
	i := slices.IndexFunc(o.Owners, func(owner Owner) bool { return owner.UID == v.Owner.UID })
	if i < 0 {
		m.fail("%s is chosen of an owner that is not there", v.Name)
		return
	}
	owner := &o.Owners[i]
	j := slices.IndexFunc(owner.Pods, func(pod Pod) bool { return pod.UID == v.UID })
	ready := 0
	for _, pod := range owner.Pods {
		if !pod.ReadySince.IsZero() && !pod.Terminating {
			ready++
		}
	}
	need := spec.Safety.MinReady.IntValue()
	if spec.Safety.MinReady.StrVal != "" {
		percent, err := strconv.Atoi(strings.TrimSuffix(spec.Safety.MinReady.StrVal, "%"))
		if err != nil {
			m.fail("minReady does not parse: %v", err)
		}
		need = (int(owner.Desired)*percent + 99) / 100
	}
	age, err := spec.Filter.MinAge.Parse()
	if err != nil {
		m.fail("minAge does not parse: %v", err)
	}
	switch {
	case owner.Unknown != "", *spec.Safety.RequireStable && owner.Unstable != "":
		m.fail("%s is chosen of %s, which is %q and %q", v.Name, owner.Name, owner.Unknown, owner.Unstable)
	case owner.Fault != "":
		m.fail("%s is chosen of %s, which depends on what is broken on purpose", v.Name, owner.Name)
	case ready-1 < need:
		m.fail("%s is chosen, which leaves %d ready of %d that must be", v.Name, ready-1, need)
	case j < 0:
		m.fail("%s is chosen and was not seen", v.Name)
	default:
		pod := owner.Pods[j]
		if pod.ReadySince.IsZero() || pod.Terminating || pod.Cordoned != False || pod.Labels["chaos"] == "off" || age > 0 && o.Now.Sub(pod.Created) < age || *spec.Safety.RequireDisruptionBudget && pod.Covered != True {
			m.fail("%s is chosen, and may not die: %+v", v.Name, pod)
		}
	}
	if most := *spec.Safety.MaxPerDay; c.Count > most {
		m.fail("%d are to die, %d may in a day", c.Count, most)
	}
}

// runUntilIdle lets everything recover, after which no run may be left under way.
func (m *model) runUntilIdle() {
	m.blind, m.suspect, m.failing = false, false, false
	for _, o := range m.all() {
		o.repair(m.now)
		o.unknown, o.forbidden, o.budget = false, false, 0
	}
	m.edit(true, func(p *chaosv1.ChaosPod) { on := true; p.Spec.Suspend = &on })
	for range 12 {
		m.reconcile(step{})
		if m.stored.Status.CurrentRun == nil {
			return
		}
		m.advance(time.Minute)
	}
	if c := m.stored.Status.CurrentRun; c != nil {
		m.fail("run %s does not end: %s", c.ID, m.bytes(c))
	}
}

// runModel runs a schedule, and returns what it broke.
func runModel(seed uint64, steps []step, seen map[string]int) error {
	m := newModel(seed, seen)
	m.reconcile(step{})
	for _, s := range steps {
		m.event(s)
		m.reconcile(s)
		if m.failure != nil {
			return m.failure
		}
	}
	m.runUntilIdle()
	return m.failure
}

// shrink leaves out what is not needed to break it.
func shrink(seed uint64, steps []step) []step {
	for size := len(steps) / 2; size > 0; size /= 2 {
		for i := 0; i+size <= len(steps); {
			if less := slices.Delete(slices.Clone(steps), i, i+size); runModel(seed, less, map[string]int{}) != nil {
				steps = less
			} else {
				i += size
			}
		}
	}
	return steps
}

func TestGeneratedSchedulesBreakNoRule(t *testing.T) {
	schedules := uint64(1200)
	if text := os.Getenv(schedulesEnv); text != "" {
		n, err := strconv.ParseUint(text, 10, 32)
		if err != nil {
			t.Fatalf("%s: %v", schedulesEnv, err)
		}
		schedules = n
	}
	seen := map[string]int{}
	seeds := make([]uint64, 0, schedules+400)
	for seed := range schedules {
		seeds = append(seeds, seed)
	}
	for seed := range uint64(400) { // with verification.probes
		seeds = append(seeds, 10_000+seed)
	}
	for _, seed := range seeds {
		steps := scheduleOf(seed)
		if runModel(seed, steps, seen) == nil {
			continue
		}
		steps = shrink(seed, steps)
		t.Errorf("seed %d: %v", seed, runModel(seed, steps, seen))
		for _, s := range steps {
			t.Errorf("\t%+v", s)
		}
		return
	}
	if seen["soaked"] == 0 {
		t.Error("no schedule has a soak that was survived")
	}
	for _, result := range []string{chaosv1.ResultSurvived, chaosv1.ResultProbesFailed, chaosv1.ResultNoVictim, chaosv1.ResultRecoveryFailed} {
		if seen["proven "+result] == 0 {
			t.Errorf("no schedule with requests ends as %s", result)
		}
	}
	for _, row := range Transitions() {
		for _, from := range row.From {
			if key := fmt.Sprint(from, " ", row.Event); seen[key] == 0 {
				t.Errorf("no schedule took %s from %s", row.Event, from)
			}
		}
	}
	t.Logf("%d schedules: %v", schedules, seen)
}
