// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package workloads

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/api/common"
	"github.com/fairlead-dev/fairlead/internal/rules"
	policyrules "github.com/fairlead-dev/fairlead/internal/rules/rebootpolicy"
)

// Workload is one as the cache, or the API server, has it.
type Workload struct {
	Kind common.WorkloadKind
	// APIVersion is the group and version at which it is read.
	APIVersion string
	Name       string
	UID        types.UID
	Created    time.Time
	// Labels and Annotations are its own, not those of its pods. They must not be changed.
	Labels, Annotations map[string]string
	// DependsOn are the ExternalServices that its annotation declares that it needs, and DependsOnMistake what is wrong with
	// the annotation, as a sentence; empty for nothing.
	DependsOn        []string
	DependsOnMistake string
	// Version is its metadata.resourceVersion, and Generation its metadata.generation.
	Version    string
	Generation int64
	Selector   *metav1.LabelSelector
	Template   *corev1.PodTemplateSpec
	// RefersTo is why the Template could not be read, which is that of another object; nil where it was.
	RefersTo error
	// TemplateHash is a hash of Template without the annotations of a restart; it is empty if unknown. RestartID is one of
	// these annotations.
	TemplateHash string
	RestartID    string
	// RunsToEnd means that it is a CronJob or a Job: a restart begins what runs to an end, and need not stay available.
	RunsToEnd bool
	// Obstacle is why a restart could not work, as a reason of Waiting: Paused, ScaledToZero,
	// OnDelete, Partitioned or Terminating. It is empty when normal. For the strategy Evict neither
	// Paused nor OnDelete nor Partitioned is one.
	Obstacle string
	// ObstacleText completes the sentence about the obstacle. It is empty if there is nothing to add.
	ObstacleText string
	// ScaledBy is the field manager that scaled it to zero, as far as that is known.
	ScaledBy string
	// RestartAt is spec.restartAt of a Rollout: pods that were created before are restarted. Restarting is why such a restart,
	// which may be in the future, is not over; empty where it is.
	RestartAt  time.Time
	Restarting string
	// TemplateOwner is the Deployment that has the pod template of a Rollout; empty where the Rollout has it.
	TemplateOwner types.UID
	// TemplateMistake is why the pod template of a Rollout is not known, as a sentence; empty where it is.
	TemplateMistake string
	// Desired is how many pods it should have.
	Desired int32
	// Available means that all desired pods are available, of whatever revision, and AvailablePods how
	// many are.
	Available     bool
	AvailablePods int32
	// Complete means that the workload's controller has seen its latest spec, every pod is of the
	// latest revision, and all desired ones are available. Where the workload itself keeps pods at an
	// older revision (OnDelete, a partition, paused), those count as of the latest.
	Complete bool
	// Updated is Complete whether the pods are available or not: no rollout is under way, but
	// the workload may be broken.
	Updated bool
	// Outdated is how many pods are not of the latest revision, or are missing from those desired; nil while the
	// workload's controller has not seen its latest spec. Those that the workload itself keeps at an older revision count.
	Outdated *int32
	// Shortage is why the workload has fewer pods than it should, and the zero value where nothing says so.
	Shortage Shortage
	// Stalled means that its rollout has passed its progress deadline. Progressed is when the rollout last went on, as far
	// as the workload says so.
	Stalled    bool
	Progressed time.Time
	// Partition is how many pods a StatefulSet's partition keeps as they are, and KeptByRollout reports whether a rollout
	// would leave the pod of an ordinal as it is; nil: of none.
	Partition     int32
	KeptByRollout func(ordinal int) bool
	// Ordered means that it makes its pods in order, each once those before it are ready, and replaces none before all are.
	Ordered bool
	// MaxUnavailable is how many pods may be unavailable while the workload itself rolls out.
	MaxUnavailable int32
	// MinReady is how long a pod must be ready to count as available.
	MinReady time.Duration
}

// Shortage is why pods are missing: a reason of Waiting, and the words of Kubernetes.
type Shortage struct{ Reason, Message string }

func newWorkload(
	kind common.WorkloadKind, object metav1.Object, template *corev1.PodTemplateSpec, selector *metav1.LabelSelector,
) *Workload {
	w := &Workload{
		Kind: kind, APIVersion: appsv1.SchemeGroupVersion.String(),
		Name: object.GetName(), UID: object.GetUID(), Created: object.GetCreationTimestamp().Time,
		Version: object.GetResourceVersion(), Generation: object.GetGeneration(),
		Labels: object.GetLabels(), Annotations: object.GetAnnotations(),
		Selector: selector, Template: template, TemplateHash: hashOf(template), RestartID: template.Annotations[autorebootv1.RestartIDAnnotation],
	}
	w.DependsOn, w.DependsOnMistake = rules.Dependencies(object.GetAnnotations())
	if object.GetDeletionTimestamp() != nil {
		w.Obstacle = autorebootv1.ReasonTerminating
	}
	if isScaledToZero(object) {
		w.ScaledBy = scalerOf(object)
	}
	return w
}

// RestartedAtAnnotation is the annotation that `kubectl rollout restart` sets.
const RestartedAtAnnotation = "kubectl.kubernetes.io/restartedAt"

// hashOf returns a hash of a pod template without the annotations of a restart; empty where it cannot be encoded.
func hashOf(template *corev1.PodTemplateSpec) string {
	same := *template
	same.Annotations = maps.Clone(template.Annotations)
	delete(same.Annotations, autorebootv1.RestartIDAnnotation)
	delete(same.Annotations, RestartedAtAnnotation)
	delete(same.Annotations, policyrules.ReloaderLastReloadedFromAnnotation)
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
	w := newWorkload(common.WorkloadDeployment, d, &d.Spec.Template, d.Spec.Selector)
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
			w.Shortage = Shortage{Reason: autorebootv1.ReasonReplicaFailure, Message: c.Message}
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
	w := newWorkload(common.WorkloadStatefulSet, s, &s.Spec.Template, s.Spec.Selector)
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
	w.Ordered = !onDelete && s.Spec.PodManagementPolicy != appsv1.ParallelPodManagement
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
	w := newWorkload(common.WorkloadDaemonSet, d, &d.Spec.Template, d.Spec.Selector)
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
