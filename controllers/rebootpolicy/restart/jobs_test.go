// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package restart

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/intstr"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/api/common"
)

// addJobGate adds a gate whose Job is created from the CronJob backup.
func (b *suite) addJobGate() {
	b.p.Spec.Gates = []autorebootv1.Gate{{
		Name: "before", Type: autorebootv1.GateJobSucceeded, JobSucceeded: &autorebootv1.JobFromCronJob{CronJob: "backup"},
	}}
}

// setJob sets what became of the Job for the pending restart of a target, of which the gate is added.
func (b *suite) setJob(i int, j Job) {
	b.addJobGate()
	r := newRun(b.p, b.o)
	b.o.Jobs = map[string]Job{r.jobName(b.workload(i), &r.jobGates[0], b.target(i).Pending.FirstRequestTime.UTC().Format(time.RFC3339)): j}
}

// create expects that a decision creates Jobs alone, from a CronJob for a number of workloads.
func (b *suite) create(d Decision, cronJob string, n int) (names []string) {
	b.t.Helper()
	for _, a := range d.Actions {
		if a.Verb != CreateJob || a.CronJob != cronJob {
			b.t.Fatalf("%s %s: %s", a.Verb, a.CronJob, d.PendingMessage)
		}
		names = append(names, a.ID)
	}
	if len(names) != n {
		b.t.Fatalf("%d Jobs, want %d: %s", len(names), n, d.PendingMessage)
	}
	return names
}

func TestARestartWaitsForItsJob(t *testing.T) {
	b := newSuite(t)
	b.p.Name = "payments.shop"
	b.addJobGate()
	b.change("new")
	if d := b.decide(); len(d.Actions) != 0 {
		t.Fatalf("a Job is created while the change settles: %+v", d.Actions)
	}
	d := b.after(time.Minute)
	name := b.create(d, "backup", 1)[0]
	if a := d.Actions[0]; a.Deadline != 10*time.Minute || a.KeepFor != time.Hour || a.Workload.Name != "api" ||
		!regexp.MustCompile(`^payments\.shop-[0-9a-f]{16}$`).MatchString(name) {
		t.Errorf("%s: %+v", name, a)
	}
	if again := b.create(b.after(time.Second), "backup", 1)[0]; again != name {
		t.Errorf("another process creates %s as well as %s", again, name)
	}
	b.o.Jobs = map[string]Job{name: {State: JobRunning, Message: "Suspended: by a queue"}}
	b.create(b.after(time.Minute), "backup", 0)
	if p := b.target(0).Pending; p.Reason != autorebootv1.ReasonJobRunning {
		t.Errorf("%+v", p)
	}
	b.o.Jobs[name] = Job{State: JobFailed, Message: "BackoffLimitExceeded"}
	d = b.after(time.Minute)
	if p := b.target(0).Pending; p.Reason != autorebootv1.ReasonJobFailed || len(d.Actions) > 0 || !strings.Contains(d.PendingMessage, "gate before: Job "+name+" failed (BackoffLimitExceeded)") {
		t.Errorf("%+v: %s", p, d.PendingMessage)
	}
	delete(b.o.Jobs, name)
	b.create(b.after(time.Minute), "backup", 1)
	b.o.Jobs[name] = Job{State: JobSucceeded}
	b.o.Calendar.Window = false
	if b.create(b.after(time.Minute), "backup", 0); b.target(0).Pending.Reason != autorebootv1.ReasonOutsideWindow {
		t.Errorf("%+v", b.target(0).Pending)
	}
	b.o.Calendar.Window = true
	if d := b.after(time.Minute); len(d.Actions) != 1 || d.Actions[0].Verb != Annotate {
		t.Errorf("%+v", d.Actions)
	}
}

func TestAJobThatIsRefusedIsCreatedLater(t *testing.T) {
	b := newSuite(t)
	b.addJobGate()
	b.change("new")
	b.decide()
	name := b.create(b.after(time.Minute), "backup", 1)[0]
	b.o.Jobs = map[string]Job{name: {State: JobRefused, Message: "exceeded quota", Retry: b.o.Now.Add(time.Minute)}}
	d := b.after(time.Second)
	b.create(d, "backup", 0)
	b.expectPending(d, 0, autorebootv1.ReasonJobFailed, 59*time.Second)
	if !strings.HasSuffix(d.PendingMessage, "gate before: exceeded quota") {
		t.Error(d.PendingMessage)
	}
	b.create(b.after(time.Minute), "backup", 1)
}

func TestAJobOfTheVerificationThatIsRefusedIsCreatedWithinItsDeadline(t *testing.T) {
	b := newSuite(t)
	b.p.Spec.Verification = &autorebootv1.Verification{Job: &autorebootv1.JobFromCronJob{CronJob: "smoke-test"}}
	b.start()
	b.workload(0).Pods = []Pod{{Name: "new-1", Created: b.o.Now.Add(time.Second), Ready: true}, {Name: "new-2", Created: b.o.Now.Add(time.Second), Ready: true}}
	name := b.create(b.after(10*time.Second), "smoke-test", 1)[0]
	for range 3 {
		retry := b.o.Now.Add(time.Minute)
		b.o.Jobs = map[string]Job{name: {State: JobRefused, Message: "exceeded quota", Retry: retry}}
		d := b.after(time.Second)
		b.create(d, "smoke-test", 0)
		if d.RequeueAt.IsZero() || d.RequeueAt.After(retry) {
			t.Errorf("again at %s, want %s", d.RequeueAt, retry)
		}
		b.create(b.after(time.Minute), "smoke-test", 1)
	}
	b.o.Jobs[name] = Job{State: JobSucceeded}
	if d := b.after(time.Minute); len(d.Status.History) != 1 || d.Status.History[0].Result != autorebootv1.ResultSucceeded {
		t.Errorf("%+v", d.Status)
	}
}

// As many Jobs run as restarts may, and none for what a dry run would restart.
func TestJobsAreCreatedForWhatMayRestart(t *testing.T) {
	b := newSuite(t, "a", "b", "c")
	most := intstr.FromInt32(2)
	b.p.Spec.Concurrency = &autorebootv1.Concurrency{MaxTargets: &most}
	b.addJobGate()
	b.change("new")
	b.decide()
	on := true
	b.p.Spec.DryRun = &on
	b.create(b.after(time.Minute), "backup", 0)
	if b.target(0).Pending.Reason != autorebootv1.ReasonDryRun {
		t.Errorf("%+v", b.target(0).Pending)
	}
	b.p.Spec.DryRun = nil
	names := b.create(b.after(time.Second), "backup", 2)
	if b.target(2).Pending.Reason != autorebootv1.ReasonConcurrencyLimit {
		t.Errorf("%+v", b.target(2).Pending)
	}
	b.o.Jobs = map[string]Job{names[0]: {State: JobFailed}, names[1]: {State: JobRunning}}
	b.create(b.after(time.Second), "backup", 1) // one that failed takes no place
}

func TestARestartIsVerifiedByItsJob(t *testing.T) {
	for name, c := range map[string]struct {
		became    Job
		after     time.Duration
		result    string
		reason    string
		says      string
		onFailure common.FailurePolicy
	}{
		"succeeded":   {Job{State: JobSucceeded}, time.Minute, autorebootv1.ResultSucceeded, autorebootv1.ReasonStayedAvailable, "", common.FailureHalt},
		"failed":      {Job{State: JobFailed, Message: "DeadlineExceeded"}, time.Second, autorebootv1.ResultFailed, autorebootv1.ReasonJobFailed, "failed (DeadlineExceeded)", common.FailureHalt},
		"is ignored":  {Job{State: JobFailed}, time.Second, autorebootv1.ResultFailed, autorebootv1.ReasonJobFailed, "failed", common.FailureContinue},
		"was refused": {Job{State: JobRefused, Message: "exceeded quota", Retry: noon().Add(24 * time.Hour)}, 5 * time.Minute, autorebootv1.ResultFailed, autorebootv1.ReasonJobFailed, "exceeded quota", common.FailureHalt},
		"hangs":       {Job{State: JobRunning}, 5 * time.Minute, autorebootv1.ResultFailed, autorebootv1.ReasonJobFailed, "did not end", common.FailureHalt},
	} {
		t.Run(name, func(t *testing.T) {
			b := newSuite(t)
			deadline := common.Duration("2m")
			b.p.Spec.Verification = &autorebootv1.Verification{Verification: common.Verification{OnFailure: &c.onFailure}}
			b.p.Spec.Verification.Job = &autorebootv1.JobFromCronJob{CronJob: "smoke-test", Deadline: &deadline}
			b.start()
			b.workload(0).Pods = []Pod{{Name: "new-1", Created: b.o.Now.Add(time.Second), Ready: true}, {Name: "new-2", Created: b.o.Now.Add(time.Second), Ready: true}}
			job := b.create(b.after(10*time.Second), "smoke-test", 1)[0]
			if d := b.after(time.Minute); len(d.Status.InFlight) != 1 || d.RequeueAt.IsZero() {
				t.Fatalf("%+v", d.Status.History)
			}
			b.o.Jobs = map[string]Job{job: c.became}
			d := b.after(c.after)
			if len(d.Status.History) != 1 {
				t.Fatalf("%+v", d.Status.InFlight)
			}
			record := d.Status.History[0]
			if record.Result != c.result || record.Reason != c.reason || !strings.Contains(record.Message, c.says) ||
				(d.Status.Halt != nil) != (c.result == autorebootv1.ResultFailed && c.onFailure == common.FailureHalt) || b.target(0).Pending != nil {
				t.Errorf("%+v, halt %+v, pending %+v", record, d.Status.Halt, b.target(0).Pending)
			}
		})
	}
}
