// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	"context"
	"errors"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/controllers/internal/controller"
	"github.com/fairlead-dev/fairlead/controllers/rebootpolicy/restart"
	rules "github.com/fairlead-dev/fairlead/internal/rules/rebootpolicy"
)

// pauseOwner is the field owner of spec.paused of a Deployment and of the annotations about it, and of nothing else.
const pauseOwner = "fairlead-pause"

// pause pauses the rollout of a Deployment, which must be the one and the version that was decided about. It returns the version
// that it has then.
func pause(
	ctx context.Context, c client.Client, policy *autorebootv1.RebootPolicy, action *restart.Action, version string,
) (string, error) {
	if version == "" {
		return "", errors.New("the workload was not read")
	}
	w := action.Workload
	d := appsv1ac.Deployment(w.Name, policy.Namespace).WithUID(w.UID).WithResourceVersion(version).
		WithAnnotations(map[string]string{
			autorebootv1.PausedByAnnotation:  policy.Name,
			rules.ReloaderPausedAtAnnotation: action.Started.UTC().Format(time.RFC3339),
		}).
		WithSpec(appsv1ac.DeploymentSpec().WithPaused(true))
	if err := c.Apply(ctx, d, client.FieldOwner(pauseOwner), client.ForceOwnership); err != nil {
		return "", err
	}
	return ptr.Deref(d.ResourceVersion, version), nil
}

// resume gives up what pause has applied. A pause of another user stays.
func resume(ctx context.Context, c client.Client, namespace, name string, uid types.UID) (restart.Outcome, error) {
	err := c.Apply(ctx, appsv1ac.Deployment(name, namespace).WithUID(uid), client.FieldOwner(pauseOwner), client.ForceOwnership)
	switch {
	case err == nil:
		return restart.Done, nil
	case apierrors.IsNotFound(err):
		return restart.Gone, err
	case controller.IsRefused(err):
		return restart.Refused, err
	}
	return restart.Retry, err
}

// resumeAll resumes the Deployments that a policy has paused which is gone.
func (r *Reconciler) resumeAll(ctx context.Context, policy types.NamespacedName) error {
	var list appsv1.DeploymentList
	if err := r.Client.List(ctx, &list, client.InNamespace(policy.Namespace), shared); err != nil {
		return fmt.Errorf("list Deployments: %w", err)
	}
	var failures []error
	for i := range list.Items {
		d := &list.Items[i]
		if d.Annotations[autorebootv1.PausedByAnnotation] != policy.Name {
			continue
		}
		if _, err := resume(ctx, r.Client, d.Namespace, d.Name, d.UID); client.IgnoreNotFound(err) != nil {
			failures = append(failures, fmt.Errorf("resume Deployment %s: %w", d.Name, err))
		}
	}
	return errors.Join(failures...)
}

// enqueuePausing enqueues the policy that has paused a Deployment: it may be gone, also since before this process began.
func enqueuePausing() handler.TypedEventHandler[*appsv1.Deployment, reconcile.Request] {
	return handler.TypedEnqueueRequestsFromMapFunc(func(_ context.Context, d *appsv1.Deployment) []reconcile.Request {
		name := d.Annotations[autorebootv1.PausedByAnnotation]
		if name == "" {
			return nil
		}
		return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: d.Namespace, Name: name}}}
	})
}
