// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/api/common"
	"github.com/fairlead-dev/fairlead/controllers/internal/controller"
	"github.com/fairlead-dev/fairlead/controllers/internal/workloads"
	"github.com/fairlead-dev/fairlead/controllers/rebootpolicy/restart"
	"github.com/fairlead-dev/fairlead/internal/apistatus"
	"github.com/fairlead-dev/fairlead/internal/workloadkinds"
)

var (
	jobs     = schema.GroupVersionKind{Group: common.BatchGroup, Version: "v1", Kind: "Job"}
	cronJobs = schema.GroupVersionKind{Group: common.BatchGroup, Version: "v1", Kind: "CronJob"}
)

const (
	// instantiateAnnotation is set on a Job that `kubectl create job --from` creates from a CronJob, with the value
	// instantiated.
	instantiateAnnotation, instantiated = "cronjob.kubernetes.io/instantiate", "manual"
	// successorAnnotation is on the copy of a Job that is deleted and created again: what its successor has, as JSON.
	successorAnnotation = "autoreboot.fairlead.dev/successor"
	// maxJobName is the length of the name of a Job, and maxCopied how much of that of a Job is in the name of its copy.
	maxJobName, maxCopied = 63, 45
)

// ofJobs are the labels that Kubernetes writes into a Job to find its pods.
var ofJobs = []string{"controller-uid", "batch.kubernetes.io/controller-uid", "job-name", "batch.kubernetes.io/job-name"}

// begin begins the run of a CronJob or a Job, once. The restart is in the stored status by now.
func begin(ctx context.Context, c client.Client, policy *autorebootv1.RebootPolicy, action *restart.Action) (restart.Outcome, error) {
	b := &batch{c, policy, action}
	resource := schema.GroupResource{Group: common.BatchGroup, Resource: action.Workload.Kind.Resource()}
	do := b.fromCronJob
	if action.Workload.Kind == common.WorkloadJob {
		do = b.again
	}
	switch err := do(ctx); {
	case err == nil:
		return restart.Done, nil
	case errors.Is(err, errAnother), apistatus.IsAbsent(err, resource, action.Workload.Name):
		return restart.Gone, err
	case errors.Is(err, errKept), controller.IsRefused(err):
		return restart.Refused, err
	default:
		return restart.Retry, err
	}
}

var (
	errAnother = errors.New("another workload has its name")
	errKept    = errors.New("its name is not free once it is deleted")
)

// batch is one restart of a CronJob or a Job.
type batch struct {
	client.Client
	policy *autorebootv1.RebootPolicy
	action *restart.Action
}

func (b *batch) get(ctx context.Context, kind schema.GroupVersionKind, name string) (*unstructured.Unstructured, error) {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(kind)
	return u, b.Get(ctx, types.NamespacedName{Namespace: b.policy.Namespace, Name: name}, u)
}

func (b *batch) create(ctx context.Context, job *unstructured.Unstructured) error {
	return b.Create(ctx, job, client.FieldOwner(restartOwner))
}

// begins reports whether a Job is that of this restart.
func (b *batch) begins(job *unstructured.Unstructured) bool { return restartOf(job) == b.action.ID }

// restartOf returns the id of the restart that has made a Job; empty where none has.
func restartOf(job *unstructured.Unstructured) string {
	id, _, _ := unstructured.NestedString(job.Object, "spec", "template", "metadata", "annotations", autorebootv1.RestartIDAnnotation)
	return id
}

// mark adds what a restart writes into a pod template.
func (b *batch) mark(job *unstructured.Unstructured) error {
	at := []string{"spec", "template", "metadata", "annotations"}
	annotations, _, err := unstructured.NestedStringMap(job.Object, at...)
	if err != nil {
		return err
	}
	if annotations == nil {
		annotations = map[string]string{}
	}
	maps.Copy(annotations, restartAnnotations(b.policy, b.action))
	return unstructured.SetNestedStringMap(job.Object, annotations, at...)
}

// fromCronJob makes a Job from the template of the CronJob, as `kubectl create job --from` does. Its name is that of the restart, so
// that a repetition makes none.
func (b *batch) fromCronJob(ctx context.Context) error {
	cronJob, err := b.get(ctx, cronJobs, b.action.Workload.Name)
	if err != nil {
		return err
	}
	if cronJob.GetUID() != b.action.Workload.UID {
		return errAnother
	}
	template, _, err := unstructured.NestedMap(cronJob.Object, "spec", "jobTemplate")
	if err != nil {
		return err
	}
	from := unstructured.Unstructured{Object: template}
	job := &unstructured.Unstructured{Object: map[string]any{"spec": template["spec"]}}
	job.SetGroupVersionKind(jobs)
	job.SetNamespace(b.policy.Namespace)
	job.SetName(suffixed(b.action.Workload.Name, b.action.ID, maxJobName))
	job.SetLabels(from.GetLabels())
	annotations := map[string]string{instantiateAnnotation: instantiated}
	maps.Copy(annotations, from.GetAnnotations())
	job.SetAnnotations(annotations)
	job.SetOwnerReferences([]metav1.OwnerReference{{
		APIVersion: cronJobs.GroupVersion().String(), Kind: cronJobs.Kind, Name: cronJob.GetName(), UID: cronJob.GetUID(),
		Controller: ptr.To(true),
	}})
	if err := b.mark(job); err != nil {
		return err
	}
	err = b.create(ctx, job)
	if apierrors.IsAlreadyExists(err) {
		made, unread := b.get(ctx, jobs, job.GetName())
		if unread == nil && b.begins(made) {
			return nil
		}
	}
	return err
}

// suffixed returns name and suffix, joined by a dash. It cuts the name to fit into most bytes.
func suffixed(name, suffix string, most int) string {
	return strings.TrimRight(name[:min(len(name), most-len(suffix)-1)], "-.") + "-" + suffix
}

// successor holds what a Job has and its suspended copy must not have.
type successor struct {
	Labels          map[string]string       `json:"labels,omitempty"`
	Annotations     map[string]string       `json:"annotations,omitempty"`
	OwnerReferences []metav1.OwnerReference `json:"ownerReferences,omitempty"`
	Suspend         *bool                   `json:"suspend,omitempty"`
}

// again deletes the Job and creates it again. A suspended copy is made before: it shows that the API server takes such a Job, and
// the next leader makes the successor from it. It is deleted last.
func (b *batch) again(ctx context.Context) error {
	name, uid := b.action.Workload.Name, b.action.Workload.UID
	job, err := b.get(ctx, jobs, name)
	switch {
	case err == nil && b.begins(job):
		return b.drop(ctx, copyOf(name, uid))
	case err == nil && job.GetUID() != uid:
		return errAnother
	case err == nil && len(job.GetFinalizers()) > 0:
		return fmt.Errorf("%w: it has the finalizer %s", errKept, job.GetFinalizers()[0])
	case err == nil:
		if err := b.copy(ctx, job); err != nil {
			return err
		}
		err := b.Delete(ctx, job, client.Preconditions{UID: &uid}, client.PropagationPolicy(metav1.DeletePropagationBackground))
		if client.IgnoreNotFound(err) != nil {
			return err
		}
	case !apierrors.IsNotFound(err):
		return err
	}
	kept, unread := b.get(ctx, jobs, copyOf(name, uid))
	if apierrors.IsNotFound(unread) {
		return cmp.Or(err, unread) // the Job is gone, and there is no copy
	}
	if unread != nil {
		return unread
	}
	next, err := b.successorOf(kept)
	if err != nil {
		return err
	}
	if err := b.create(ctx, next); err != nil {
		return err
	}
	return b.drop(ctx, kept.GetName())
}

// copyOf is the name of the copy of a Job.
func copyOf(name string, uid types.UID) string {
	first, _, _ := strings.Cut(string(uid), "-")
	return suffixed(name[:min(len(name), maxCopied)], first, maxJobName)
}

// copy makes the suspended copy of a Job, unless there is one.
func (b *batch) copy(ctx context.Context, job *unstructured.Unstructured) error {
	s := successor{Labels: job.GetLabels(), Annotations: job.GetAnnotations(), OwnerReferences: job.GetOwnerReferences()}
	if suspend, found, _ := unstructured.NestedBool(job.Object, "spec", "suspend"); found {
		s.Suspend = &suspend
	}
	text, err := json.Marshal(s)
	if err != nil {
		return err
	}
	spec, _, err := unstructured.NestedMap(job.Object, "spec")
	if err != nil {
		return err
	}
	kept := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	kept.SetGroupVersionKind(jobs)
	kept.SetNamespace(b.policy.Namespace)
	kept.SetName(copyOf(job.GetName(), job.GetUID()))
	kept.SetAnnotations(map[string]string{successorAnnotation: string(text), common.IgnoreAnnotation: strconv.FormatBool(true)})
	kept.SetOwnerReferences([]metav1.OwnerReference{{
		APIVersion: autorebootv1.GroupVersion.String(), Kind: "RebootPolicy", Name: b.policy.Name, UID: b.policy.UID,
	}})
	delete(spec, "selector") // it is that of the Job; the API server makes another
	withoutLabelsOfJobs(kept)
	if err := unstructured.SetNestedField(kept.Object, true, "spec", "suspend"); err != nil {
		return err
	}
	if err := b.create(ctx, kept); !apierrors.IsAlreadyExists(err) {
		return err
	}
	return nil
}

func withoutLabelsOfJobs(job *unstructured.Unstructured) {
	for _, label := range ofJobs {
		unstructured.RemoveNestedField(job.Object, "spec", "template", "metadata", "labels", label)
	}
}

// successorOf returns the Job that is made from a copy.
func (b *batch) successorOf(kept *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	var s successor
	if err := json.Unmarshal([]byte(kept.GetAnnotations()[successorAnnotation]), &s); err != nil {
		return nil, fmt.Errorf("%w: Job %s is no copy", errKept, kept.GetName())
	}
	spec, _, err := unstructured.NestedMap(kept.Object, "spec")
	if err != nil {
		return nil, err
	}
	delete(spec, "selector")
	delete(spec, "suspend")
	if s.Suspend != nil {
		spec["suspend"] = *s.Suspend
	}
	job := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	job.SetGroupVersionKind(jobs)
	job.SetNamespace(b.policy.Namespace)
	job.SetName(b.action.Workload.Name)
	for _, label := range ofJobs {
		delete(s.Labels, label)
	}
	job.SetLabels(s.Labels)
	job.SetAnnotations(s.Annotations)
	job.SetOwnerReferences(s.OwnerReferences)
	withoutLabelsOfJobs(job)
	return job, b.mark(job)
}

// drop deletes the copy of a Job.
func (b *batch) drop(ctx context.Context, name string) error {
	kept := &unstructured.Unstructured{}
	kept.SetGroupVersionKind(jobs)
	kept.SetNamespace(b.policy.Namespace)
	kept.SetName(name)
	return client.IgnoreNotFound(b.Delete(ctx, kept, client.PropagationPolicy(metav1.DeletePropagationBackground)))
}

// followJobs has the status go on with the Jobs that restarts have made in the place of others, which have another UID.
func (r *Reconciler) followJobs(ctx context.Context, o *observation) {
	status := &o.policy.Status
	kind := workloadkinds.Find(r.Kinds.Kinds(), common.WorkloadJob)
	for i := range status.Targets {
		t := &status.Targets[i]
		if t.Kind != common.WorkloadJob || kind == nil || !o.isServed(t.Kind) {
			continue
		}
		job, _ := kind.New()
		u, is := job.(*unstructured.Unstructured)
		name := types.NamespacedName{Namespace: o.key.Namespace, Name: t.Name}
		if err := r.Client.Get(ctx, name, job, shared); err != nil || !is || u.GetUID() == t.UID {
			continue
		}
		if id := restartOf(u); id != "" && id == t.LastRestartID {
			for j := range status.InFlight {
				if f := &status.InFlight[j]; f.ID == id {
					f.UID = u.GetUID()
				}
			}
			t.UID = u.GetUID()
		}
	}
}

// betweenJobs returns the Job of a restart in flight that the cache does not have: the API server has it by now, or it is deleted,
// and its copy is there to create it from. It returns nil where there is neither.
func (r *Reconciler) betweenJobs(ctx context.Context, o *observation, name string) (*workload, error) {
	at := slices.IndexFunc(o.policy.Status.InFlight, func(f autorebootv1.InFlightRestart) bool {
		return f.Kind.Name() == common.WorkloadJob.Name() && f.Name == name
	})
	kind := workloadkinds.Find(r.Kinds.Kinds(), common.WorkloadJob)
	if at < 0 || kind == nil {
		return nil, nil
	}
	uid := o.policy.Status.InFlight[at].UID
	for _, called := range []string{name, copyOf(name, uid)} {
		u := &unstructured.Unstructured{}
		u.SetGroupVersionKind(jobs)
		err := r.Live.Get(ctx, types.NamespacedName{Namespace: o.key.Namespace, Name: called}, u)
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		u.SetName(name)
		u.SetUID(uid)
		o.requeueAt(o.now.Add(actRetry))
		w := o.newWorkload(workloads.Batch(kind, u))
		w.between = true
		return w, nil
	}
	return nil, nil
}

// addRun represents a CronJob or Job as one pod. What it runs has the content at its creation. Later runs of an older CronJob
// have the content of their own time.
func (w *workload) addRun(o *observation) {
	if w.Kind == common.WorkloadJob || restart.IsDatedByCreation(o.policy, w.Created, o.now) {
		w.Pods = append(w.Pods, restart.Pod{Name: w.Name, UID: w.UID, Created: w.Created, Ready: true})
		w.cached = append(w.cached, &corev1.Pod{})
	}
}

// recordRuns records a version at which each CronJob and Job existed, before another handler is called: see podCreationVersions.
func (v *podCreationVersions) recordRuns(
	then handler.TypedEventHandler[client.Object, reconcile.Request],
) handler.TypedEventHandler[client.Object, reconcile.Request] {
	return handler.TypedFuncs[client.Object, reconcile.Request]{
		CreateFunc: func(ctx context.Context, e event.TypedCreateEvent[client.Object], q queue) {
			v.update(e.Object.GetUID(), func(p *podVersions) { p.setExisted(e.Object.GetResourceVersion(), true) })
			then.Create(ctx, e, q)
		},
		UpdateFunc: then.Update,
		DeleteFunc: func(ctx context.Context, e event.TypedDeleteEvent[client.Object], q queue) {
			v.forget(e.Object.GetUID())
			then.Delete(ctx, e, q)
		},
	}
}
