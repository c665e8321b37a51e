// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	chaosv1 "github.com/fairlead-dev/fairlead/api/chaos/v1"
	"github.com/fairlead-dev/fairlead/api/common"
	"github.com/fairlead-dev/fairlead/internal/disruption"
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
	b.expectCondition(chaosv1.ConditionProgressing, "True/Killing")
	if got := ClaimsOf(&b.p.Status); !slices.Equal(got, []disruption.Claim{{UID: "uid-api"}}) {
		t.Errorf("claims %v", got)
	}
	b.answer(d, Done)
	b.expectCondition(chaosv1.ConditionProgressing, "True/Verifying")
	if b.after(time.Second); b.p.Status.CurrentRun == nil {
		t.Fatal("a view that still shows the victim as ready counts as recovered")
	}
	b.remove(d.Actions[0].UID)
	b.after(40 * time.Second)
	b.o.Owners[0].Pods = append(b.o.Owners[0].Pods, b.pod("new"))
	b.after(time.Second)
	if run := b.last(); run.Result != chaosv1.ResultSurvived || run.RecoveryDuration == nil || *run.RecoveryDuration != "42s" || run.Killed != 1 || b.p.Status.KilledToday != 1 || b.p.Status.LastSuccessfulRunTime == nil {
		t.Errorf("%+v", b.p.Status)
	}
	expectOwner(t, b.last())
	b.expectCondition(chaosv1.ConditionSurvived, "True/Recovered")
	b.expectCondition(chaosv1.ConditionProgressing, "False/Idle")
	if want := []string{"ChaosPlanned", "PodEvicted", "Recovered"}; !slices.Equal(b.notices, want) {
		t.Errorf("told %v, want %v", b.notices, want)
	}
}

// An interval of ten minutes whose next run is tomorrow would otherwise look like a fault.
func TestReadySaysThatTheNextRunWaitsForAnotherDay(t *testing.T) {
	b := newSuite(t)
	b.p.Status.KilledDay, b.p.Status.KilledToday = "2026-03-02", 8
	b.decide()
	want := "the next run is due at 2026-03-03T00:00:00Z; safety.maxPerDay is reached: 8 pods killed on 2026-03-02"
	if got := b.message(chaosv1.ConditionReady); got != want {
		t.Errorf("%q, want %q", got, want)
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
	if b.after(time.Second); b.last().Result != chaosv1.ResultSurvived {
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
func (s *suite) replaced(name string) {
	pod := s.pod(name)
	pod.Created, pod.ReadySince = s.o.Now.Add(-5*time.Second), s.o.Now
	s.o.Owners[0].Pods = append(s.o.Owners[0].Pods, pod)
}

func TestATargetThatIsReadyMustStaySo(t *testing.T) {
	survives := func(t *testing.T, b *suite, took common.Duration) {
		t.Helper()
		if run := b.last(); run.Result != chaosv1.ResultSurvived || *run.RecoveryDuration != took {
			t.Errorf("recovered in %s, want %s: %+v", *run.RecoveryDuration, took, run)
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
			survives(t, b, "40s")
		},
		"another leader goes on": func(t *testing.T, b *suite) {
			b.after(20 * time.Second)
			since := b.p.Status.CurrentRun.ReadyTime.Time
			if d := b.after(0); !d.RequeueAt.Equal(since.Add(30 * time.Second)) {
				t.Fatalf("again %s", d.RequeueAt)
			}
			b.after(10 * time.Second)
			survives(t, b, "40s")
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
			survives(t, b, "1m5s")
		},
		"it falls back while nothing looks": func(t *testing.T, b *suite) {
			b.o.Now = b.o.Now.Add(20 * time.Second)
			regain(b)
			b.o.Now = b.o.Now.Add(10 * time.Second)
			if b.decide(); b.p.Status.CurrentRun == nil || !b.p.Status.CurrentRun.ReadyTime.Time.Equal(b.o.Now.Add(-10*time.Second)) {
				t.Fatalf("%+v", b.p.Status)
			}
			b.after(20 * time.Second)
			survives(t, b, "1m")
		},
		"pods are replaced by a rollout": func(t *testing.T, b *suite) {
			b.o.Now = b.o.Now.Add(20 * time.Second)
			b.remove("uid-api-0")
			b.replaced("newer")
			b.after(10 * time.Second)
			survives(t, b, "40s")
		},
		"the clock of its node is ahead": func(t *testing.T, b *suite) {
			b.o.Owners[0].Pods[3].ReadySince = b.o.Now.Add(time.Hour)
			b.after(30 * time.Second)
			survives(t, b, "40s")
		},
		"it fails too late to come back": func(t *testing.T, b *suite) {
			b.edit(func(s *chaosv1.ChaosPodSpec) { s.Verification.Soak = ptr.To(common.Duration("20m")) })
			b.after(10 * time.Minute)
			if b.p.Status.CurrentRun == nil || b.p.Status.Halt != nil {
				t.Fatalf("a soak that goes on is no failure: %+v", b.p.Status)
			}
			lose(b)
			b.after(time.Second)
			if run := b.last(); run.Result != chaosv1.ResultRecoveryFailed || b.p.Status.Halt == nil {
				t.Errorf("%+v", run)
			}
			expectOwner(t, b.last())
		},
		"it came back too late": func(t *testing.T, b *suite) {
			b.o.Now = b.o.Now.Add(10 * time.Minute)
			regain(b)
			b.after(time.Minute)
			if run := b.last(); run.Result != chaosv1.ResultRecoveryFailed || !strings.Contains(run.Message, "did not keep its pods ready") {
				t.Errorf("%+v", run)
			}
			expectOwner(t, b.last())
		},
		"it is gone": func(t *testing.T, b *suite) {
			b.o.Owners = nil
			b.after(time.Second)
			if run := b.last(); run.Result != chaosv1.ResultFailed || run.Reason != chaosv1.ReasonTargetGone {
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
			b.expectCondition(chaosv1.ConditionWaiting, "False/NothingPending")
			continue
		}
		b.after(5 * time.Minute)
		if run := b.last(); run.Result != chaosv1.ResultNoVictim || run.Reason != chaosv1.ReasonUnstable {
			t.Errorf("%+v", run)
		}
		b.o.Owners[0].Unstable = ""
		if d := b.after(time.Minute); len(d.Actions) > 0 {
			t.Error("a missed run is made up")
		}
	}
}

func TestAnInvalidSpecIsNotIdle(t *testing.T) {
	b := newSuite(t)
	b.o.BlockedBy = Obstacle{chaosv1.ReasonInvalidSpec, "schedule.cron has no match"}
	b.after(time.Second)
	b.expectCondition(chaosv1.ConditionProgressing, "False/InvalidSpec")
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
		"a blackout":  {func(b *suite) { b.blackout("* * * * *", "1h") }, "Blackout"},
		"a fault":     {func(b *suite) { b.o.Owners[0].Fault = "a fault" }, "FaultInjected"},
		"too few":     {func(b *suite) { each(b, func(p *Pod) { p.ReadySince = time.Time{} }) }, "TooFewReady"},
		"not for now": {func(b *suite) { each(b, func(p *Pod) { p.Cordoned = True }) }, "NoCandidate"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newSuite(t)
			b.after(10 * time.Minute) // the process ends before it kills
			c.put(b)
			if d := b.after(time.Second); len(d.Actions) > 0 {
				t.Errorf("%+v", d.Actions)
			}
			if run := b.last(); run.Result != chaosv1.ResultNoVictim || run.Reason != c.wants || b.p.Status.KilledToday != 0 {
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
			if run := b.last(); run.Result != chaosv1.ResultSurvived {
				t.Errorf("%+v", run)
			}
		})
	}
}

// What holds all runs also holds one whose victims are chosen, but no longer than it may be late.
func TestARunThatHasBegunIsHeldUntilItMayKill(t *testing.T) {
	for name, c := range map[string]struct {
		begin, end func(b *suite)
		reason     string
	}{
		"suspicion": {func(b *suite) { b.o.Suspect = true }, func(b *suite) { b.o.Suspect = false }, chaosv1.ReasonProbesInconclusive},
		"blackout":  {func(b *suite) { b.blackout("10 12 * * *", "4m") }, func(*suite) {}, chaosv1.ReasonBlackout},
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
			b.expectCondition(chaosv1.ConditionWaiting, "True/"+c.reason)
			if len(ClaimsOf(&b.p.Status)) != 1 || !slices.Contains(b.notices, "ChaosWaiting") || d.RequeueAt.After(b.o.Now.Add(5*time.Minute)) {
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
			b.expectCondition(chaosv1.ConditionWaiting, "False/NothingPending")
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
			b.expectCondition(chaosv1.ConditionWaiting, "False/NothingPending")
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
			b.p.Status = Record(b.p, []Result{{Action: d.Actions[0], Outcome: Blocked, Budget: "never"}}, b.o.Now, b.o.Requests).Status
			b.after(time.Second)
			if run := b.last(); b.p.Status.CurrentRun != nil || run.Reason != chaosv1.ReasonBudgetBlocked || slices.Contains(b.notices, "ChaosWaiting") {
				t.Errorf("%+v, told %q", b.p.Status, b.notices)
			}
			b.expectCondition(chaosv1.ConditionWaiting, "True/"+chaosv1.ReasonBudgetBlocked)
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
			b.p.Status = Record(b.p, []Result{{Action: d.Actions[0], Outcome: Done}}, b.o.Now, b.o.Requests).Status
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
			if run := b.last(); run.Result != chaosv1.ResultSurvived || run.Killed != 1 || !strings.Contains(run.Message, "Spared: "+c.reason) {
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
		if run := b.last(); run.Result != chaosv1.ResultNoVictim || run.Reason != chaosv1.ReasonProbesInconclusive || b.p.Status.KilledToday != 0 {
			t.Errorf("%+v", run)
		}
	})
	t.Run("a blackout that ends too late", func(t *testing.T) {
		b := newSuite(t)
		b.after(10 * time.Minute)
		b.blackout("10 12 * * *", "6m")
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
		if b.after(time.Minute); b.p.Status.CurrentRun != nil || b.last().Reason != chaosv1.ReasonProbesInconclusive {
			t.Errorf("a run that is held keeps its workloads from others for hours: %+v", b.p.Status)
		}
	})
}

// expectOwner wants a reader of the record to find the workload that it is about.
func expectOwner(t *testing.T, run chaosv1.Run) {
	t.Helper()
	if got := OwnersIn(&run); len(got) != 1 || got[0] != (chaosv1.VictimOwner{Kind: "Deployment", Name: "api"}) {
		t.Errorf("%q names %+v", run.Message, got)
	}
}

func TestOnlyARunThatWasVerifiedNamesOwners(t *testing.T) {
	for message, want := range map[string]int{
		"died: pod a of Deployment api (Evicted); pod b of Deployment web (Spared: TooFewReady); pod c of StatefulSet db (Deleted); and 2 more": 2,
		"died: pod a of Deployment api":                                  0,
		"died: pod " + strings.Repeat("a", 253) + " of Deployment ap...": 0,
		"Deployment api has 1 of 3 pods ready":                           0,
		"":                                                               0,
	} {
		run := chaosv1.Run{Record: common.Record{Result: chaosv1.ResultSurvived, Message: message}}
		if got := OwnersIn(&run); len(got) != want {
			t.Errorf("%q names %+v", message, got)
		}
		run.Result = chaosv1.ResultDryRun
		if got := OwnersIn(&run); got != nil {
			t.Errorf("a dry run names %+v", got)
		}
	}
}
