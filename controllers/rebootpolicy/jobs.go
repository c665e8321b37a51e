// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/api/common"
	"github.com/fairlead-dev/fairlead/controllers/internal/controller"
	"github.com/fairlead-dev/fairlead/controllers/internal/workloads"
	"github.com/fairlead-dev/fairlead/controllers/rebootpolicy/restart"
	"github.com/fairlead-dev/fairlead/internal/text"
)

const (
	// jobRetry is when a Job is tried again that could not be created.
	jobRetry = time.Minute
	// maxJobMessage is the length of what is kept of a condition of a Job, in bytes.
	maxJobMessage = 256
	// instantiate is the annotation of a Job that was not created by the schedule of its CronJob, as kubectl sets it.
	instantiate = "cronjob.kubernetes.io/instantiate"
)

// hasJobs reports whether a spec creates Jobs.
func hasJobs(spec *autorebootv1.RebootPolicySpec) bool {
	for i := range spec.Gates {
		if spec.Gates[i].JobSucceeded != nil {
			return true
		}
	}
	return spec.Verification != nil && spec.Verification.Job != nil
}

// readJobs reads the Jobs that the policy has created, and adds those that this process could not create.
func (r *Reconciler) readJobs(ctx context.Context, o *observation) {
	if !hasJobs(&o.policy.Spec) {
		o.state.refusedJobs = nil
		return
	}
	maps.DeleteFunc(o.state.refusedJobs, func(_ string, j restart.Job) bool { return o.now.After(j.Retry.Add(jobRetry)) })
	o.jobs = maps.Clone(o.state.refusedJobs)
	if o.jobs == nil {
		o.jobs = map[string]restart.Job{}
	}
	var list batchv1.JobList
	labeled := client.MatchingLabels{autorebootv1.JobLabel: string(o.policy.UID)}
	if err := r.Client.List(ctx, &list, client.InNamespace(o.key.Namespace), labeled, shared); err != nil {
		o.couldNotRead(fmt.Errorf("list Jobs: %w", err))
		o.setAllUnread("the Jobs of the policy cannot be read")
	}
	for i := range list.Items {
		if j := &list.Items[i]; workloads.ControllerOf(j) == o.policy.UID {
			o.jobs[j.Name] = stateOfJob(j)
		}
	}
}

// stateOfJob returns what became of a Job.
func stateOfJob(j *batchv1.Job) restart.Job {
	found := restart.Job{State: restart.JobRunning}
	if !j.DeletionTimestamp.IsZero() {
		found.Message = "it is being deleted"
		return found
	}
	for i := range j.Status.Conditions {
		c := &j.Status.Conditions[i]
		if c.Status != corev1.ConditionTrue {
			continue
		}
		switch c.Type {
		case batchv1.JobComplete:
			return restart.Job{State: restart.JobSucceeded}
		case batchv1.JobFailed:
			return restart.Job{State: restart.JobFailed, Message: c.Message}
		case batchv1.JobSuspended:
			found.Message = "it is suspended"
		case batchv1.JobSuccessCriteriaMet, batchv1.JobFailureTarget: // its pods are ending
		}
	}
	return found
}

// stripJob keeps what became of a Job.
func stripJob(in any) (any, error) {
	j, ok := in.(*batchv1.Job)
	if !ok {
		return in, nil
	}
	kept := batchv1.Job{ObjectMeta: identity(&j.ObjectMeta)}
	kept.Labels = map[string]string{autorebootv1.JobLabel: j.Labels[autorebootv1.JobLabel]}
	for i := range j.Status.Conditions {
		c := &j.Status.Conditions[i]
		kept.Status.Conditions = append(kept.Status.Conditions, batchv1.JobCondition{
			Type: c.Type, Status: c.Status, Message: text.Truncate(c.Reason+": "+c.Message, maxJobMessage),
		})
	}
	kept.TypeMeta = j.TypeMeta
	return &kept, nil
}

// enqueueOwner enqueues the policy that has created a Job.
func enqueueOwner(r *Reconciler) handler.TypedEventHandler[*batchv1.Job, reconcile.Request] {
	return handler.TypedEnqueueRequestsFromMapFunc(func(_ context.Context, j *batchv1.Job) []reconcile.Request {
		if owner := metav1.GetControllerOf(j); owner != nil && owner.Kind == "RebootPolicy" {
			r.enqueuer.Enqueue(types.NamespacedName{Namespace: j.Namespace, Name: owner.Name})
		}
		return nil
	})
}

// createJob creates the Job of an action, which may be there already. The CronJob is read in the operator's name: the writer of the
// policy was asked for the right to.
func (a *actor) createJob(
	ctx context.Context, c client.Client, policy *autorebootv1.RebootPolicy, action *restart.Action,
) (restart.Outcome, error) {
	var from batchv1.CronJob
	err := a.live.Get(ctx, types.NamespacedName{Namespace: policy.Namespace, Name: action.CronJob}, &from)
	if err == nil {
		err = c.Create(ctx, jobFor(policy, action, &from))
	}
	switch {
	case err == nil:
		return restart.Done, nil
	case apierrors.IsAlreadyExists(err):
		var there batchv1.Job
		if err := a.live.Get(ctx, types.NamespacedName{Namespace: policy.Namespace, Name: action.ID}, &there); err != nil {
			return restart.Retry, err
		}
		if workloads.ControllerOf(&there) == policy.UID {
			return restart.Done, nil
		}
		return restart.Refused, errors.New("there is one of its name, which the policy has not created: delete it")
	case apierrors.IsNotFound(err), controller.IsRefused(err):
		return restart.Refused, err
	}
	return restart.Retry, err
}

// jobFor returns the Job of an action, as kubectl create job --from makes one, owned by the policy.
func jobFor(policy *autorebootv1.RebootPolicy, action *restart.Action, from *batchv1.CronJob) *batchv1.Job {
	template := from.Spec.JobTemplate.DeepCopy()
	j := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{
		Namespace: policy.Namespace, Name: action.ID, Labels: template.Labels, Annotations: template.Annotations,
		OwnerReferences: []metav1.OwnerReference{{
			APIVersion: autorebootv1.GroupVersion.String(), Kind: "RebootPolicy", Name: policy.Name, UID: policy.UID, Controller: ptr.To(true),
		}},
	}, Spec: template.Spec}
	workload := string(action.Workload.Kind.Name()) + "/" + action.Workload.Name
	metav1.SetMetaDataLabel(&j.ObjectMeta, autorebootv1.JobLabel, string(policy.UID))
	metav1.SetMetaDataLabel(&j.ObjectMeta, common.ManagedByLabel, common.ManagedBy)
	metav1.SetMetaDataAnnotation(&j.ObjectMeta, instantiate, "manual")
	metav1.SetMetaDataAnnotation(&j.ObjectMeta, autorebootv1.JobWorkloadAnnotation, workload)
	metav1.SetMetaDataAnnotation(&j.Spec.Template.ObjectMeta, autorebootv1.JobWorkloadAnnotation, workload)
	deadline := int64(math.Ceil(action.Deadline.Seconds()))
	if d := j.Spec.ActiveDeadlineSeconds; d == nil || *d > deadline {
		j.Spec.ActiveDeadlineSeconds = &deadline
	}
	j.Spec.TTLSecondsAfterFinished = ptr.To(int32(action.KeepFor.Seconds()))
	return j
}
