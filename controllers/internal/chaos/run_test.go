// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	chaosv1 "github.com/fairlead-dev/fairlead/api/chaos/v1"
	"github.com/fairlead-dev/fairlead/api/common"
)

func TestARunIsPlannedStoredKilledAndVerified(t *testing.T) {
	b := newSuite(t)
	if b.p.Status.NextRunTime == nil || b.p.Status.NextRunTime.Sub(b.o.Now) != 10*time.Minute {
		t.Fatalf("next run %v", b.p.Status.NextRunTime)
	}
	d := b.after(10 * time.Minute)
	c := d.Status.CurrentRun
	if c == nil || c.Phase != chaosv1.RunPlanned || len(c.Victims) != 1 || len(d.Actions) != 1 || d.Actions[0].Verb != Evict || d.Actions[0].UID != c.Victims[0].UID {
		t.Fatalf("%+v\n%+v", c, d.Actions)
	}
	if v := c.Victims[0]; v.ReadyBefore != 4 || v.Owner.UID != "uid-api" || c.Candidates != 4 || c.Seed == "" || len(c.CandidatesDigest) != 64 || c.ID != "2026-03-02T12:10:00Z" {
		t.Errorf("%+v", c)
	}
	b.expectCondition(chaosv1.ConditionRunning, "True/Killing")
	if got := ClaimsOf(&b.p.Status); !slices.Equal(got, []types.UID{"uid-api"}) {
		t.Errorf("claims %v", got)
	}
	b.answer(d, Done)
	b.expectCondition(chaosv1.ConditionRunning, "True/Verifying")
	if b.after(time.Second); b.p.Status.CurrentRun == nil {
		t.Fatal("a view that still shows the victim as ready counts as recovered")
	}
	b.remove(d.Actions[0].UID)
	b.after(40 * time.Second)
	b.o.Owners[0].Pods = append(b.o.Owners[0].Pods, b.pod("new"))
	b.after(time.Second)
	if run := b.last(); run.Outcome != chaosv1.RunSurvived || run.RecoverySeconds == nil || *run.RecoverySeconds != 42 || run.Killed != 1 || b.p.Status.KilledToday != 1 || b.p.Status.LastSuccessfulRunTime == nil {
		t.Errorf("%+v", b.p.Status)
	}
	b.expectCondition(chaosv1.ConditionSurvived, "True/Recovered")
	b.expectCondition(chaosv1.ConditionRunning, "")
	if want := []string{"ChaosPlanned", "PodEvicted", "Recovered"}; !slices.Equal(b.notices, want) {
		t.Errorf("told %v, want %v", b.notices, want)
	}
}

func TestAPodThatIsReadyForAMomentIsNoRecovery(t *testing.T) {
	b := newSuite(t)
	b.o.Owners[0].MinReady = 20 * time.Second
	b.kill()
	pods := &b.o.Owners[0].Pods
	*pods = append(*pods, b.pod("new"))
	fresh := &(*pods)[len(*pods)-1]
	fresh.ReadySince = b.o.Now
	if d := b.after(time.Second); b.p.Status.CurrentRun == nil || !d.RequeueAt.Equal(fresh.ReadySince.Add(20*time.Second)) {
		t.Fatalf("again %s, %+v", d.RequeueAt, b.p.Status)
	}
	fresh.ReadySince = time.Time{} // it failed
	b.after(30 * time.Second)
	fresh.ReadySince = b.o.Now
	if b.after(19 * time.Second); b.p.Status.CurrentRun == nil {
		t.Fatalf("%+v", b.p.Status)
	}
	if b.after(time.Second); b.last().Outcome != chaosv1.RunSurvived {
		t.Errorf("%+v", b.p.Status)
	}
}

// soaks has the bench kill at 12:10 and recover 40s later, with a soak of 30s.
func soaks(t *testing.T) *suite {
	t.Helper()
	b := newSuite(t)
	b.edit(func(s *chaosv1.ChaosPodSpec) { s.Verification.Soak = ptr.To(common.Duration("30s")) })
	b.decide()
	b.kill()
	b.after(40 * time.Second)
	b.replaced("new")
	if d := b.after(0); b.p.Status.CurrentRun == nil || !b.p.Status.CurrentRun.ReadyTime.Time.Equal(b.o.Now) || !d.RequeueAt.Equal(b.o.Now.Add(30*time.Second)) {
		t.Fatalf("again %s: %+v", d.RequeueAt, b.p.Status)
	}
	return b
}

// replaced has a new pod take the place of one that died.
func (b *suite) replaced(name string) {
	pod := b.pod(name)
	pod.Created, pod.ReadySince = b.o.Now.Add(-5*time.Second), b.o.Now
	b.o.Owners[0].Pods = append(b.o.Owners[0].Pods, pod)
}

func TestATargetThatIsReadyMustStaySo(t *testing.T) {
	survives := func(t *testing.T, b *suite, seconds int64) {
		t.Helper()
		if run := b.last(); run.Outcome != chaosv1.RunSurvived || *run.RecoverySeconds != seconds {
			t.Errorf("recovered in %ds, want %ds: %+v", *run.RecoverySeconds, seconds, run)
		}
	}
	lose := func(b *suite) { b.o.Owners[0].Pods[3].ReadySince = time.Time{} }
	regain := func(b *suite) { b.o.Owners[0].Pods[3].ReadySince = b.o.Now }
	for name, play := range map[string]func(t *testing.T, b *suite){
		"it does": func(t *testing.T, b *suite) {
			if b.after(29 * time.Second); b.p.Status.CurrentRun == nil || len(ClaimsOf(&b.p.Status)) != 1 {
				t.Fatalf("%+v", b.p.Status)
			}
			b.after(time.Second)
			survives(t, b, 40)
		},
		"another leader goes on": func(t *testing.T, b *suite) {
			b.after(20 * time.Second)
			since := b.p.Status.CurrentRun.ReadyTime.Time
			if d := b.after(0); !d.RequeueAt.Equal(since.Add(30 * time.Second)) {
				t.Fatalf("again %s", d.RequeueAt)
			}
			b.after(10 * time.Second)
			survives(t, b, 40)
		},
		"it falls back": func(t *testing.T, b *suite) {
			lose(b)
			if b.after(20 * time.Second); b.p.Status.CurrentRun.ReadyTime != nil {
				t.Fatal("fewer are ready than before")
			}
			b.o.Now = b.o.Now.Add(5 * time.Second)
			regain(b)
			b.decide()
			if b.after(29 * time.Second); b.p.Status.CurrentRun == nil {
				t.Fatal("the soak did not begin again")
			}
			b.after(time.Second)
			survives(t, b, 65)
		},
		"it falls back while nothing looks": func(t *testing.T, b *suite) {
			b.o.Now = b.o.Now.Add(20 * time.Second)
			regain(b)
			b.o.Now = b.o.Now.Add(10 * time.Second)
			if b.decide(); b.p.Status.CurrentRun == nil || !b.p.Status.CurrentRun.ReadyTime.Time.Equal(b.o.Now.Add(-10*time.Second)) {
				t.Fatalf("%+v", b.p.Status)
			}
			b.after(20 * time.Second)
			survives(t, b, 60)
		},
		"pods are replaced by a rollout": func(t *testing.T, b *suite) {
			b.o.Now = b.o.Now.Add(20 * time.Second)
			b.remove("uid-api-0")
			b.replaced("newer")
			b.after(10 * time.Second)
			survives(t, b, 40)
		},
		"the clock of its node is ahead": func(t *testing.T, b *suite) {
			b.o.Owners[0].Pods[3].ReadySince = b.o.Now.Add(time.Hour)
			b.after(30 * time.Second)
			survives(t, b, 40)
		},
		"it fails too late to come back": func(t *testing.T, b *suite) {
			b.edit(func(s *chaosv1.ChaosPodSpec) { s.Verification.Soak = ptr.To(common.Duration("20m")) })
			b.after(10 * time.Minute)
			if b.p.Status.CurrentRun == nil || b.p.Status.Halt != nil {
				t.Fatalf("a soak that goes on is no failure: %+v", b.p.Status)
			}
			lose(b)
			b.after(time.Second)
			if run := b.last(); run.Outcome != chaosv1.RunRecoveryFailed || b.p.Status.Halt == nil {
				t.Errorf("%+v", run)
			}
		},
		"it came back too late": func(t *testing.T, b *suite) {
			b.o.Now = b.o.Now.Add(10 * time.Minute)
			regain(b)
			b.after(time.Minute)
			if run := b.last(); run.Outcome != chaosv1.RunRecoveryFailed || !strings.Contains(run.Message, "did not keep its pods ready") {
				t.Errorf("%+v", run)
			}
		},
		"it is gone": func(t *testing.T, b *suite) {
			b.o.Owners = nil
			b.after(time.Second)
			if run := b.last(); run.Outcome != chaosv1.RunFailed || run.Reason != chaosv1.ReasonTargetGone {
				t.Errorf("%+v", run)
			}
		},
	} {
		t.Run(name, func(t *testing.T) { play(t, soaks(t)) })
	}
	b := newSuite(t)
	if b.edit(func(s *chaosv1.ChaosPodSpec) { s.Verification = nil }); settingsOf(b.p).soak != 30*time.Second {
		t.Error("a workload has no soak by default")
	}
	if b.edit(func(s *chaosv1.ChaosPodSpec) {
		s.Target = chaosv1.Target{Template: templateOf("one")}
	}); settingsOf(b.p).soak != 0 {
		t.Error("a canary soaks by default")
	}
}

func TestWhatHoldsARun(t *testing.T) {
	window := []common.Window{{Schedule: "0 15 * * *", Duration: "1h"}}
	for name, c := range map[string]struct {
		put   func(b *suite)
		wants string
		until string // part of the message
	}{
		"window":             {func(b *suite) { b.edit(func(s *chaosv1.ChaosPodSpec) { s.Windows = window }) }, "OutsideWindow", "until 2026-03-02T15:00:00Z"},
		"blackout":           {func(b *suite) { b.o.Schedule = ScheduleOf(b.p, common.Window{Schedule: "0 11 * * *", Duration: "2h"}) }, "Blackout", "until 2026-03-02T13:00:00Z"},
		"suspicion":          {func(b *suite) { b.o.Suspect = true }, "ProbeSelfSuspect", "operator"},
		"a restart":          {func(b *suite) { b.o.Others.Disrupted = map[types.UID]bool{"uid-api": true} }, "RestartInProgress", "api"},
		"the cluster's cap":  {func(b *suite) { b.o.Others.Free = 0 }, "ConcurrencyLimit", ""},
		"a fault":            {func(b *suite) { b.o.Owners[0].Fault = "a fault is injected into ExternalService db" }, "FaultInjected", "ExternalService db"},
		"a rollout":          {func(b *suite) { b.o.Owners[0].Unstable = "rolls out" }, "Unstable", "Deployment api rolls out"},
		"too few":            {func(b *suite) { b.o.Owners[0].Desired = 7 }, "TooFewReady", "4 of 7 pods ready, and 4 must stay so"},
		"an unknown owner":   {func(b *suite) { b.o.Owners[0].Unknown = "timed out" }, "Unknown", "timed out"},
		"an unknown target":  {func(b *suite) { b.o.Unknown = "timed out" }, "Unknown", "timed out"},
		"no target":          {func(b *suite) { b.o.Owners, b.o.Missing = nil, "Deployment api does not exist" }, "NoTarget", "does not exist"},
		"the day's limit":    {func(b *suite) { b.p.Status.KilledDay, b.p.Status.KilledToday = "2026-03-02", 8 }, "DailyLimit", "8 have died"},
		"young pods":         {func(b *suite) { each(b, func(p *Pod) { p.Created = b.o.Now.Add(5 * time.Minute) }) }, "NoCandidate", ""},
		"pods not available": {func(b *suite) { b.o.Owners[0].MinReady = 2 * time.Hour }, "NoCandidate", ""},
		"cordoned nodes":     {func(b *suite) { each(b, func(p *Pod) { p.Cordoned = true }) }, "NoCandidate", ""},
		"protected pods":     {func(b *suite) { each(b, func(p *Pod) { p.Protected = true }) }, "NoCandidate", ""},
		"other pods":         {func(b *suite) { each(b, func(p *Pod) { p.Selected = false }) }, "NoCandidate", ""},
		"pods not running":   {func(b *suite) { each(b, func(p *Pod) { p.Running = false }) }, "NoCandidate", ""},
		"dying pods":         {func(b *suite) { each(b, func(p *Pod) { p.Terminating = true }) }, "TooFewReady", "0 of 4"},
		"an exclusion": {func(b *suite) {
			b.edit(func(s *chaosv1.ChaosPodSpec) {
				s.Filter = &chaosv1.Filter{Exclude: &common.LabelSelector{MatchLabels: map[string]common.LabelValue{"chaos": "off"}}}
			})
			each(b, func(p *Pod) { p.Labels = map[string]string{"chaos": "off"} })
		}, "NoCandidate", ""},
		"no budget": {func(b *suite) {
			b.edit(func(s *chaosv1.ChaosPodSpec) { s.Safety = &chaosv1.Safety{RequireDisruptionBudget: ptr.To(true)} })
			each(b, func(p *Pod) { p.Covered = false })
		}, "NoCandidate", ""},
	} {
		for _, asked := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				b := newSuite(t)
				c.put(b)
				b.decide()
				wait := 10 * time.Minute
				if asked {
					wait = time.Minute
					b.p.Annotations = map[string]string{chaosv1.RunNowAnnotation: "1"}
				}
				d := b.after(wait)
				if len(d.Actions) > 0 || d.Status.CurrentRun != nil {
					t.Fatalf("it begins: %+v", d.Status.CurrentRun)
				}
				b.expectCondition(chaosv1.ConditionHeld, "True/"+c.wants)
				for _, condition := range b.p.Status.Conditions {
					if condition.Type == chaosv1.ConditionHeld && !strings.Contains(condition.Message, c.until) {
						t.Errorf("%q lacks %q", condition.Message, c.until)
					}
				}
				if !slices.Contains(b.notices, "ChaosHeld") || b.p.Status.LastRunNow != "" {
					t.Errorf("told %v, token %q", b.notices, b.p.Status.LastRunNow)
				}
				if d.WaitsForOthers != (c.wants == "RestartInProgress" || c.wants == "ConcurrencyLimit") {
					t.Errorf("waits %t", d.WaitsForOthers)
				}
			})
		}
	}
}

func each(b *suite, change func(*Pod)) {
	for i := range b.o.Owners {
		for j := range b.o.Owners[i].Pods {
			change(&b.o.Owners[i].Pods[j])
		}
	}
}

func TestAHeldRunBeginsOnceItMayAndIsMissedAfterItsDeadline(t *testing.T) {
	for _, recovers := range []bool{true, false} {
		b := newSuite(t)
		b.o.Owners[0].Unstable = "rolls out"
		b.after(10 * time.Minute)
		if recovers {
			b.o.Owners[0].Unstable = ""
			if d := b.after(4 * time.Minute); len(d.Actions) != 1 {
				t.Errorf("it does not begin: %+v", d.Status)
			}
			b.expectCondition(chaosv1.ConditionHeld, "")
			continue
		}
		b.after(5 * time.Minute)
		if run := b.last(); run.Outcome != chaosv1.RunNoVictim || run.Reason != chaosv1.ReasonUnstable {
			t.Errorf("%+v", run)
		}
		b.o.Owners[0].Unstable = ""
		if d := b.after(time.Minute); len(d.Actions) > 0 {
			t.Error("a missed run is made up")
		}
	}
}

func TestWhatStopsARunThatIsPlanned(t *testing.T) {
	for name, c := range map[string]struct {
		put   func(b *suite)
		wants string
	}{
		"suspended":   {func(b *suite) { b.edit(func(s *chaosv1.ChaosPodSpec) { s.Suspend = ptr.To(true) }) }, "Suspended"},
		"spec":        {func(b *suite) { b.edit(func(s *chaosv1.ChaosPodSpec) { s.Count = ptr.To(intstr.FromInt32(2)) }) }, "SpecChanged"},
		"deleted":     {func(b *suite) { b.p.DeletionTimestamp = ptr.To(metav1.NewTime(b.o.Now)) }, "Deleting"},
		"barred":      {func(b *suite) { b.o.BlockedBy = Obstacle{chaosv1.ReasonForbidden, "no"} }, "Forbidden"},
		"a restart":   {func(b *suite) { b.o.Others.Disrupted = map[types.UID]bool{"uid-api": true} }, "RestartInProgress"},
		"a blackout":  {func(b *suite) { b.o.Schedule = ScheduleOf(b.p, common.Window{Schedule: "* * * * *", Duration: "1h"}) }, "Blackout"},
		"a fault":     {func(b *suite) { b.o.Owners[0].Fault = "a fault" }, "FaultInjected"},
		"too few":     {func(b *suite) { each(b, func(p *Pod) { p.ReadySince = time.Time{} }) }, "TooFewReady"},
		"not for now": {func(b *suite) { each(b, func(p *Pod) { p.Cordoned = true }) }, "NoCandidate"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newSuite(t)
			b.after(10 * time.Minute) // the process ends before it kills
			c.put(b)
			if d := b.after(time.Second); len(d.Actions) > 0 {
				t.Errorf("%+v", d.Actions)
			}
			if run := b.last(); run.Outcome != chaosv1.RunNoVictim || run.Reason != c.wants || b.p.Status.KilledToday != 0 {
				t.Errorf("%+v, want %s", run, c.wants)
			}
		})
		t.Run(name+", once something died", func(t *testing.T) {
			b := newSuite(t)
			b.kill()
			c.put(b)
			b.after(time.Second)
			if b.p.Status.CurrentRun == nil || b.p.Status.CurrentRun.Phase != chaosv1.RunVerifying {
				t.Fatalf("verification does not go on: %+v", b.p.Status)
			}
			b.o.Owners[0] = b.owner("api", 4)
			b.o.Owners[0].Pods[0].UID, b.o.Owners[0].Pods[1].UID, b.o.Owners[0].Pods[2].UID, b.o.Owners[0].Pods[3].UID = "a", "b", "c", "d"
			b.after(time.Second)
			if run := b.last(); run.Outcome != chaosv1.RunSurvived {
				t.Errorf("%+v", run)
			}
		})
	}
}

// What holds all runs also holds one whose victims are chosen, but no longer than it may be late.
func TestARunThatHasBegunIsHeldUntilItMayKill(t *testing.T) {
	blackout := func(b *suite, schedule string, span common.Duration) {
		b.o.Schedule = ScheduleOf(b.p, common.Window{Schedule: schedule, Duration: span})
	}
	for name, c := range map[string]struct {
		begin, end func(b *suite)
		reason     string
	}{
		"suspicion": {func(b *suite) { b.o.Suspect = true }, func(b *suite) { b.o.Suspect = false }, chaosv1.ReasonProbeSelfSuspect},
		"blackout":  {func(b *suite) { blackout(b, "10 12 * * *", "4m") }, func(*suite) {}, chaosv1.ReasonBlackout},
	} {
		begun := func(t *testing.T) (b *suite, victim types.UID) {
			t.Helper()
			b = newSuite(t)
			victim = b.after(10 * time.Minute).Actions[0].UID // the process ends before it kills
			c.begin(b)
			d := b.after(time.Second)
			if len(d.Actions) > 0 || b.p.Status.CurrentRun == nil || !slices.Equal(b.outcomes(), []chaosv1.VictimOutcome{chaosv1.VictimPending}) {
				t.Fatalf("%+v %+v", d.Actions, b.p.Status)
			}
			b.expectCondition(chaosv1.ConditionHeld, "True/"+c.reason)
			if len(ClaimsOf(&b.p.Status)) != 1 || !slices.Contains(b.notices, "ChaosHeld") || d.RequeueAt.After(b.o.Now.Add(5*time.Minute)) {
				t.Errorf("claims %v, told %q, again %s", ClaimsOf(&b.p.Status), b.notices, d.RequeueAt)
			}
			return b, victim
		}
		t.Run(name+" that ends", func(t *testing.T) {
			b, victim := begun(t)
			if d := b.after(3*time.Minute + 55*time.Second); len(d.Actions) > 0 {
				t.Fatal("it kills while it is held")
			}
			c.end(b)
			d := b.after(4 * time.Second)
			if len(d.Actions) != 1 || d.Actions[0].UID != victim || !b.p.Status.CurrentRun.KillingTime.Time.Equal(b.o.Now) {
				t.Fatalf("%+v %+v", d.Actions, b.p.Status.CurrentRun)
			}
			b.expectCondition(chaosv1.ConditionHeld, "")
			if d := b.after(119 * time.Second); len(d.Actions) != 1 {
				t.Error("the time that it was held counts as time in which it could kill")
			}
		})
		t.Run(name+" during which a pod goes away", func(t *testing.T) {
			b, victim := begun(t)
			b.remove(victim)
			if b.after(time.Second); b.p.Status.CurrentRun.Phase != chaosv1.RunVerifying || b.p.Status.KilledToday != 1 {
				t.Errorf("%+v", b.p.Status)
			}
			b.expectCondition(chaosv1.ConditionHeld, "")
		})
		t.Run(name+" during which nothing can be read", func(t *testing.T) {
			b, _ := begun(t)
			b.o.Unknown, b.o.Owners = "timed out", nil
			if d := b.after(time.Minute); len(d.Actions) > 0 || b.p.Status.CurrentRun == nil {
				t.Errorf("%+v", b.p.Status)
			}
			b.after(10 * time.Minute)
			if b.after(2 * time.Minute); b.p.Status.CurrentRun == nil || b.p.Status.CurrentRun.Phase != chaosv1.RunVerifying {
				t.Errorf("a victim that may have died does not count: %+v", b.p.Status)
			}
		})
		t.Run(name+" that comes when a budget has refused them all", func(t *testing.T) {
			b := newSuite(t)
			d := b.after(10 * time.Minute)
			c.begin(b)
			b.p.Status = Record(b.p, []Result{{Action: d.Actions[0], Outcome: Blocked, Budget: "never"}}, b.o.Now).Status
			b.after(time.Second)
			if run := b.last(); b.p.Status.CurrentRun != nil || run.Reason != chaosv1.ReasonBudgetBlocked || slices.Contains(b.notices, "ChaosHeld") {
				t.Errorf("%+v, told %q", b.p.Status, b.notices)
			}
			b.expectCondition(chaosv1.ConditionHeld, "True/"+chaosv1.ReasonBudgetBlocked)
		})
		t.Run(name+" and a suspension", func(t *testing.T) {
			b, _ := begun(t)
			b.edit(func(s *chaosv1.ChaosPodSpec) { s.Suspend = ptr.To(true) })
			if b.after(time.Second); b.last().Reason != chaosv1.ReasonSuspended {
				t.Errorf("%+v", b.last())
			}
		})
		t.Run(name+" with one victim dead", func(t *testing.T) {
			b := newSuite(t)
			b.o.Owners = append(b.o.Owners, b.owner("web", 4))
			b.edit(func(s *chaosv1.ChaosPodSpec) { s.Count = ptr.To(intstr.FromInt32(2)) })
			b.decide()
			d := b.after(10 * time.Minute)
			b.p.Status = Record(b.p, []Result{{Action: d.Actions[0], Outcome: Done}}, b.o.Now).Status
			b.remove(d.Actions[0].UID)
			c.begin(b)
			if d := b.after(time.Second); len(d.Actions) > 0 {
				t.Fatalf("%+v", d.Actions)
			}
			if got := b.outcomes(); !slices.Equal(got, []chaosv1.VictimOutcome{chaosv1.VictimEvicted, chaosv1.VictimSpared}) || b.p.Status.CurrentRun.Phase != chaosv1.RunVerifying {
				t.Fatalf("%v: %+v", got, b.p.Status.CurrentRun)
			}
			for i := range b.o.Owners {
				if len(b.o.Owners[i].Pods) == 3 {
					b.o.Owners[i].Pods = append(b.o.Owners[i].Pods, b.pod("new"))
				}
			}
			b.after(time.Second)
			if run := b.last(); run.Outcome != chaosv1.RunSurvived || run.Killed != 1 || !strings.Contains(run.Message, "Spared: "+c.reason) {
				t.Errorf("%+v", run)
			}
		})
	}
	t.Run("a suspicion that does not end", func(t *testing.T) {
		b := newSuite(t)
		b.after(10 * time.Minute)
		b.o.Suspect = true
		b.after(time.Second)
		b.after(5 * time.Minute)
		if run := b.last(); run.Outcome != chaosv1.RunNoVictim || run.Reason != chaosv1.ReasonProbeSelfSuspect || b.p.Status.KilledToday != 0 {
			t.Errorf("%+v", run)
		}
	})
	t.Run("a blackout that ends too late", func(t *testing.T) {
		b := newSuite(t)
		b.after(10 * time.Minute)
		blackout(b, "10 12 * * *", "6m")
		if b.after(time.Second); b.last().Reason != chaosv1.ReasonBlackout {
			t.Errorf("%+v", b.last())
		}
	})
	t.Run("a deadline that is far away", func(t *testing.T) {
		b := newSuite(t)
		b.edit(func(s *chaosv1.ChaosPodSpec) { s.Schedule.StartingDeadline = ptr.To(common.Duration("24h")) })
		b.decide()
		b.after(10 * time.Minute)
		b.o.Suspect = true
		b.after(9 * time.Minute)
		if b.p.Status.CurrentRun == nil {
			t.Fatalf("%+v", b.p.Status)
		}
		if b.after(time.Minute); b.p.Status.CurrentRun != nil || b.last().Reason != chaosv1.ReasonProbeSelfSuspect {
			t.Errorf("a run that is held keeps its workloads from others for hours: %+v", b.p.Status)
		}
	})
}

func TestWhatTheServerSays(t *testing.T) {
	for name, c := range map[string]struct {
		outcome Outcome
		run     chaosv1.RunOutcome
		reason  string
		killed  int32
		halted  bool
	}{
		"blocked":       {Blocked, chaosv1.RunNoVictim, chaosv1.ReasonBudgetBlocked, 0, false},
		"misconfigured": {Misconfigured, chaosv1.RunFailed, chaosv1.ReasonEvictionMisconfigured, 0, true},
		"forbidden":     {Forbidden, chaosv1.RunFailed, chaosv1.ReasonForbidden, 0, false},
		"never":         {Retry, chaosv1.RunFailed, chaosv1.ReasonTimedOut, 0, false},
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
			if run.Outcome != c.run || run.Reason != c.reason || b.p.Status.KilledToday != c.killed || (b.p.Status.Halt != nil) != c.halted {
				t.Errorf("%+v", b.p.Status)
			}
			if c.outcome == Blocked {
				b.expectCondition(chaosv1.ConditionHeld, "True/BudgetBlocked")
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

func TestWhatBudgetsRefusedStandsUntilARunIsNotRefused(t *testing.T) {
	b := newSuite(t)
	// ends has the next run's victims answered until it has ended.
	ends := func(refused func(pod string) bool) {
		t.Helper()
		d := b.after(time.Minute)
		for i := 0; len(d.Actions) == 0 && i < 20; i++ {
			d = b.after(time.Minute)
		}
		n := len(b.p.Status.Runs)
		for i := 0; len(b.p.Status.Runs) == n && i < 10; i++ {
			var results []Result
			for _, a := range d.Actions {
				result := Result{Action: a, Outcome: Done}
				if refused(a.Pod) {
					result.Outcome, result.Budget = Blocked, "never"
				}
				results = append(results, result)
			}
			b.p.Status = Record(b.p, results, b.o.Now).Status
			if c := b.p.Status.CurrentRun; c != nil && c.Phase == chaosv1.RunVerifying {
				for _, v := range c.Victims {
					if isDead(v.Outcome) {
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
	if b.after(6 * time.Minute); b.last().Reason != chaosv1.ReasonProbeSelfSuspect {
		t.Fatalf("%+v", b.last())
	}
	wants("a run that asked nothing", api)
	b.o.Suspect = false
	ends(none)
	if b.last().Outcome != chaosv1.RunSurvived {
		t.Fatalf("%+v", b.last())
	}
	wants("a pod has died")

	b.edit(func(s *chaosv1.ChaosPodSpec) { s.DryRun, s.Count = nil, ptr.To(intstr.FromInt32(2)) })
	b.o.Owners = append(b.o.Owners, b.owner("web", 4))
	ends(ofAPI)
	if b.last().Outcome != chaosv1.RunDryRun {
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
	if b.last().Outcome != chaosv1.RunSurvived {
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
		"resume": func(b *suite) {
			b.p.Annotations = map[string]string{chaosv1.ResumeAnnotation: b.o.Now.Format(time.RFC3339)}
		},
		"spec": func(b *suite) { b.edit(func(s *chaosv1.ChaosPodSpec) { s.Count = ptr.To(intstr.FromInt32(1)) }) },
	} {
		t.Run(name, func(t *testing.T) {
			b := newSuite(t)
			b.kill()
			b.after(10 * time.Minute)
			if run := b.last(); run.Outcome != chaosv1.RunRecoveryFailed || b.p.Status.Halt == nil || b.p.Status.NextRunTime != nil {
				t.Fatalf("%+v", b.p.Status)
			}
			b.expectCondition(chaosv1.ConditionSurvived, "False/RecoveryFailed")
			b.expectCondition(chaosv1.ConditionStalled, "True/RecoveryFailed")
			b.o.Owners[0].Pods = append(b.o.Owners[0].Pods, b.pod("new"))
			b.p.Annotations = map[string]string{chaosv1.RunNowAnnotation: "1"}
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
		s.Verification = &chaosv1.Verification{OnFailure: ptr.To(chaosv1.FailureContinue)}
	})
	b.decide()
	b.kill()
	b.after(10 * time.Minute)
	if run := b.last(); run.Outcome != chaosv1.RunRecoveryFailed || b.p.Status.Halt != nil || b.p.Status.NextRunTime == nil {
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
		if run := b.last(); run.Outcome != chaosv1.RunFailed || run.Reason != chaosv1.ReasonTargetGone || b.p.Status.Halt != nil {
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
	if run := b.last(); run.Outcome != chaosv1.RunDryRun || !strings.Contains(run.Message, name) || run.Killed != 0 || b.p.Status.KilledToday != 0 || run.Seed == "" {
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
		if c.wants == 0 && (b.last().Outcome != chaosv1.RunNoVictim || b.last().Reason != chaosv1.ReasonCountZero) {
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
