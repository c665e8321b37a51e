// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/controllers/internal/eviction"
	"github.com/fairlead-dev/fairlead/controllers/rebootpolicy/restart"
)

const (
	// restartOwner is the field owner of the two annotations, and of nothing else.
	restartOwner = "fairlead-restart"
	// restartedAt is the annotation of kubectl rollout restart.
	restartedAt = "kubectl.kubernetes.io/restartedAt"
)

// actor restarts workloads through the API server, in whose name a policy says.
type actor struct {
	// as returns a client that acts as a ServiceAccount, or as the operator where the name is empty.
	as func(namespace, serviceAccount string) (client.Client, error)
}

var _ Actor = (*actor)(nil)

// Do does one action. version is that of the workload that the decision was made from: on another one
// an annotation is a conflict.
func (a *actor) Do(ctx context.Context, policy *autorebootv1.RebootPolicy, action restart.Action, version string) ActionResult {
	c, err := a.as(policy.Namespace, policy.Spec.ServiceAccountName)
	if err != nil {
		return ActionResult{Outcome: restart.Retry, Err: fmt.Errorf("client for ServiceAccount %s: %w", policy.Spec.ServiceAccountName, err)}
	}
	switch action.Verb {
	case restart.Annotate:
		return annotate(ctx, c, policy.Namespace, action, version)
	case restart.Evict:
		return evict(ctx, c, policy.Namespace, action.Pod)
	}
	return ActionResult{Outcome: restart.Retry, Err: fmt.Errorf("unknown action %q", action.Verb)}
}

// annotate puts the restart's id on the pod template of the workload that was looked at, and of no
// other: the uid and the version must be the same.
func annotate(ctx context.Context, c client.Client, namespace string, action restart.Action, version string) ActionResult {
	w := action.Workload
	if version == "" {
		return ActionResult{Outcome: restart.Retry, Err: errors.New("the workload was not looked at")}
	}
	template := corev1ac.PodTemplateSpec().WithAnnotations(map[string]string{
		autorebootv1.RestartIDAnnotation: action.ID,
		restartedAt:                      action.Started.UTC().Format(time.RFC3339),
	})
	var wanted runtime.ApplyConfiguration
	var generation func() *int64
	switch w.Kind {
	case autorebootv1.TargetDeployment:
		d := appsv1ac.Deployment(w.Name, namespace).WithUID(w.UID).WithResourceVersion(version).
			WithSpec(appsv1ac.DeploymentSpec().WithTemplate(template))
		wanted, generation = d, func() *int64 { return d.Generation }
	case autorebootv1.TargetStatefulSet:
		s := appsv1ac.StatefulSet(w.Name, namespace).WithUID(w.UID).WithResourceVersion(version).
			WithSpec(appsv1ac.StatefulSetSpec().WithTemplate(template))
		wanted, generation = s, func() *int64 { return s.Generation }
	case autorebootv1.TargetDaemonSet:
		d := appsv1ac.DaemonSet(w.Name, namespace).WithUID(w.UID).WithResourceVersion(version).
			WithSpec(appsv1ac.DaemonSetSpec().WithTemplate(template))
		wanted, generation = d, func() *int64 { return d.Generation }
	default:
		return ActionResult{Outcome: restart.Retry, Err: fmt.Errorf("a %s cannot be restarted", w.Kind)}
	}
	// The answer is written into what was sent.
	err := c.Apply(ctx, wanted, client.FieldOwner(restartOwner), client.ForceOwnership)
	switch {
	case err == nil:
		return ActionResult{Outcome: restart.Done, Generation: ptr.Deref(generation(), 0)}
	case apierrors.IsNotFound(err):
		return ActionResult{Outcome: restart.Gone, Err: err}
	case apierrors.IsForbidden(err):
		return ActionResult{Outcome: restart.Forbidden, Err: err}
	}
	return ActionResult{Outcome: restart.Retry, Err: err}
}

// evict asks for the eviction of the pod that was looked at, and of none of the same name.
func evict(ctx context.Context, c client.Client, namespace string, pod *restart.Pod) ActionResult {
	if pod == nil {
		return ActionResult{Outcome: restart.Retry, Err: errors.New("there is no pod to evict")}
	}
	r := eviction.Evict(ctx, c, types.NamespacedName{Namespace: namespace, Name: pod.Name}, pod.UID, eviction.Options{})
	return ActionResult{Outcome: evicted(r.Outcome), Err: r.Err, Budget: r.Budget}
}

// evicted is what the outcome of an eviction means for a restart.
func evicted(outcome eviction.Outcome) restart.Outcome {
	switch outcome {
	case eviction.Done, eviction.Gone:
		return restart.Done
	case eviction.Blocked:
		return restart.Blocked
	case eviction.Misconfigured:
		return restart.Misconfigured
	case eviction.Forbidden:
		return restart.Forbidden
	case eviction.Replaced, eviction.Retry:
	}
	return restart.Retry
}
