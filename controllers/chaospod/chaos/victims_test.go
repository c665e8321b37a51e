// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	chaosv1 "github.com/fairlead-dev/fairlead/api/chaos/v1"
	"github.com/fairlead-dev/fairlead/api/common"
	rules "github.com/fairlead-dev/fairlead/internal/rules/chaospod"
)

func TestWhatTheServerSays(t *testing.T) {
	for name, c := range map[string]struct {
		outcome Outcome
		run     string
		reason  string
		killed  int32
		halted  bool
	}{
		"blocked":       {Blocked, chaosv1.ResultNoVictim, chaosv1.ReasonBudgetBlocked, 0, false},
		"misconfigured": {Misconfigured, chaosv1.ResultFailed, chaosv1.ReasonEvictionMisconfigured, 0, true},
		"forbidden":     {Refused, chaosv1.ResultFailed, chaosv1.ReasonForbidden, 0, false},
		"never":         {Retry, chaosv1.ResultFailed, chaosv1.ReasonTimedOut, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			b := newSuite(t)
			tried := map[types.UID]bool{}
			for d := b.after(10 * time.Minute); len(d.Actions) > 0; d = b.after(time.Second) {
				for _, a := range d.Actions {
					tried[a.UID] = true
				}
				b.answer(d, c.outcome)
			}
			run := b.last()
			if run.Result != c.run || run.Reason != c.reason || b.p.Status.KilledToday != c.killed || (b.p.Status.Halt != nil) != c.halted {
				t.Errorf("%+v", b.p.Status)
			}
			if c.outcome == Blocked {
				b.expectCondition(chaosv1.ConditionWaiting, "True/BudgetBlocked")
				if len(tried) != 4 {
					t.Errorf("%d pods were tried, not all four", len(tried))
				}
			}
			if c.halted {
				b.expectCondition(chaosv1.ConditionStalled, "True/EvictionMisconfigured")
			}
		})
	}
}

func TestARefusalStandsUntilARunIsNotRefused(t *testing.T) {
	b := newSuite(t)
	for d := b.after(10 * time.Minute); len(d.Actions) > 0; d = b.after(time.Second) {
		b.answer(d, Refused)
	}
	for range 3 {
		b.expectCondition(chaosv1.ConditionReady, "False/Forbidden")
		b.expectCondition(chaosv1.ConditionStalled, "True/Forbidden")
		if c := meta.FindStatusCondition(b.p.Status.Conditions, chaosv1.ConditionReady); c.Message != b.last().Message {
			t.Errorf("a process that has not seen the refusal says %q", c.Message)
		}
		b.after(time.Second)
	}
	d := b.after(10 * time.Minute)
	if len(d.Actions) == 0 {
		t.Fatalf("no run began: %+v", b.p.Status)
	}
	b.answer(d, Done)
	b.after(time.Second)
	b.expectCondition(chaosv1.ConditionReady, "True/Scheduled")
}

func TestWhatBudgetsRefusedStandsUntilARunIsNotRefused(t *testing.T) {
	b := newSuite(t)
	// ends has the next run's victims answered until it has ended.
	ends := func(refused func(pod string) bool) {
		t.Helper()
		d := b.after(time.Minute)
		for i := 0; len(d.Actions) == 0 && i < 20; i++ {
			d = b.after(time.Minute)
		}
		n := len(b.p.Status.History)
		for i := 0; len(b.p.Status.History) == n && i < 10; i++ {
			var results []Result
			for _, a := range d.Actions {
				result := Result{Action: a, Outcome: Done}
				if refused(a.Pod) {
					result.Outcome, result.Budget = Blocked, "never"
				}
				results = append(results, result)
			}
			b.p.Status = Record(b.p, results, b.o.Now, b.o.Requests).Status
			if c := b.p.Status.CurrentRun; c != nil && c.Phase == chaosv1.RunVerifying {
				for _, v := range c.Victims {
					if rules.IsDead(v.Outcome) {
						b.remove(v.UID)
						b.o.Owners[0].Pods = append(b.o.Owners[0].Pods, b.pod(v.Name+"-again"))
					}
				}
			}
			d = b.after(time.Second)
		}
	}
	none := func(string) bool { return false }
	ofAPI := func(pod string) bool { return strings.HasPrefix(pod, "api") }
	wants := func(when string, want ...chaosv1.BlockedWorkload) {
		t.Helper()
		if diff := cmp.Diff(want, b.p.Status.Blocked); diff != "" {
			t.Errorf("%s (-want +got):\n%s", when, diff)
		}
	}
	api := chaosv1.BlockedWorkload{VictimOwner: chaosv1.VictimOwner{Kind: "Deployment", Name: "api", UID: "uid-api"}, Ready: 4, BlockedBy: "never"}

	ends(ofAPI)
	wants("refused", api)
	if run := b.last(); run.Reason != chaosv1.ReasonBudgetBlocked || !strings.Contains(run.Message, "(SkippedDisruptionBudget: never)") {
		t.Errorf("%+v", run)
	}
	b.o.Suspect = true
	b.after(10 * time.Minute)
	if b.after(6 * time.Minute); b.last().Reason != chaosv1.ReasonProbesInconclusive {
		t.Fatalf("%+v", b.last())
	}
	wants("a run that asked nothing", api)
	b.o.Suspect = false
	ends(none)
	if b.last().Result != chaosv1.ResultSurvived {
		t.Fatalf("%+v", b.last())
	}
	wants("a pod has died")

	b.edit(func(s *chaosv1.ChaosPodSpec) { s.DryRun, s.Count = nil, ptr.To(intstr.FromInt32(2)) })
	b.o.Owners = append(b.o.Owners, b.owner("web", 4))
	ends(ofAPI)
	if b.last().Result != chaosv1.ResultDryRun {
		t.Fatalf("%+v", b.last())
	}
	wants("a dry run, in which another workload was not refused", api)
	first := ""
	ends(func(pod string) bool {
		if first == "" && ofAPI(pod) {
			first = pod
		}
		return pod == first
	})
	wants("a dry run, in which another pod of the workload was not refused")
	ends(ofAPI)
	wants("refused again", api)
	b.edit(func(s *chaosv1.ChaosPodSpec) { s.DryRun = ptr.To(false) })
	b.o.Owners[0], b.o.Owners[1] = b.o.Owners[1], b.o.Owners[0] // pods of web come back
	ends(ofAPI)
	if b.last().Result != chaosv1.ResultSurvived {
		t.Fatalf("%+v", b.last())
	}
	wants("what died may have used up the budget")
}

func TestAReplacementIsStoredBeforeItDies(t *testing.T) {
	b := newSuite(t)
	d := b.after(10 * time.Minute)
	first := d.Actions[0].UID
	b.answer(d, Blocked)
	if b.p.Status.CurrentRun == nil || len(b.p.Status.CurrentRun.Victims) != 1 {
		t.Fatalf("%+v", b.p.Status.CurrentRun)
	}
	d = b.after(time.Second)
	if len(d.Actions) != 1 || d.Actions[0].UID == first || len(d.Status.CurrentRun.Victims) != 2 || d.Status.CurrentRun.Victims[1].UID != d.Actions[0].UID {
		t.Errorf("%+v %+v", d.Actions, d.Status.CurrentRun)
	}
	b.answer(d, Done)
	if got := b.outcomes(); !slices.Equal(got, []chaosv1.VictimOutcome{chaosv1.VictimSkippedDisruptionBudget, chaosv1.VictimEvicted}) {
		t.Errorf("%v", got)
	}
}

func TestALostAnswerCountsTheDeadPod(t *testing.T) {
	b := newSuite(t)
	d := b.after(10 * time.Minute)
	again := b.after(time.Second)
	if len(again.Actions) != 1 || again.Actions[0].UID != d.Actions[0].UID || again.Actions[0].RunID != d.Actions[0].RunID {
		t.Fatalf("the same request is not repeated: %+v", again.Actions)
	}
	b.remove(d.Actions[0].UID)
	b.after(time.Second)
	if got := b.outcomes(); !slices.Equal(got, []chaosv1.VictimOutcome{chaosv1.VictimGone}) || b.p.Status.KilledToday != 1 || b.p.Status.CurrentRun.Phase != chaosv1.RunVerifying {
		t.Errorf("%v %+v", got, b.p.Status)
	}
}

func TestAFailedRecoveryHaltsUntilAHumanActs(t *testing.T) {
	for name, act := range map[string]func(b *suite){
		"retry": func(b *suite) { b.p.Annotations = map[string]string{chaosv1.RetryAnnotation: "ann, 14:00"} },
		"spec":  func(b *suite) { b.edit(func(s *chaosv1.ChaosPodSpec) { s.Count = ptr.To(intstr.FromInt32(1)) }) },
	} {
		t.Run(name, func(t *testing.T) {
			b := newSuite(t)
			b.p.Annotations = map[string]string{chaosv1.RetryAnnotation: "before"}
			b.kill()
			b.after(10 * time.Minute)
			if run := b.last(); run.Result != chaosv1.ResultRecoveryFailed || b.p.Status.HandledRetry != "before" || b.p.Status.Halt == nil || b.p.Status.NextRunTime != nil {
				t.Fatalf("%+v", b.p.Status)
			}
			b.expectCondition(chaosv1.ConditionSurvived, "False/RecoveryFailed")
			b.expectCondition(chaosv1.ConditionStalled, "True/RecoveryFailed")
			b.o.Owners[0].Pods = append(b.o.Owners[0].Pods, b.pod("new"))
			b.p.Annotations[chaosv1.RunNowAnnotation] = "1"
			if d := b.after(time.Hour); len(d.Actions) > 0 {
				t.Error("it goes on by itself")
			}
			b.p.Annotations = nil
			act(b)
			b.after(time.Second)
			b.expectCondition(chaosv1.ConditionStalled, "")
			if b.p.Status.Halt != nil || b.p.Status.NextRunTime == nil {
				t.Errorf("%+v", b.p.Status)
			}
		})
	}
	b := newSuite(t)
	b.edit(func(s *chaosv1.ChaosPodSpec) {
		s.Verification = &common.Verification{OnFailure: ptr.To(common.FailureContinue)}
	})
	b.decide()
	b.kill()
	b.after(10 * time.Minute)
	if run := b.last(); run.Result != chaosv1.ResultRecoveryFailed || b.p.Status.Halt != nil || b.p.Status.NextRunTime == nil {
		t.Errorf("%+v", b.p.Status)
	}
}

func TestAnOwnerThatGoesAwayProvesNothing(t *testing.T) {
	for name, put := range map[string]func(b *suite){
		"deleted": func(b *suite) { b.o.Owners = nil },
		"scaled":  func(b *suite) { b.o.Owners[0].Desired = 0 },
	} {
		b := newSuite(t)
		b.kill()
		put(b)
		b.after(time.Second)
		if run := b.last(); run.Result != chaosv1.ResultFailed || run.Reason != chaosv1.ReasonTargetGone || b.p.Status.Halt != nil {
			t.Errorf("%s: %+v", name, run)
		}
	}
	b := newSuite(t)
	b.kill()
	b.o.Owners, b.o.Unknown = nil, "timed out"
	if b.after(time.Second); b.p.Status.CurrentRun == nil {
		t.Error("what cannot be read is taken for gone")
	}
}

func TestADryRunKillsNothingAndNamesItsVictims(t *testing.T) {
	b := newSuite(t)
	b.edit(func(s *chaosv1.ChaosPodSpec) { s.DryRun = nil })
	b.decide()
	d := b.after(10 * time.Minute)
	if len(d.Actions) != 1 || !d.Actions[0].DryRun || ClaimsOf(&d.Status) != nil {
		t.Fatalf("%+v", d.Actions)
	}
	name := d.Actions[0].Pod
	b.answer(d, Done)
	if run := b.last(); run.Result != chaosv1.ResultDryRun || !strings.Contains(run.Message, name) || run.Killed != 0 || b.p.Status.KilledToday != 0 || run.Seed == "" {
		t.Errorf("%+v", run)
	}
	b.expectCondition(chaosv1.ConditionSurvived, "Unknown/NoRun")
}

func TestTheChoiceIsUniformAndCanBeRepeated(t *testing.T) {
	b := newSuite(t)
	b.o.Owners = []Owner{b.owner("a", 1), b.owner("b", 4), b.owner("c", 5)}
	owners, pods := map[string]int{}, map[string]int{}
	const runs = 3000
	for i := range runs {
		r := newRun(b.p, b.o)
		r.owners = b.o.Owners
		seed := seedOf(b.p.UID, time.Unix(int64(i), 0).String())
		victims := r.pickVictims(seed, b.o.Owners, 2)
		if again := r.pickVictims(seed, []Owner{b.o.Owners[2], b.o.Owners[0], b.o.Owners[1]}, 2); victims[0].UID != again[0].UID || victims[1].UID != again[1].UID {
			t.Fatal("the order of the view changes the choice")
		}
		if len(victims) != 2 || victims[0].Owner.UID == victims[1].Owner.UID {
			t.Fatalf("%+v", victims)
		}
		owners[victims[0].Owner.Name]++
		pods[victims[0].Name]++
	}
	for name, n := range owners {
		if n < runs/3*85/100 || n > runs/3*115/100 {
			t.Errorf("%s was first %d times of %d", name, n, runs)
		}
	}
	for _, pod := range b.o.Owners[1].Pods {
		if n := pods[pod.Name]; n < runs/12*75/100 || n > runs/12*125/100 {
			t.Errorf("%s died %d times of %d", pod.Name, n, runs)
		}
	}
}

func TestHowManyDie(t *testing.T) {
	for _, c := range []struct {
		count string
		limit int32
		free  int
		wants int
	}{
		{"1", 8, 9, 1}, {"2", 8, 9, 2}, {"9", 8, 9, 3}, {"10%", 8, 9, 1}, {"25%", 8, 9, 3}, {"8%", 8, 9, 0}, {"0", 8, 9, 0}, {"9", 2, 9, 2}, {"9", 8, 1, 1},
	} {
		b := newSuite(t)
		b.o.Owners = []Owner{b.owner("a", 4), b.owner("b", 4), b.owner("c", 4)} // 25% of 12 is 3
		count := intstr.Parse(c.count)
		b.edit(func(s *chaosv1.ChaosPodSpec) {
			s.Count, s.Safety = &count, &chaosv1.Safety{MaxPerDay: &c.limit}
		})
		b.o.Others.Free = c.free
		b.decide()
		d := b.after(10 * time.Minute)
		if len(d.Actions) != c.wants {
			t.Errorf("count %s, limit %d, %d free: %d die, want %d", c.count, c.limit, c.free, len(d.Actions), c.wants)
		}
		if c.wants == 0 && (b.last().Result != chaosv1.ResultNoVictim || b.last().Reason != chaosv1.ReasonCountZero) {
			t.Errorf("count %s: %+v", c.count, b.last())
		}
	}
}

func TestTheDaysLimitSurvivesClocks(t *testing.T) {
	for name, c := range map[string]struct {
		day   string
		now   string
		wants int32 // counted for the day
	}{
		"the same day":                  {"2026-03-02", "2026-03-02T23:59:59Z", 8},
		"the next day":                  {"2026-03-02", "2026-03-03T00:00:00Z", 0},
		"the clock was set back a day":  {"2026-03-03", "2026-03-02T12:00:00Z", 8},
		"the clock was set back a year": {"2027-03-03", "2026-03-02T12:00:00Z", 8},
		"another leader's midnight":     {"2026-03-03", "2026-03-02T23:59:55Z", 8},
		"what cannot be read":           {"yesterday", "2026-03-02T12:00:00Z", 8},
	} {
		b := newSuite(t)
		at, err := time.Parse(time.RFC3339, c.now)
		if err != nil {
			t.Fatal(err)
		}
		b.p.Status.KilledDay, b.p.Status.KilledToday, b.o.Now = c.day, 8, at
		if r := newRun(b.p, b.o); r.killedToday != c.wants {
			t.Errorf("%s: %d", name, r.killedToday)
		}
	}
}
