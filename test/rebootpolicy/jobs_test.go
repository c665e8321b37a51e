// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	"fmt"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/test/framework"
)

// once is the spec of pods that run to an end, and take the whole of a Secret as their environment.
const once = "{restartPolicy: Never, containers: [{name: main, image: none, envFrom: [{secretRef: {name: %s}}]}]}"

// jobs are those of the namespace by name.
func (s *suite) jobs() map[string]batchv1.Job {
	s.Helper()
	var list batchv1.JobList
	s.Must(s.Client.List(s.Context(), &list, client.InNamespace(s.Namespace)))
	all := map[string]batchv1.Job{}
	for _, job := range list.Items {
		all[job.Name] = job
	}
	return all
}

// A change begins one Job of a CronJob, and another Job in the place of a Job, which the limit counts as the same workload.
func TestAChangeBeginsJobs(t *testing.T) {
	s := newSuite(t)
	s.secret("creds", "password", "first")
	s.Make(`{apiVersion: batch/v1, kind: CronJob, metadata: {name: nightly}, spec: {schedule: "0 0 1 1 *", suspend: true,
		jobTemplate: {metadata: {labels: {team: shop}}, spec: {template: {spec: ` + fmt.Sprintf(once, "creds") + `}}}}}`)
	s.Make(`{apiVersion: batch/v1, kind: Job, metadata: {name: report, labels: {team: shop}, annotations: {note: kept}},
		spec: {template: {spec: ` + fmt.Sprintf(once, "creds") + `}}}`)
	uid := s.jobs()["report"].UID
	s.policy("p", `{targets: [{group: batch, kind: CronJob, name: nightly}, {group: batch, kind: Job, name: report}], `+onConfig+`}`)
	s.watching("p", 2)

	var last types.UID
	for n := 1; n <= 2; n++ {
		<-time.After(1100 * time.Millisecond) // no Job is of the second of the change
		s.secret("creds", "password", fmt.Sprint("change ", n))
		s.succeeded("p", 2*n)
		all, made := s.jobs(), 0
		for _, job := range all {
			if owner := metav1.GetControllerOf(&job); owner != nil && owner.Kind == "CronJob" && owner.Name == "nightly" {
				made++
				if job.Annotations["cronjob.kubernetes.io/instantiate"] != "manual" || job.Labels["team"] != "shop" {
					t.Errorf("%d: %s", n, framework.Text(job))
				}
			}
		}
		report := all["report"]
		if made != n || len(all) != n+1 || report.UID == uid || report.UID == last || report.Annotations["note"] != "kept" || report.Labels["team"] != "shop" {
			t.Errorf("%d: %d Jobs of the CronJob, and in all %s", n, made, framework.Text(all))
		}
		last = report.UID
	}
	policy, err := s.get("p")
	s.Must(err)
	for _, target := range policy.Status.Targets {
		if len(target.RecentRestartTimes) != 2 {
			t.Errorf("the limit counts %d restarts: %s", len(target.RecentRestartTimes), framework.Text(target))
		}
	}
	s.Never(func() error { return s.quiet("p", 4) })
}

// paused waits until a policy has paused the rollout of a Deployment, or none has.
func (s *suite) paused(name, by string) {
	s.Helper()
	s.Eventually(func() error {
		d := s.read(deployment, name)
		spec, _ := d.Object["spec"].(map[string]any)
		is, _ := spec["paused"].(bool)
		if is != (by != "") || d.GetAnnotations()[autorebootv1.PausedByAnnotation] != by ||
			(d.GetAnnotations()["deployment.reloader.stakater.com/paused-at"] != "") != is {
			return fmt.Errorf("want it paused by %q: paused %t, annotations %s", by, is, framework.Text(d.GetAnnotations()))
		}
		return nil
	})
}
