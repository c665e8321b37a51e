// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package workloads

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/controllers/rebootpolicy/restart"
)

// Workload is one as the cache, or the API server, has it.
type Workload struct {
	restart.Workload
	Version  string // metadata.resourceVersion
	Template *corev1.PodTemplateSpec
	Selector *metav1.LabelSelector
	// KeptByRollout reports whether a rollout would leave the pod of an ordinal as it is; nil: of none.
	KeptByRollout func(ordinal int) bool
	// MinReady is how long a pod must be ready to count as available.
	MinReady time.Duration
}

func newWorkload(kind autorebootv1.TargetKind, object metav1.Object, template *corev1.PodTemplateSpec, selector *metav1.LabelSelector) *Workload {
	w := &Workload{Version: object.GetResourceVersion(), Template: template, Selector: selector}
	w.Kind, w.Name, w.UID, w.Generation = kind, object.GetName(), object.GetUID(), object.GetGeneration()
	w.RestartID, w.Workload.Template = template.Annotations[autorebootv1.RestartIDAnnotation], identityOf(template)
	if object.GetDeletionTimestamp() != nil {
		w.Obstacle = autorebootv1.ReasonTerminating
	}
	if isScaledToZero(object) {
		w.ScaledBy = scalerOf(object)
	}
	return w
}

// RestartedAtAnnotation is that of `kubectl rollout restart`.
const RestartedAtAnnotation = "kubectl.kubernetes.io/restartedAt"

// identityOf returns a hash of a pod template without the annotations of a restart; empty where it cannot be encoded.
func identityOf(template *corev1.PodTemplateSpec) string {
	same := *template
	same.Annotations = maps.Clone(template.Annotations)
	delete(same.Annotations, autorebootv1.RestartIDAnnotation)
	delete(same.Annotations, RestartedAtAnnotation)
	data, err := same.Marshal()
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:8])
}

// addObstacle notes the first obstacle.
func (w *Workload) addObstacle(reason string, holds bool) {
	if holds && w.Obstacle == "" {
		w.Obstacle = reason
	}
}

// counts are those of the status of a workload.
type counts struct {
	observed                         bool // its controller has seen the latest spec
	desired, all, updated, available int32
	toUpdate                         int32 // pods that a rollout reaches
	manual                           bool  // a change of the template rolls nothing out by itself
}

// setCounts draws the conclusions. Where a change of the template waits for a user, which is no obstacle
// to evicting pods, their revisions are no sign of a rollout. Outdated has no such exception: it proves that a rollout
// has ended, and not that another may begin.
func (w *Workload) setCounts(c counts) {
	w.Desired, w.AvailablePods = c.desired, c.available
	if c.observed {
		w.Outdated = ptr.To(max(c.all, c.desired) - min(c.updated, c.desired))
	}
	w.Available = c.available >= c.desired
	w.Updated = c.observed && (c.manual || c.updated >= c.toUpdate && c.all <= max(c.updated, c.desired))
	w.Complete = w.Updated && w.Available
}

// Deployment reads a Deployment; evicts means that its pods would be evicted.
func Deployment(d *appsv1.Deployment, evicts bool) *Workload {
	w := newWorkload(autorebootv1.TargetDeployment, d, &d.Spec.Template, d.Spec.Selector)
	w.MinReady = seconds(d.Spec.MinReadySeconds)
	desired := ptr.Deref(d.Spec.Replicas, 1)
	w.addObstacle(autorebootv1.ReasonPaused, d.Spec.Paused && !evicts)
	w.addObstacle(autorebootv1.ReasonScaledToZero, desired == 0)
	w.setCounts(counts{
		observed: d.Status.ObservedGeneration >= d.Generation, desired: desired, toUpdate: desired,
		all: d.Status.Replicas, updated: d.Status.UpdatedReplicas, available: d.Status.AvailableReplicas,
		manual: d.Spec.Paused,
	})
	for i := range d.Status.Conditions {
		switch c := &d.Status.Conditions[i]; {
		case c.Type == appsv1.DeploymentReplicaFailure && c.Status == corev1.ConditionTrue:
			w.Shortage = restart.Shortage{Reason: autorebootv1.ReasonReplicaFailure, Message: c.Message}
		case c.Type == appsv1.DeploymentProgressing:
			w.Stalled, w.Progressed = c.Status == corev1.ConditionFalse, c.LastUpdateTime.Time
		}
	}
	if rolling := d.Spec.Strategy.RollingUpdate; rolling != nil {
		w.MaxUnavailable = unavailable(rolling.MaxUnavailable, intstr.FromString("25%"), desired, false)
	}
	return w
}

// StatefulSet reads a StatefulSet.
func StatefulSet(s *appsv1.StatefulSet, evicts bool) *Workload {
	w := newWorkload(autorebootv1.TargetStatefulSet, s, &s.Spec.Template, s.Spec.Selector)
	w.MinReady = seconds(s.Spec.MinReadySeconds)
	desired, partition := ptr.Deref(s.Spec.Replicas, 1), int32(0)
	onDelete := s.Spec.UpdateStrategy.Type == appsv1.OnDeleteStatefulSetStrategyType
	if rolling := s.Spec.UpdateStrategy.RollingUpdate; rolling != nil && !onDelete {
		partition = ptr.Deref(rolling.Partition, 0)
	}
	w.addObstacle(autorebootv1.ReasonScaledToZero, desired == 0)
	w.addObstacle(autorebootv1.ReasonOnDelete, onDelete && !evicts)
	w.addObstacle(autorebootv1.ReasonPartitioned, partition >= desired && !evicts)
	w.setCounts(counts{
		observed: s.Status.ObservedGeneration >= s.Generation, desired: desired, toUpdate: max(desired-partition, 0),
		all: s.Status.Replicas, updated: s.Status.UpdatedReplicas, available: s.Status.AvailableReplicas,
		manual: onDelete,
	})
	if !onDelete {
		var most *intstr.IntOrString
		if rolling := s.Spec.UpdateStrategy.RollingUpdate; rolling != nil {
			most = rolling.MaxUnavailable
		}
		w.MaxUnavailable = unavailable(most, intstr.FromInt32(1), desired, true)
	}
	w.Partition = min(partition, desired)
	if partition > 0 && !evicts {
		first := 0
		if s.Spec.Ordinals != nil {
			first = int(s.Spec.Ordinals.Start)
		}
		w.KeptByRollout = func(ordinal int) bool { return ordinal < first+int(partition) }
	}
	return w
}

// DaemonSet reads a DaemonSet.
func DaemonSet(d *appsv1.DaemonSet, evicts bool) *Workload {
	w := newWorkload(autorebootv1.TargetDaemonSet, d, &d.Spec.Template, d.Spec.Selector)
	w.MinReady = seconds(d.Spec.MinReadySeconds)
	onDelete := d.Spec.UpdateStrategy.Type == appsv1.OnDeleteDaemonSetStrategyType
	seen, desired := d.Status.ObservedGeneration >= d.Generation, d.Status.DesiredNumberScheduled
	w.addObstacle(autorebootv1.ReasonScaledToZero, seen && desired == 0)
	w.addObstacle(autorebootv1.ReasonOnDelete, onDelete && !evicts)
	w.setCounts(counts{
		observed: seen, desired: desired, toUpdate: desired,
		all: d.Status.CurrentNumberScheduled, updated: d.Status.UpdatedNumberScheduled, available: d.Status.NumberAvailable,
		manual: onDelete,
	})
	if rolling := d.Spec.UpdateStrategy.RollingUpdate; rolling != nil && !onDelete {
		w.MaxUnavailable = unavailable(rolling.MaxUnavailable, intstr.FromInt32(1), desired, true)
	}
	w.Available = w.Available && d.Status.ObservedGeneration > 0 // before that desired is nought
	w.Complete = w.Complete && w.Available
	return w
}

// unavailable is how many pods may be unavailable in a rollout. What cannot be read is none.
func unavailable(most *intstr.IntOrString, fallback intstr.IntOrString, desired int32, up bool) int32 {
	n, err := intstr.GetScaledValueFromIntOrPercent(ptr.To(ptr.Deref(most, fallback)), int(desired), up)
	if err != nil {
		return 0
	}
	return int32(min(max(n, 0), int(desired)))
}

// ReplicaSet reads one that no Deployment controls. It has no rollout.
func ReplicaSet(r *appsv1.ReplicaSet) *Workload {
	w := newWorkload("ReplicaSet", r, &r.Spec.Template, r.Spec.Selector)
	desired := ptr.Deref(r.Spec.Replicas, 1)
	w.addObstacle(autorebootv1.ReasonScaledToZero, desired == 0)
	w.MinReady = seconds(r.Spec.MinReadySeconds)
	w.setCounts(counts{
		observed: r.Status.ObservedGeneration >= r.Generation, desired: desired, toUpdate: desired,
		all: r.Status.Replicas, updated: r.Status.Replicas, available: r.Status.AvailableReplicas,
	})
	return w
}

func seconds(n int32) time.Duration { return time.Duration(n) * time.Second }

// Get reads one workload; it returns nil where there is none. From a cache it reads what must not be
// changed. Evicts means that its pods would be evicted.
func Get(ctx context.Context, from client.Reader, key types.NamespacedName, kind autorebootv1.TargetKind, evicts bool) (*Workload, error) {
	const shared = client.UnsafeDisableDeepCopy
	var w *Workload
	var err error
	switch kind {
	case autorebootv1.TargetDeployment:
		var d appsv1.Deployment
		if err = from.Get(ctx, key, &d, shared); err == nil {
			w = Deployment(&d, evicts)
		}
	case autorebootv1.TargetStatefulSet:
		var set appsv1.StatefulSet
		if err = from.Get(ctx, key, &set, shared); err == nil {
			w = StatefulSet(&set, evicts)
		}
	case autorebootv1.TargetDaemonSet:
		var set appsv1.DaemonSet
		if err = from.Get(ctx, key, &set, shared); err == nil {
			w = DaemonSet(&set, evicts)
		}
	}
	if apierrors.IsNotFound(err) && !apierrors.IsUnexpectedServerError(err) { // which the page of a proxy is
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read %s %s: %w", kind, key.Name, err)
	}
	return w, nil
}
