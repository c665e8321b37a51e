// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/api/common"
	"github.com/fairlead-dev/fairlead/controllers/internal/workloads"
	"github.com/fairlead-dev/fairlead/controllers/rebootpolicy/restart"
)

func TestAJobIsCreatedOnceFromItsCronJob(t *testing.T) {
	from := &batchv1.CronJob{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "backup"}}
	from.Spec.JobTemplate.Labels = map[string]string{"team": "shop"}
	from.Spec.JobTemplate.Spec = batchv1.JobSpec{ActiveDeadlineSeconds: ptr.To[int64](5), TTLSecondsAfterFinished: ptr.To[int32](0), BackoffLimit: ptr.To[int32](2)}
	var refusal error
	c := interceptor.NewClient(fake.NewClientBuilder().WithObjects(from).Build(), interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			if refusal != nil {
				return refusal
			}
			return c.Create(ctx, o, opts...)
		},
	})
	a := &actor{as: func(context.Context, string, string) (client.Client, error) { return c, nil }, live: c}
	policy := actingPolicy("")
	policy.UID = "u"
	action := restart.Action{
		Verb: restart.CreateJob, ID: "payments-1", CronJob: "backup", Deadline: 1500 * time.Millisecond, KeepFor: time.Hour,
		Workload: &restart.Workload{Workload: workloads.Workload{Kind: common.WorkloadDeployment, Name: "api"}},
	}
	do := func(want restart.Outcome, says string) {
		t.Helper()
		result, err := a.Do(t.Context(), policy, action, "")
		if result.Outcome != want || (err == nil) != (says == "") || err != nil && !strings.Contains(err.Error(), says) {
			t.Errorf("result %+v, error %v", result, err)
		}
	}
	do(restart.Done, "")
	do(restart.Done, "") // another process
	var j batchv1.Job
	if err := c.Get(t.Context(), client.ObjectKey{Namespace: "shop", Name: "payments-1"}, &j); err != nil {
		t.Fatal(err)
	}
	if s := j.Spec; *s.ActiveDeadlineSeconds != 2 || *s.TTLSecondsAfterFinished != 3600 || *s.BackoffLimit != 2 || j.Labels["team"] != "shop" ||
		j.Labels[autorebootv1.JobLabel] != "u" || workloads.ControllerOf(&j) != "u" || s.Template.Annotations[autorebootv1.JobWorkloadAnnotation] != "Deployment/api" {
		t.Errorf("%+v", j)
	}
	policy.UID = "other"
	do(restart.Refused, "which the policy has not created")
	action.CronJob = "none"
	do(restart.Refused, `cronjobs.batch "none" not found`)
	action.CronJob, action.ID = "backup", "payments-2"
	refusal = apierrors.NewForbidden(batchv1.Resource("jobs"), "payments-2", nil)
	do(restart.Refused, "forbidden")
	refusal = apierrors.NewInternalError(errors.New("x"))
	do(restart.Retry, "Internal error")
}

func TestTheStateOfAJobIsThatOfItsConditions(t *testing.T) {
	condition := func(kind batchv1.JobConditionType) batchv1.JobCondition {
		return batchv1.JobCondition{Type: kind, Status: corev1.ConditionTrue, Reason: "Why", Message: strings.Repeat("x", 1000)}
	}
	for name, c := range map[string]struct {
		conditions []batchv1.JobCondition
		deleted    bool
		want       restart.JobState
		says       string
	}{
		"new":              {nil, false, restart.JobRunning, ""},
		"suspended":        {[]batchv1.JobCondition{condition(batchv1.JobSuspended)}, false, restart.JobRunning, "it is suspended"},
		"failing":          {[]batchv1.JobCondition{condition(batchv1.JobFailureTarget)}, false, restart.JobRunning, ""},
		"failed":           {[]batchv1.JobCondition{condition(batchv1.JobFailureTarget), condition(batchv1.JobFailed)}, false, restart.JobFailed, "Why: xxx"},
		"succeeded":        {[]batchv1.JobCondition{condition(batchv1.JobSuccessCriteriaMet), condition(batchv1.JobComplete)}, false, restart.JobSucceeded, ""},
		"is being deleted": {[]batchv1.JobCondition{condition(batchv1.JobComplete)}, true, restart.JobRunning, "it is being deleted"},
	} {
		t.Run(name, func(t *testing.T) {
			j := &batchv1.Job{Status: batchv1.JobStatus{Conditions: c.conditions}}
			if c.deleted {
				j.DeletionTimestamp = ptr.To(metav1.Now())
			}
			stripped, err := stripJob(j)
			if err != nil {
				t.Fatal(err)
			}
			got := stateOfJob(stripped.(*batchv1.Job))
			if got.State != c.want || !strings.HasPrefix(got.Message, c.says) || len(got.Message) > maxJobMessage {
				t.Errorf("%+v", got)
			}
		})
	}
}
