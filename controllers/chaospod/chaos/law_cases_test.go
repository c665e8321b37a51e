// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	chaosv1 "github.com/fairlead-dev/fairlead/api/chaos/v1"
	"github.com/fairlead-dev/fairlead/api/common"
)

// message returns what a condition says.
func (s *suite) message(kind string) string {
	if c := meta.FindStatusCondition(s.p.Status.Conditions, kind); c != nil {
		return c.Message
	}
	return ""
}

// two adds a second Deployment.
func two(t *testing.T) *suite {
	t.Helper()
	b := newSuite(t)
	b.o.Owners = append(b.o.Owners, b.owner("web", 4))
	return b
}

func TestAFactThatCouldNotBeReadKeepsItsPodAlive(t *testing.T) {
	for name, hide := range map[string]func(*Pod){
		"unprotected":         func(p *Pod) { p.Protected = Unknown },
		"could not be read":   func(p *Pod) { p.Cordoned = Unknown },
		"PodDisruptionBudget": func(p *Pod) { p.Covered = Unknown },
	} {
		b := newSuite(t)
		b.edit(func(s *chaosv1.ChaosPodSpec) { s.Safety = &chaosv1.Safety{RequireDisruptionBudget: ptr.To(true)} })
		b.decide()
		each(b, hide)
		if d := b.after(10 * time.Minute); len(d.Actions) > 0 || d.RequeueAt.Sub(b.o.Now) > heldInterval {
			t.Errorf("%s: %+v, again at %s", name, d.Actions, d.RequeueAt)
		}
		b.expectCondition(chaosv1.ConditionWaiting, "True/Unknown")
		if said := b.message(chaosv1.ConditionWaiting); !strings.Contains(said, name) {
			t.Errorf("%s: says %q", name, said)
		}
		b.o.Cached = true // it shows that the API server is to be asked
		if d := b.decide(); len(d.Actions) != 1 {
			t.Errorf("%s: a cache without the fact begins nothing: %+v", name, d)
		}
	}
}

func TestATargetThatCannotBeReadHasNotFailed(t *testing.T) {
	b := newSuite(t)
	b.kill()
	b.o.Owners[0].Unknown = "timed out"
	b.after(time.Hour)
	if b.p.Status.CurrentRun == nil || !strings.Contains(b.message(chaosv1.ConditionProgressing), "Deployment api cannot be read") {
		t.Fatalf("%+v", b.p.Status)
	}
	b.expectCondition(chaosv1.ConditionReady, "Unknown/Unknown")
	b.o.Owners[0].Unknown = ""
	b.replaced("new")
	if b.after(time.Second); b.last().Result != chaosv1.ResultSurvived {
		t.Errorf("%+v", b.last())
	}
}

func TestTheOrderOfACacheChangesNoStatus(t *testing.T) {
	b := two(t)
	for i := range b.o.Owners {
		b.o.Owners[i].Unstable = "rolls out"
	}
	before := b.after(10 * time.Minute)
	slices.Reverse(b.o.Owners)
	if d := b.decide(); !reflect.DeepEqual(d.Status, before.Status) {
		t.Errorf("%+v\n%+v", before.Status.Conditions, d.Status.Conditions)
	}
}

func TestAWorkloadThatSeveralBudgetsMatchHaltsNoOther(t *testing.T) {
	b := two(t)
	d := b.after(10 * time.Minute)
	wedged := d.Status.CurrentRun.Victims[0].Owner.Name
	b.answer(d, Misconfigured)
	d = b.after(time.Second)
	if len(d.Actions) != 1 || strings.HasPrefix(d.Actions[0].Pod, wedged) {
		t.Fatalf("%+v: %+v", d.Actions, d.Status.CurrentRun)
	}
	b.answer(d, Done)
	b.remove(d.Actions[0].UID)
	for i := range b.o.Owners {
		b.o.Owners[i].Pods = append(b.o.Owners[i].Pods, b.pod(b.o.Owners[i].Name+"-new"))
	}
	if b.after(time.Second); b.last().Result != chaosv1.ResultSurvived || b.p.Status.Halt != nil {
		t.Errorf("%+v", b.p.Status)
	}

	b = two(t)
	b.answer(b.after(10*time.Minute), Misconfigured)
	b.answer(b.after(time.Second), Misconfigured)
	if b.after(time.Second); b.p.Status.Halt == nil || b.p.Status.Halt.Reason != chaosv1.ReasonEvictionMisconfigured {
		t.Errorf("no workload can be evicted from: %+v", b.p.Status)
	}
}

func TestATargetThatIsScaledDownProvesNothing(t *testing.T) {
	b := newSuite(t)
	b.kill()
	b.o.Owners[0].Desired = 3
	b.after(time.Second)
	if run := b.last(); run.Result != chaosv1.ResultFailed || !strings.Contains(run.Message, "Deployment api was scaled from 4 to 3") {
		t.Errorf("%+v", run)
	}
	b.expectCondition(chaosv1.ConditionSurvived, "Unknown/NoRun")

	b = soaks(t) // one that has recovered already keeps what it needs
	b.o.Owners[0].Desired = 3
	if b.after(30 * time.Second); b.last().Result != chaosv1.ResultSurvived {
		t.Errorf("%+v", b.last())
	}
}

func TestAClockThatIsBehindIsToldAndFailsNoRun(t *testing.T) {
	b := newSuite(t)
	b.o.Owners[0].MinReady = 20 * time.Second
	b.kill()
	b.replaced("new")
	b.o.Now = b.o.Now.Add(-time.Hour)
	b.decide()
	if !slices.Contains(b.notices, "ClockSkew") {
		t.Errorf("told %v", b.notices)
	}
	if b.after(19 * time.Second); b.p.Status.CurrentRun == nil {
		t.Errorf("minReadySeconds have not passed: %+v", b.last())
	}
	if b.after(time.Second); b.p.Status.CurrentRun != nil || b.last().Result != chaosv1.ResultSurvived {
		t.Errorf("%+v", b.p.Status)
	}
}

func TestWhatIsNotMadeUpForIsTold(t *testing.T) {
	b := newSuite(t)
	b.p.Status = chaosv1.ChaosPodStatus{}
	b.p.Annotations = map[string]string{chaosv1.RunNowAnnotation: "1"}
	if d := b.decide(); len(d.Messages) != 1 || !strings.Contains(d.Messages[0].Text, `"1"`) || d.Status.HandledRunNow != "1" {
		t.Errorf("a request at creation: %+v", d.Messages)
	}

	b = newSuite(t)
	b.o.Owners[0].Unstable = "rolls out"
	b.after(10 * time.Minute)
	b.edit(func(s *chaosv1.ChaosPodSpec) { s.Verification.Timeout = ptr.To(common.Duration("3m")) })
	told := b.after(time.Second).Messages
	if len(told) != 1 || told[0].Reason != "ChaosMissed" || !strings.Contains(told[0].Text, "Unstable") {
		t.Errorf("a held run and a new spec: %+v", told)
	}
}

func TestEachConditionIsOfTheLatestGeneration(t *testing.T) {
	b := newSuite(t)
	meta.FindStatusCondition(b.p.Status.Conditions, chaosv1.ConditionSurvived).Status = "True" // by a run that is not listed any more
	b.edit(func(*chaosv1.ChaosPodSpec) {})
	for _, c := range b.decide().Status.Conditions {
		if c.ObservedGeneration != b.p.Generation {
			t.Errorf("%s is of generation %d", c.Type, c.ObservedGeneration)
		}
	}
}

// A gate counts a verdict that is about the generation of the spec, and its age from the end of the run.
func TestAVerdictIsAboutItsTarget(t *testing.T) {
	b := newSuite(t)
	b.kill()
	b.replaced("new")
	b.after(time.Second)
	b.expectCondition(chaosv1.ConditionSurvived, "True/Recovered")
	verdict := func() metav1.Condition {
		return *meta.FindStatusCondition(b.p.Status.Conditions, chaosv1.ConditionSurvived)
	}
	ended := *b.last().CompletionTime
	if got := verdict(); !got.LastTransitionTime.Equal(&ended) || got.ObservedGeneration != b.p.Generation {
		t.Errorf("%+v, and the run ended at %s", got, ended)
	}
	of := func(name string) func(*chaosv1.ChaosPodSpec) {
		return func(s *chaosv1.ChaosPodSpec) { s.Target.Workload.Name = name }
	}
	b.edit(of("web"))
	if verdict().ObservedGeneration == b.p.Generation {
		t.Error("before it was looked at, the verdict about another target counts")
	}
	for range 2 {
		b.after(time.Second)
		b.expectCondition(chaosv1.ConditionSurvived, "Unknown/NoRun")
	}
	b.edit(of("api"))
	b.after(time.Second)
	b.expectCondition(chaosv1.ConditionSurvived, "True/Recovered")
	if got := verdict(); !got.LastTransitionTime.Equal(&ended) {
		t.Errorf("%+v, and the run ended at %s", got, ended)
	}

	b.p.Status.VerifiedTarget = "" // by an earlier version of the operator
	if b.after(time.Second); b.p.Status.VerifiedTarget == "" {
		t.Errorf("%+v", b.p.Status)
	}
	b.p.Status.VerifiedTarget = ""
	b.edit(of("web"))
	b.after(time.Second)
	b.expectCondition(chaosv1.ConditionSurvived, "Unknown/NoRun")
}

// A gate counts the latest run that was survived.
func TestEachVerdictIsSinceTheEndOfItsRun(t *testing.T) {
	b := newSuite(t)
	var before metav1.Time
	for _, name := range []string{"new", "newer"} {
		b.kill()
		b.replaced(name)
		b.after(time.Second)
		verdict := meta.FindStatusCondition(b.p.Status.Conditions, chaosv1.ConditionSurvived)
		if ended := b.last().CompletionTime; b.last().Result != chaosv1.ResultSurvived || !verdict.LastTransitionTime.Equal(ended) || !before.Before(ended) {
			t.Errorf("%s: %+v after %+v", name, verdict, b.last())
		}
		before = verdict.LastTransitionTime
	}
}

func TestTheVerdictOfARunUnderWayIsAboutTheTargetThatItBeganWith(t *testing.T) {
	b := newSuite(t)
	b.kill()
	b.edit(func(s *chaosv1.ChaosPodSpec) { s.Target.Workload.Name = "web" })
	b.replaced("new")
	if b.after(time.Second); b.last().Result != chaosv1.ResultSurvived {
		t.Errorf("%+v", b.last())
	}
	b.expectCondition(chaosv1.ConditionSurvived, "Unknown/NoRun")
}
