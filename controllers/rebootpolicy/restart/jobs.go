// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package restart

import (
	"cmp"
	"time"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	rules "github.com/fairlead-dev/fairlead/internal/rules/rebootpolicy"
)

// jobGrace is how long after its deadline a Job may still run: the Job controller ends it.
const jobGrace = time.Minute

// maxJobPrefix is how much of the name of a policy a Job has in its own, which has 63 characters at most.
const maxJobPrefix = 46

// keepJobFor is how long a Job is kept after its end. Until then one that has succeeded counts, and one that has failed holds.
const keepJobFor = time.Hour

// job is one that the spec asks for.
type job struct {
	gate, cronJob     string
	deadline, keepFor time.Duration
}

func jobOf(gate string, of *autorebootv1.JobFromCronJob, keepFor time.Duration) *job {
	if of == nil {
		return nil
	}
	return &job{gate, of.CronJob, durationOr(of.Deadline, rules.DefaultJobDeadline), keepFor}
}

// jobName returns the name of the Job of one restart, so that it is created once whatever process creates it. What identifies the
// restart is when it was asked for, or its id.
func (r *run) jobName(w *Workload, of *job, restart string) string {
	prefix := r.policy.Name
	if len(prefix) > maxJobPrefix {
		prefix = prefix[:maxJobPrefix]
	}
	// An end such as a dot in the middle of the name could not be followed by a hyphen.
	for prefix != "" && !isAlphanumeric(prefix[len(prefix)-1]) {
		prefix = prefix[:len(prefix)-1]
	}
	return prefix + "-" + shortDigest([]string{string(r.policy.UID), string(w.UID), of.gate, of.cronJob, restart})
}

func isAlphanumeric(c byte) bool { return c >= 'a' && c <= 'z' || c >= '0' && c <= '9' }

// action returns the one that creates a Job.
func (of *job) action(name string, w *Workload) *Action {
	return &Action{Verb: CreateJob, ID: name, Workload: w, CronJob: of.cronJob, Deadline: of.deadline, KeepFor: of.keepFor}
}

// checkJob holds a restart until the Job of each gate of type JobSucceeded has succeeded, one after the other. A Job is created when
// nothing else holds the restart: the checks that follow are those of what other restarts take.
func (r *run) checkJob(t *target) (admission, bool) {
	for i := range r.jobGates {
		of := &r.jobGates[i]
		name := r.jobName(t.workload, of, t.Pending.FirstRequestTime.UTC().Format(time.RFC3339))
		observed := r.observed.Jobs[name]
		if observed.State == JobSucceeded {
			continue
		}
		return r.holdForJob(t, of, name, observed)
	}
	return admission{}, false
}

func (r *run) holdForJob(t *target, of *job, name string, observed Job) (v admission, holds bool) {
	gate := "gate " + of.gate + ": "
	switch observed.State {
	case JobFailed:
		v = held(autorebootv1.ReasonJobFailed, gate+"Job "+name+" failed"+inParentheses(observed.Message)+
			": it is created again once it is deleted, or an hour after its end")
	case JobRefused:
		v = held(autorebootv1.ReasonJobFailed, gate+observed.Message)
		v.until = observed.Retry
	default:
		v = held(autorebootv1.ReasonJobRunning, gate+"for Job "+name+" to succeed"+inParentheses(observed.Message))
	}
	if observed.isDue(r.now) {
		if _, isHeld := r.checkConcurrencyLimit(t); isHeld || r.dryRun {
			return v, observed.State != ""
		}
		v.action = of.action(name, t.workload)
	}
	return v, true
}

// verificationJob returns the Job of the verification of a restart; nil where there is none.
func (r *run) verificationJob(w *Workload, f *autorebootv1.InFlightRestart) (of *job, name string, observed Job) {
	if of = r.jobAfter; of != nil && w.Unselected { // nothing is done for it any more
		of = nil
	}
	if of != nil {
		name = r.jobName(w, of, f.ID)
		observed = r.observed.Jobs[name]
	}
	return of, name, observed
}

// nextJobEvent fails a restart whose Job failed while it soaks.
func (r *run) nextJobEvent(t *target, f *autorebootv1.InFlightRestart) (occurrence, bool) {
	of, name, observed := r.verificationJob(t.workload, f)
	r.requeueAt(observed.Retry)
	if of == nil || f.Phase != autorebootv1.PhaseSoaking || observed.State != JobFailed {
		return occurrence{}, false
	}
	return r.proofFailed(t, f, autorebootv1.ReasonJobFailed, "Job "+name+" failed"+inParentheses(observed.Message)), true
}

// awaitsJob reports whether the verdict waits for the Job of the verification, which has its deadline from the begin of the soak. A
// restart whose Job could not be created until then, or did not end, has failed.
func (r *run) awaitsJob(t *target, f *autorebootv1.InFlightRestart) (o occurrence, failed, waits bool) {
	of, name, observed := r.verificationJob(t.workload, f)
	if of == nil || observed.State == JobSucceeded {
		return occurrence{}, false, false
	}
	if until := timeOf(f.PhaseTime).Add(of.deadline + jobGrace); r.now.Before(until) {
		r.requeueAt(until)
		return occurrence{}, false, true
	}
	message := "Job " + name + " did not end" + inParentheses(observed.Message)
	if observed.State == JobRefused || observed.State == "" {
		message = cmp.Or(observed.Message, "Job "+name+" could not be created")
	}
	return r.proofFailed(t, f, autorebootv1.ReasonJobFailed, message), true, false
}

// verificationJobAction returns the action that creates the Job of the verification; nil where it is not due.
func (r *run) verificationJobAction(w *Workload, f *autorebootv1.InFlightRestart) *Action {
	of, name, observed := r.verificationJob(w, f)
	if of == nil || f.Phase != autorebootv1.PhaseSoaking || !observed.isDue(r.now) {
		return nil
	}
	return of.action(name, w)
}

// isDue reports whether the Job is to be created.
func (j Job) isDue(now time.Time) bool {
	return j.State == "" || j.State == JobRefused && !j.Retry.After(now)
}
