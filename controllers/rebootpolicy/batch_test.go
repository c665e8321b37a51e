// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/api/common"
	"github.com/fairlead-dev/fairlead/controllers/internal/workloads"
	"github.com/fairlead-dev/fairlead/controllers/rebootpolicy/restart"
)

// batchStand is an API server with a CronJob and a Job, whose n-th write ends the process: nothing after it is done.
type batchStand struct {
	t      *testing.T
	store  client.WithWatch
	writes []string
	dies   int
}

var errEnded = errors.New("the process has ended")

func newBatchStand(t *testing.T) *batchStand {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := batchv1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	spec := batchv1.JobSpec{Template: corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "report", "batch.kubernetes.io/controller-uid": "job-uid"}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "none"}}},
	}}
	job := &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "shop", Name: "report", UID: "job-uid", Labels: map[string]string{"team": "shop"},
			Annotations: map[string]string{"reloader.stakater.com/auto": "true"},
		},
		Spec: spec,
	}
	job.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"batch.kubernetes.io/controller-uid": "job-uid"}}
	cronJob := &batchv1.CronJob{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "nightly", UID: "cron-uid"},
		Spec: batchv1.CronJobSpec{JobTemplate: batchv1.JobTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"team": "shop"}, Annotations: map[string]string{"note": "kept"}}, Spec: spec,
		}},
	}
	s := &batchStand{t: t, dies: -1}
	s.store = interceptor.NewClient(fake.NewClientBuilder().WithScheme(scheme).WithObjects(job, cronJob).Build(), interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			return s.write("create "+o.GetName(), func() error {
				o.SetUID(types.UID(fmt.Sprintf("uid-%d", len(s.writes))))
				return c.Create(ctx, o, opts...)
			})
		},
		Delete: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.DeleteOption) error {
			return s.write("delete "+o.GetName(), func() error { return c.Delete(ctx, o, opts...) })
		},
	})
	return s
}

func (s *batchStand) write(what string, do func() error) error {
	if s.dies == len(s.writes) {
		return errEnded
	}
	s.writes = append(s.writes, what)
	return do()
}

func (s *batchStand) restart(kind common.WorkloadKind, name string, uid types.UID, id string) (restart.Outcome, error) {
	s.t.Helper()
	p := actingPolicy("")
	p.UID, p.Spec.Compatibility = "policy-uid", autorebootv1.CompatibilityReloader
	return begin(s.t.Context(), s.store, p, &restart.Action{Verb: restart.Annotate, ID: id, Started: epoch,
		Workload: &restart.Workload{Workload: workloads.Workload{Kind: kind, Name: name, UID: uid, RunsToEnd: true}}})
}

func (s *batchStand) jobs() map[string]batchv1.Job {
	s.t.Helper()
	var list batchv1.JobList
	if err := s.store.List(s.t.Context(), &list); err != nil {
		s.t.Fatal(err)
	}
	all := map[string]batchv1.Job{}
	for _, job := range list.Items {
		all[job.Name] = job
	}
	return all
}

func TestARestartOfACronJobMakesOneJob(t *testing.T) {
	s := newBatchStand(t)
	for range 2 {
		if outcome, err := s.restart(common.WorkloadCronJob, "nightly", "cron-uid", "abc-1"); outcome != restart.Done {
			t.Fatalf("%s: %v", outcome, err)
		}
	}
	made, is := s.jobs()["nightly-abc-1"]
	if !is || len(s.jobs()) != 2 {
		t.Fatalf("there are %v", s.writes)
	}
	owner := metav1.GetControllerOf(&made)
	if owner == nil || owner.Kind != "CronJob" || owner.UID != "cron-uid" || owner.BlockOwnerDeletion != nil {
		t.Errorf("the owner is %+v", owner)
	}
	annotations := made.Spec.Template.Annotations
	if made.Annotations["cronjob.kubernetes.io/instantiate"] != "manual" || made.Annotations["note"] != "kept" || made.Labels["team"] != "shop" ||
		annotations[autorebootv1.RestartIDAnnotation] != "abc-1" {
		t.Errorf("the Job is %+v", made)
	}
	for name, uid := range map[string]types.UID{"nightly": "another", "gone": "cron-uid"} {
		if outcome, _ := s.restart(common.WorkloadCronJob, name, uid, "abc-2"); outcome != restart.Gone {
			t.Errorf("%s: %s", name, outcome)
		}
	}
}

// Whatever the write after which the process ends, the next one makes the Job again, once, and leaves nothing else.
func TestAJobIsMadeAgainWhereverTheProcessEnds(t *testing.T) {
	for dies := range 5 {
		s := newBatchStand(t)
		s.dies = dies
		if outcome, err := s.restart(common.WorkloadJob, "report", "job-uid", "abc-1"); dies < 4 && (outcome != restart.Retry || !errors.Is(err, errEnded)) {
			t.Fatalf("%d: %s: %v", dies, outcome, err)
		}
		s.dies = -1
		if len(s.jobs()) == 0 {
			t.Fatalf("%d: no Job is left after %v", dies, s.writes)
		}
		if outcome, err := s.restart(common.WorkloadJob, "report", "job-uid", "abc-1"); outcome != restart.Done {
			t.Fatalf("%d: %s: %v", dies, outcome, err)
		}
		all := s.jobs()
		job := all["report"]
		if len(all) != 1 || job.UID == "job-uid" || job.Labels["team"] != "shop" || job.Annotations["reloader.stakater.com/auto"] != "true" || job.Spec.Suspend != nil ||
			job.Spec.Selector != nil || job.Spec.Template.Annotations[autorebootv1.RestartIDAnnotation] != "abc-1" ||
			len(job.Spec.Template.Labels) != 1 {
			t.Errorf("%d: after %v there are %+v", dies, s.writes, all)
		}
		made := slices.DeleteFunc(slices.Clone(s.writes), func(w string) bool { return w != "create report" })
		if len(made) != 1 {
			t.Errorf("%d: %v", dies, s.writes)
		}
	}
}

// The copy is suspended, is no target, and is not one of what controls the Job.
func TestTheCopyOfAJobDoesNothing(t *testing.T) {
	s := newBatchStand(t)
	s.dies = 2
	_, _ = s.restart(common.WorkloadJob, "report", "job-uid", "abc-1")
	all := s.jobs()
	for name, kept := range all {
		if !strings.HasPrefix(name, "report-") || !ptr.Deref(kept.Spec.Suspend, false) || kept.Annotations[common.IgnoreAnnotation] != "true" ||
			metav1.GetControllerOf(&kept) != nil || len(kept.Labels) > 0 || kept.OwnerReferences[0].UID != "policy-uid" {
			t.Errorf("the copy is %+v", kept)
		}
	}
	if len(all) != 1 {
		t.Errorf("there are %v", s.writes)
	}
}

func TestAJobIsKeptWhoseNameIsNotFree(t *testing.T) {
	s := newBatchStand(t)
	job := s.jobs()["report"]
	job.Finalizers = []string{"example.com/billing"}
	if err := s.store.Update(t.Context(), &job); err != nil {
		t.Fatal(err)
	}
	if outcome, err := s.restart(common.WorkloadJob, "report", "job-uid", "abc-1"); outcome != restart.Refused || !strings.Contains(err.Error(), "example.com/billing") || len(s.writes) > 0 {
		t.Errorf("%s: %v, %v", outcome, err, s.writes)
	}
	if outcome, err := s.restart(common.WorkloadJob, "report", "another", "abc-1"); outcome != restart.Gone {
		t.Errorf("%s: %v", outcome, err)
	}
}
