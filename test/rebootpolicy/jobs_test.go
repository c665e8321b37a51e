// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	"fmt"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
)

// cronJob creates a suspended CronJob, or gives the one that is there this fault of its pods; none where it is empty.
func (s *suite) cronJob(name, fault string) {
	s.Helper()
	labels := ""
	if fault != "" {
		labels = ", labels: {fault: " + fault + "}"
	}
	s.Apply(fmt.Sprintf(`{apiVersion: batch/v1, kind: CronJob, metadata: {name: %s}, spec: {schedule: "0 0 1 1 *", suspend: true,
		jobTemplate: {metadata: {labels: {team: shop}}, spec: {backoffLimit: 0, ttlSecondsAfterFinished: 0, template: {metadata: {annotations: {kept: "yes"}%s},
		spec: {restartPolicy: Never, containers: [{name: main, image: none}]}}}}}}`, name, labels))
}

// jobs returns those of a policy whose names begin with it.
func (s *suite) jobs(policy string) []batchv1.Job {
	s.Helper()
	var list batchv1.JobList
	s.Must(s.Client.List(s.Context(), &list, client.InNamespace(s.Namespace), client.HasLabels{autorebootv1.JobLabel}))
	var found []batchv1.Job
	for i := range list.Items {
		if strings.HasPrefix(list.Items[i].Name, policy+"-") {
			found = append(found, list.Items[i])
		}
	}
	return found
}

// TestARestartWaitsForAJobAndIsProvenByAnother has the first Job not end, which holds the restart until it is deleted. It kills the
// leader, and so runs before the tests that send requests beside each other.
func TestARestartWaitsForAJobAndIsProvenByAnother(t *testing.T) {
	s := newSuite(t)
	s.secret("creds", "password", "first")
	s.run(deployment, "web", takes("creds"))
	s.cronJob("backup", "image-pull")
	s.cronJob("smoke-test", "")
	s.policy("p", "{"+targets(deployment, "web")+", "+onConfig+`, gates: [{name: before, type: JobSucceeded, jobSucceeded: {cronJob: backup, deadline: 3s}}],
		verification: {soak: 1s, job: {cronJob: smoke-test}}}`)
	s.watching("p", 1)
	s.secret("creds", "password", "second")
	s.waits("p", autorebootv1.ReasonJobRunning, "gate before: for Job p-")
	s.waits("p", autorebootv1.ReasonJobFailed, "failed (DeadlineExceeded: ")
	s.restarted(deployment, "web", 0)
	failed := s.jobs("p")
	if len(failed) != 1 || failed[0].Spec.ActiveDeadlineSeconds == nil || *failed[0].Spec.ActiveDeadlineSeconds != 3 || *failed[0].Spec.TTLSecondsAfterFinished != 3600 {
		t.Fatalf("%+v", failed)
	}

	s.KillLeader() // what a Job became is observed, and not remembered
	s.waits("p", autorebootv1.ReasonJobFailed, failed[0].Name)
	s.cronJob("backup", "")
	s.Kubectl("delete", "job", failed[0].Name)
	s.succeeded("p", 1)
	s.restarted(deployment, "web", 1)
	jobs := s.jobs("p")
	if len(jobs) != 2 {
		t.Fatalf("%d Jobs, want one before and one after", len(jobs))
	}
	for i := range jobs {
		j := &jobs[i]
		if owner := metav1.GetControllerOf(j); owner == nil || owner.Kind != "RebootPolicy" || owner.Name != "p" || j.Labels["team"] != "shop" ||
			j.Spec.Template.Annotations[autorebootv1.JobWorkloadAnnotation] != "Deployment/web" || j.Spec.Template.Annotations["kept"] != "yes" || j.Status.Succeeded != 1 {
			t.Errorf("%+v", j)
		}
	}
	s.normal("p")

	s.Kubectl("delete", "rebootpolicy", "p")
	s.Eventually(func() error {
		if left := s.jobs("p"); len(left) > 0 {
			return fmt.Errorf("%d Jobs are left", len(left))
		}
		return nil
	})
}

func TestARestartWhoseJobFailsIsNotVerified(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	s.secret("creds", "password", "first")
	s.run(deployment, "web", takes("creds"))
	s.cronJob("smoke-test", "image-pull")
	s.policy("p", "{"+targets(deployment, "web")+", "+onConfig+", verification: {soak: 1s, job: {cronJob: smoke-test, deadline: 2s}}}")
	s.watching("p", 1)
	s.secret("creds", "password", "second")
	record := s.ended("p", 1)[0]
	if record.Result != autorebootv1.ResultFailed || record.Reason != autorebootv1.ReasonJobFailed || !strings.Contains(record.Message, "DeadlineExceeded") {
		t.Errorf("%+v", record)
	}
	s.condition("p", autorebootv1.ConditionStalled, metav1.ConditionTrue, autorebootv1.ReasonVerificationFailed)
	s.restarted(deployment, "web", 1)
}

// What keeps a Job from being created is said in the words of the API server, and holds nothing else.
func TestAJobThatCannotBeCreatedHoldsItsRestartAlone(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	s.MayBeRefusedIn(s.Namespace)
	s.secret("creds", "password", "first")
	for _, name := range []string{"quota", "absent", "free"} {
		s.run(deployment, name, takes("creds"))
	}
	s.cronJob("backup", "")
	before := func(cronJob string) string {
		return ", gates: [{name: before, type: JobSucceeded, jobSucceeded: {cronJob: " + cronJob + "}}]}"
	}
	s.policy("quota", "{"+targets(deployment, "quota")+", "+onConfig+before("backup"))
	s.policy("absent", "{"+targets(deployment, "absent")+", "+onConfig+before("none"))
	s.policy("free", "{"+targets(deployment, "free")+", "+onConfig+"}")
	for _, name := range []string{"quota", "absent", "free"} {
		s.watching(name, 1)
	}
	s.Apply(`{apiVersion: v1, kind: ResourceQuota, metadata: {name: jobs}, spec: {hard: {count/jobs.batch: "0"}}}`)
	s.Eventually(func() error {
		if used := s.Kubectl("get", "quota", "jobs", "-o", "jsonpath={.status.hard}"); used == "" {
			return fmt.Errorf("the quota does not count yet")
		}
		return nil
	})
	s.secret("creds", "password", "second")
	s.waits("quota", autorebootv1.ReasonJobFailed, "exceeded quota: jobs")
	s.waits("absent", autorebootv1.ReasonJobFailed, `cronjobs.batch "none" not found`)
	s.succeeded("free", 1)
	s.restarted(deployment, "quota", 0)
	s.Kubectl("delete", "quota", "jobs")
	s.succeeded("quota", 1)
}
