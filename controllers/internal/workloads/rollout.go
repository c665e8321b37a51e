// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package workloads

import (
	"cmp"
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/api/common"
	"github.com/fairlead-dev/fairlead/internal/argorollouts"
)

// Rollout reads a Rollout of Argo Rollouts. Its restart makes no revision, so that no step and no analysis of its strategy
// comes into it, and begins none in the middle of one: while the strategy waits for a user, or has given up a revision, that is
// an obstacle, and until a revision is promoted a rollout is under way. A rollout past its progress deadline is Stalled, as that
// of a Deployment is. Its template is that of the Rollout alone: resolve reads the one that it refers to.
func Rollout(r *argorollouts.Rollout, evicts bool) *Workload {
	selector := r.Spec.Selector
	if selector == nil {
		selector = &metav1.LabelSelector{}
	}
	w := newWorkload(common.WorkloadRollout, r, &r.Spec.Template, selector)
	w.APIVersion = argorollouts.GroupVersion.String()
	w.MinReady = seconds(r.Spec.MinReadySeconds)
	desired := ptr.Deref(r.Spec.Replicas, 1)
	status := &r.Status
	if r.Spec.RestartAt != nil {
		w.RestartAt = r.Spec.RestartAt.Time
	}
	if r.IsRestarting() {
		w.Restarting = "a restart is in progress: spec.restartAt is " + w.RestartAt.UTC().Format(time.RFC3339) + ", and status.restartedAt is not"
	}
	waits := r.Spec.Paused || len(status.PauseConditions) > 0 || status.Abort
	if fault := cmp.Or(r.Spec.Fault, conditionMessage(r, argorollouts.ConditionInvalidSpec)); fault != "" {
		w.addObstacle(autorebootv1.ReasonDegraded, true)
		w.ObstacleText = ", since its spec is invalid: " + fault
	}
	if !evicts {
		w.addRolloutObstacles(r)
	}
	w.addObstacle(autorebootv1.ReasonScaledToZero, desired == 0)

	updated, all := status.UpdatedReplicas, status.Replicas
	if !r.IsPromoted() {
		updated = 0
	} else if canary := r.Spec.Strategy.Canary; canary == nil || canary.TrafficRouting != nil {
		all = updated // pods of the revision before stay for a while once no traffic comes to them
	}
	w.setCounts(counts{
		observed: r.IsObserved() && w.Restarting == "", desired: desired, toUpdate: desired,
		all: all, updated: updated, available: status.AvailableReplicas, manual: waits,
	})
	for i := range status.Conditions {
		switch c := &status.Conditions[i]; {
		case c.Type == argorollouts.ConditionReplicaFailure && c.Status == corev1.ConditionTrue:
			w.Shortage = Shortage{Reason: autorebootv1.ReasonReplicaFailure, Message: c.Message}
		case c.Type == argorollouts.ConditionProgressing:
			w.Stalled, w.Progressed = c.Reason == argorollouts.ReasonProgressDeadlineExceeded, c.LastUpdateTime.Time
		}
	}
	if canary := r.Spec.Strategy.Canary; canary != nil {
		w.MaxUnavailable = unavailable(canary.MaxUnavailable, intstr.FromString("25%"), desired, false)
	}
	return w
}

// addRolloutObstacles adds what holds a restart by spec.restartAt.
func (w *Workload) addRolloutObstacles(r *argorollouts.Rollout) {
	for _, o := range []struct {
		holds        bool
		reason, text string
	}{
		{r.Spec.Paused, autorebootv1.ReasonPaused, " by its spec.paused"},
		{r.Status.Abort, autorebootv1.ReasonDegraded, ", since its latest revision was aborted: retry it, or set the pod template back"},
		{len(r.Status.PauseConditions) > 0, autorebootv1.ReasonPaused, ""},
	} {
		if !o.holds || w.Obstacle != "" {
			continue
		}
		if w.addObstacle(o.reason, true); o.text == "" {
			o.text = " in its strategy (" + r.Status.PauseConditions[0].Reason + "): promote or abort it"
		}
		w.ObstacleText = o.text
	}
}

func conditionMessage(r *argorollouts.Rollout, condition string) string {
	for i := range r.Status.Conditions {
		if c := &r.Status.Conditions[i]; c.Type == condition && c.Status != corev1.ConditionFalse {
			return cmp.Or(c.Message, c.Reason, c.Type)
		}
	}
	return ""
}

// resolve reads the pod template of a Rollout that refers to that of a Deployment. Those of other kinds are not held by the
// cache: what they refer to must be named by a trigger.
func (w *Workload) resolve(ctx context.Context, from client.Reader, r *argorollouts.Rollout) error {
	ref := r.Spec.WorkloadRef
	if ref == nil {
		return nil
	}
	if ref.Kind != string(common.WorkloadDeployment) {
		w.TemplateMistake = fmt.Sprintf("the pod template is that of %s %s, which is not read: name the ConfigMaps and Secrets in configChange.sources or the annotation %s",
			ref.Kind, ref.Name, common.RestartOnChangeAnnotation)
		return nil
	}
	d, err := Get(ctx, from, types.NamespacedName{Namespace: r.Namespace, Name: ref.Name}, common.WorkloadDeployment, false)
	if err != nil {
		return err
	}
	if d == nil {
		w.TemplateMistake = "the pod template is that of Deployment " + ref.Name + ", which does not exist"
		return nil
	}
	w.Template, w.TemplateHash, w.TemplateOwner = d.Template, d.TemplateHash, d.UID
	if r.Spec.Selector == nil {
		w.Selector = d.Selector
	}
	return nil
}
