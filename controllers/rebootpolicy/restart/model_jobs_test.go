// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package restart

import (
	"maps"
	"time"

	"k8s.io/apimachinery/pkg/types"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/api/common"
)

// The CronJobs of the model: one for the gate, one for the verification.
const (
	backup    = "backup"
	smokeTest = "smoke-test"
)

// simJobs are the Jobs of the cluster, by name, and what its controllers do.
type simJobs struct {
	jobs map[string]*simJob
	// refused are those that this process could not create.
	refused map[string]Job
	// fail and refuse: what is created fails, or is not created.
	fail, refuse bool
}

// simJob takes simJobTakes, and is deleted after keepFor.
type simJob struct {
	workload       types.UID
	cronJob        string
	state          JobState
	created, ended time.Time
	keepFor        time.Duration
}

const simJobTakes = 10 * time.Second

// hasJobs reports whether the policy of a seed has a gate and a verification with a Job.
func hasJobs(seed uint64) bool { return seed >= 30_000 && seed%2 == 0 }

func addJobs(spec *autorebootv1.RebootPolicySpec) {
	deadline := common.Duration("2m")
	spec.Gates = append(spec.Gates, autorebootv1.Gate{
		Name: "backup", Type: autorebootv1.GateJobSucceeded, JobSucceeded: &autorebootv1.JobFromCronJob{CronJob: backup, Deadline: &deadline},
	})
	spec.Verification.Job = &autorebootv1.JobFromCronJob{CronJob: smokeTest, Deadline: &deadline}
}

// observe has time pass for the Jobs, and returns what the shell reads.
func (s *simJobs) observe(now time.Time) map[string]Job {
	all := maps.Clone(s.refused)
	if all == nil {
		all = map[string]Job{}
	}
	for name, j := range s.jobs {
		switch {
		case j.state == JobRunning && !now.Before(j.created.Add(simJobTakes)):
			j.state, j.ended = JobSucceeded, now
			if s.fail {
				j.state = JobFailed
			}
		case j.state != JobRunning && !now.Before(j.ended.Add(j.keepFor)):
			delete(s.jobs, name)
			continue
		}
		all[name] = Job{State: j.state}
	}
	return all
}

// wakes returns when a Job changes next, if that is before another time.
func (s *simJobs) wakes(before time.Time) time.Time {
	for _, j := range s.jobs {
		at := j.created.Add(simJobTakes)
		if j.state != JobRunning {
			at = j.ended.Add(j.keepFor)
		}
		if before.IsZero() && j.state != JobSucceeded || at.Before(before) {
			before = at
		}
	}
	return before
}

// create creates a Job, unless the API server refuses it.
func (s *simJobs) create(a Action, now time.Time) {
	switch {
	case s.refuse:
		s.refused[a.ID] = Job{State: JobRefused, Message: "exceeded quota: jobs", Retry: now.Add(refusedInterval)}
	case s.jobs[a.ID] == nil:
		s.jobs[a.ID] = &simJob{workload: a.Workload.UID, cronJob: a.CronJob, state: JobRunning, created: now, keepFor: a.KeepFor}
		delete(s.refused, a.ID)
	}
}

// clone is of a cluster that goes its own way.
func (s *simJobs) clone() simJobs {
	c := simJobs{jobs: map[string]*simJob{}, refused: maps.Clone(s.refused), fail: s.fail, refuse: s.refuse}
	for name, j := range s.jobs {
		own := *j
		c.jobs[name] = &own
	}
	return c
}

// succeeded reports whether a Job of a workload has succeeded since a time.
func (s *simJobs) succeeded(cronJob string, workload types.UID, since time.Time) bool {
	for _, j := range s.jobs {
		if j.cronJob == cronJob && j.workload == workload && j.state == JobSucceeded && !j.created.Before(since) {
			return true
		}
	}
	return false
}

// checkJobs sees that nothing restarts before the Job that was created for it has succeeded, and that nothing is verified before
// that of its verification has.
func (m *model) checkJobs(d Decision) {
	if m.policy.Spec.Verification.Job == nil {
		return
	}
	for uid := range planned(m.policy, &d) {
		for _, t := range m.policy.Status.Targets {
			if t.UID == uid && t.Pending != nil && !m.succeeded(backup, uid, t.Pending.FirstRequestTime.Time) {
				m.fail("%s restarts, and no Job for it has succeeded", t.Name)
			}
		}
	}
	for _, n := range d.Messages {
		if n.Ended == nil || n.Ended.Result != autorebootv1.ResultSucceeded {
			continue
		}
		s := m.workload(n.Target.Name)
		if s != nil && !s.unselected && !m.succeeded(smokeTest, types.UID(s.uid), n.Ended.StartTime.Time) {
			m.fail("%s is verified, and the Job of its verification has not succeeded", n.Ended.ID)
		}
	}
	running := 0
	for _, j := range m.jobs {
		if j.cronJob == backup && j.state == JobRunning {
			running++
		}
	}
	if most := len(m.workloads); running > most {
		m.fail("%d Jobs of a gate run for %d workloads", running, most)
	}
}
