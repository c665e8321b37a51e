// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/api/common"
	"github.com/fairlead-dev/fairlead/controllers/internal/controller"
	"github.com/fairlead-dev/fairlead/controllers/internal/eviction"
	"github.com/fairlead-dev/fairlead/controllers/rebootpolicy/restart"
	"github.com/fairlead-dev/fairlead/internal/apistatus"
	"github.com/fairlead-dev/fairlead/internal/text"
	"github.com/fairlead-dev/fairlead/internal/workloadkinds"
)

const (
	// actRetry is the wait after an action that failed for now.
	actRetry = time.Second
	// restartOwner is the field owner of the annotations of a restart or of spec.restartAt, and of nothing else.
	restartOwner = "fairlead-restart"
	// maxRefusal is the length of the API server's words in the status, in bytes.
	maxRefusal = 512
)

// act runs the actions of a decision one after the other, and returns their results.
func (r *Reconciler) act(ctx context.Context, o *observation, d restart.Decision) ([]restart.Result, error) {
	if o.blockedBy != "" { // the status alone of a policy that is blocked must not restart anything
		d.Actions = slices.DeleteFunc(slices.Clone(d.Actions), func(a restart.Action) bool { return a.Verb != restart.Resume })
	}
	if len(d.Actions) == 0 {
		return nil, nil
	}
	if err := r.confirm(ctx, o); err != nil {
		return nil, err
	}
	var results []restart.Result
	for _, action := range d.Actions {
		if ctx.Err() != nil {
			return results, ctx.Err()
		}
		version := ""
		if w := o.workload(action.Workload.UID); w != nil {
			version = w.Version
		}
		result, err := r.Actor.Do(ctx, o.stored, action, version)
		if err != nil {
			ctrllog.FromContext(ctx).Info("A restart did not progress", "restart", action.ID, "kind", action.Workload.Kind,
				"workload", action.Workload.Name, "verb", action.Verb, "outcome", result.Outcome, "cause", err.Error())
		}
		switch result.Outcome {
		case restart.Refused:
			result.Reason, result.Message = o.refusal(action, err)
		case restart.Retry:
			o.requeueAt(o.now.Add(actRetry))
		case restart.Done:
			if action.Workload.RunsToEnd { // no event tells that it is over
				o.requeueAt(o.now.Add(actRetry))
			}
		case restart.Blocked, restart.Misconfigured, restart.Gone:
		}
		results = append(results, result)
	}
	return results, nil
}

// refusal returns why the API server refused an action, as a reason and in its words.
func (o *observation) refusal(action restart.Action, err error) (reason, message string) {
	who := "the operator"
	if name := o.policy.Spec.ServiceAccountName; name != "" {
		who = "ServiceAccount " + name
	}
	what := fmt.Sprintf("patch %s %s", action.Workload.Kind, action.Workload.Name)
	switch {
	case action.Verb == restart.Evict:
		what = fmt.Sprintf("evict the pods of %s %s", action.Workload.Kind, action.Workload.Name)
	case action.Workload.Kind == common.WorkloadCronJob:
		what = "create a Job from " + what[len("patch "):]
	case action.Workload.Kind == common.WorkloadJob:
		what = "delete and create again " + what[len("patch "):]
	}
	reason = autorebootv1.ReasonWriteRefused
	if apierrors.IsForbidden(err) {
		reason = autorebootv1.ReasonForbidden
	}
	switch {
	case err == nil:
		message = fmt.Sprintf("%s may not %s", who, what)
	case strings.Contains(err.Error(), "impersonate"):
		message = fmt.Sprintf("the operator may not impersonate %s: grant it that verb on the resource serviceaccounts of namespace %s", who, o.key.Namespace)
	default:
		message = fmt.Sprintf("%s may not %s: %s", who, what, err)
	}
	return reason, text.Truncate(message, maxRefusal)
}

// actor restarts workloads through the API server, as the ServiceAccount that a policy names.
type actor struct {
	// as returns a client that acts as a ServiceAccount, or as the operator where the name is empty.
	as func(ctx context.Context, namespace, serviceAccount string) (client.Client, error)
	// kinds are those of the configuration.
	kinds []workloadkinds.Kind
}

var _ Actor = (*actor)(nil)

// Do runs one action. version is the resourceVersion of the workload that was decided about: if the workload has
// changed since, an annotation is a conflict.
func (a *actor) Do(ctx context.Context, policy *autorebootv1.RebootPolicy, action restart.Action, version string) (restart.Result, error) {
	result := restart.Result{Action: action, Outcome: restart.Retry}
	c, err := a.as(ctx, policy.Namespace, policy.Spec.ServiceAccountName)
	if err != nil {
		if controller.IsRefused(err) {
			result.Outcome = restart.Refused
			return result, err
		}
		return result, fmt.Errorf("client for ServiceAccount %s: %w", policy.Spec.ServiceAccountName, err)
	}
	switch {
	case action.Verb == restart.Annotate && action.Workload.RunsToEnd:
		result.Outcome, err = begin(ctx, c, policy, &action)
	case action.Verb == restart.Resume:
		result.Outcome, err = resume(ctx, c, policy.Namespace, action.Workload.Name, action.Workload.UID)
	case action.Verb == restart.Annotate:
		if action.Workload.Pause > 0 {
			if version, err = pause(ctx, c, policy, &action, version); err != nil {
				result.Outcome = outcomeOf(err, &action)
				return result, err
			}
		}
		configured := workloadkinds.Find(a.kinds, action.Workload.Kind)
		result.Outcome, result.Generation, err = annotate(ctx, c, policy, action, version, configured)
	case action.Verb == restart.Evict && action.Pod != nil:
		pod := types.NamespacedName{Namespace: policy.Namespace, Name: action.Pod.Name}
		evicted := eviction.Evict(ctx, c, pod, action.Pod.UID, eviction.Options{})
		result.Outcome, result.Budget, err = evictionOutcome(evicted.Outcome), evicted.Budget, evicted.Err
	default:
		err = fmt.Errorf("action %q cannot be done", action.Verb)
	}
	return result, err
}

// annotate puts the annotations of a restart on the pod template of the workload that was decided about, or sets spec.restartAt
// of a Rollout: its UID and its version must be the same. The kind is configured where it is one of the configuration.
func annotate(
	ctx context.Context, c client.Client, policy *autorebootv1.RebootPolicy, action restart.Action, version string,
	configured *workloadkinds.Kind,
) (restart.Outcome, int64, error) {
	w, namespace := action.Workload, policy.Namespace
	if version == "" {
		return restart.Retry, 0, errors.New("the workload was not read")
	}
	annotations := restartAnnotations(policy, &action)
	template := corev1ac.PodTemplateSpec().WithAnnotations(annotations)
	var wanted runtime.ApplyConfiguration
	var generation func() *int64
	took := func() bool { return true }
	switch {
	case configured != nil:
		at := append(slices.Clone(configured.Template), "metadata", "annotations")
		u := applied(configured.GroupVersionKind, namespace, &action, version)
		if err := unstructured.SetNestedStringMap(u.Object, annotations, at...); err != nil {
			return restart.Retry, 0, err
		}
		wanted, generation = client.ApplyConfigurationFromUnstructured(u), func() *int64 { return ptr.To(u.GetGeneration()) }
		took = func() bool {
			id, _, err := unstructured.NestedString(u.Object, append(at, autorebootv1.RestartIDAnnotation)...)
			return err == nil && id == action.ID
		}
	case w.Kind == common.WorkloadDeployment:
		d := appsv1ac.Deployment(w.Name, namespace).WithUID(w.UID).WithResourceVersion(version).
			WithSpec(appsv1ac.DeploymentSpec().WithTemplate(template))
		wanted, generation = d, func() *int64 { return d.Generation }
	case w.Kind == common.WorkloadStatefulSet:
		s := appsv1ac.StatefulSet(w.Name, namespace).WithUID(w.UID).WithResourceVersion(version).
			WithSpec(appsv1ac.StatefulSetSpec().WithTemplate(template))
		wanted, generation = s, func() *int64 { return s.Generation }
	case w.Kind == common.WorkloadDaemonSet:
		d := appsv1ac.DaemonSet(w.Name, namespace).WithUID(w.UID).WithResourceVersion(version).
			WithSpec(appsv1ac.DaemonSetSpec().WithTemplate(template))
		wanted, generation = d, func() *int64 { return d.Generation }
	case w.Kind == common.WorkloadRollout:
		u := applied(workloadkinds.Rollouts.GroupVersionKind, namespace, &action, version)
		if rollsOut(policy, w) {
			u.Object["spec"] = map[string]any{"template": map[string]any{"metadata": map[string]any{"annotations": nested(annotations)}}}
		} else {
			u.Object["spec"] = map[string]any{"restartAt": action.PodCutoff.UTC().Format(time.RFC3339)} // as kubectl argo rollouts restart sets it
		}
		wanted, generation = client.ApplyConfigurationFromUnstructured(u), func() *int64 { return ptr.To(u.GetGeneration()) }
	default:
		return restart.Retry, 0, fmt.Errorf("a %s cannot be restarted", w.Kind)
	}
	// Apply decodes the response into what was sent.
	err := c.Apply(ctx, wanted, client.FieldOwner(restartOwner), client.ForceOwnership)
	switch {
	case err == nil && !took():
		return restart.Refused, 0, fmt.Errorf("the API server drops annotations at %s, which the CRD must keep: set x-kubernetes-preserve-unknown-fields there, or use the strategy Evict",
			strings.Join(configured.Template, "."))
	case err == nil:
		return restart.Done, ptr.Deref(generation(), 0), nil
	}
	return outcomeOf(err, &action), 0, err
}

// outcomeOf returns what the error of a write to a workload means.
func outcomeOf(err error, action *restart.Action) restart.Outcome {
	w := action.Workload
	switch {
	case apistatus.IsAbsent(err, schema.GroupResource{Group: w.Kind.Group(), Resource: w.Kind.Resource()}, w.Name):
		return restart.Gone
	case controller.IsRefused(err):
		return restart.Refused
	}
	return restart.Retry
}

// applied returns what is applied to a workload, without any field of its spec.
func applied(kind schema.GroupVersionKind, namespace string, action *restart.Action, version string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{
		"name": action.Workload.Name, "namespace": namespace, "uid": string(action.Workload.UID), "resourceVersion": version,
	}}}
	u.SetGroupVersionKind(kind)
	return u
}

// evictionOutcome returns what the outcome of an eviction means for a restart.
func evictionOutcome(outcome eviction.Outcome) restart.Outcome {
	switch outcome {
	case eviction.Done, eviction.Gone:
		return restart.Done
	case eviction.Blocked:
		return restart.Blocked
	case eviction.Misconfigured:
		return restart.Misconfigured
	case eviction.Refused:
		return restart.Refused
	case eviction.Replaced, eviction.Retry:
	}
	return restart.Retry
}
