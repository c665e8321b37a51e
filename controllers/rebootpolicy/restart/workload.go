// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package restart

import (
	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/api/common"
)

// count returns how many pods are such as a function says.
func (w *Workload) count(is func(*Pod) bool) (n int32) {
	for i := range w.Pods {
		if is(&w.Pods[i]) {
			n++
		}
	}
	return n
}

// carries reports whether the workload says that it is to be restarted: by the id on its pod template, or a Rollout also by its
// spec.restartAt, which another user or controller may have set to a later time.
func (w *Workload) carries(f *autorebootv1.InFlightRestart) bool {
	return w.RestartID == f.ID || w.Kind == common.WorkloadRollout && !w.RestartAt.Before(cutoffOf(f))
}

// isReverted reports whether the template is the one from before the restart again. Any other without the annotation is a
// new revision, whose pods are made after the restart began as well: it goes on with them. Neither before the annotation was
// observed, nor in an older view, is a missing annotation a revert. Nor is a missing spec.restartAt once the pods are new: its
// removal makes no revision.
func (w *Workload) isReverted(f *autorebootv1.InFlightRestart) bool {
	missing := f.Phase != autorebootv1.PhasePlanned && f.Generation > 0 && w.Generation >= f.Generation && !w.carries(f)
	if w.Kind == common.WorkloadRollout && (f.Phase == autorebootv1.PhaseSoaking || w.allPodsNew(f)) {
		return false
	}
	return missing && (f.Template == "" || f.Template == w.TemplateHash)
}

// isReplaced reports whether every pod is of the latest revision, except for those that a partition kept when the restart was
// decided on. A rollout that is paused, or has its partition raised, while it is under way proves nothing. The pods of other
// projects' workloads must be newer too: the restart of a Rollout makes no revision, and others may change pods in place.
func (w *Workload) isReplaced(f *autorebootv1.InFlightRestart) bool {
	return w.Desired > 0 && w.Outdated != nil && *w.Outdated <= w.pastPartition(f) &&
		(w.Kind.Group() == common.AppsGroup || w.allPodsNewAndReady(f))
}

// keptInPlaceText returns why a restart is not over of a workload that says that all its pods are of the latest revision: a
// controller of another project may change them in place, or not be what controls them. It is empty where nothing says so.
func (w *Workload) keptInPlaceText(f *autorebootv1.InFlightRestart) string {
	switch {
	case w.Kind.Group() == common.AppsGroup || w.Kind == common.WorkloadRollout || !w.Complete || w.allPodsNewAndReady(f):
		return ""
	case len(w.Pods) == 0:
		return "no pod is controlled by the workload or by a ReplicaSet of it"
	}
	return "its controller says that all pods are of the latest revision, and some are from before the restart: it changes pods in place; use the strategy Evict"
}

// pastPartition returns how many pods a partition keeps now and kept when the restart was decided on.
func (w *Workload) pastPartition(f *autorebootv1.InFlightRestart) int32 {
	if f.Partition == nil { // stored by a version without this field
		return w.Partition
	}
	return min(w.Partition, *f.Partition)
}

// obstacleText returns the obstacle as the text of a message. Another controller may have scaled the workload to zero for good,
// and run its pods elsewhere.
func (w *Workload) obstacleText() string {
	text := "the workload is " + w.Obstacle + w.ObstacleText
	if w.Obstacle == autorebootv1.ReasonScaledToZero && w.ScaledBy != "" {
		text += " by " + w.ScaledBy
	}
	return text
}

// podsWanted returns how many pods must be available: the smaller of those desired now and when the soak began.
func (w *Workload) podsWanted(f *autorebootv1.InFlightRestart) int32 {
	if f.Desired == nil {
		return w.Desired
	}
	return min(w.Desired, *f.Desired)
}

// shortageText returns why pods are missing; empty where nothing says so.
func (w *Workload) shortageText() string {
	if w.Shortage.Reason == "" {
		return ""
	}
	return w.Shortage.Reason + ": " + w.Shortage.Message
}
