// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package restart

import (
	"strconv"
	"time"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
)

func (p *Pod) isLost() bool { return p.Lost != "" }

// lostPods returns how many of the pods that are desired are lost: a restart does without them. A DaemonSet desires none on a
// node that is not ready. They are no more than half of the pods, since a restart that is verified by the smaller part proves
// little.
func (w *Workload) lostPods() int32 {
	others := w.count(func(p *Pod) bool { return !p.isLost() && !p.Terminating })
	lost := min(w.count((*Pod).isLost), max(w.Desired-others, 0))
	if 2*lost > w.Desired {
		return 0
	}
	return lost
}

// IsLate reports whether a pod is neither ready nor new, or should have ended.
func (p *Pod) IsLate(now time.Time, after time.Duration) bool {
	if p.Terminating {
		return now.After(p.Ends)
	}
	return !p.Ready && now.After(p.Created.Add(after))
}

// LostText names the pods that are lost, with their nodes; empty where none is.
func (w *Workload) LostText() string {
	var all []string
	for i := range w.Pods {
		if p := &w.Pods[i]; p.isLost() {
			all = append(all, "pod "+p.Name+" on node "+p.Node+", "+p.Lost)
		}
	}
	if len(all) <= 1 {
		return firstNames(all)
	}
	return strconv.Itoa(len(all)) + " pods do not count: " + firstNames(all)
}

// isAvailableButLost reports whether pods are lost, and all others are available.
func (w *Workload) isAvailableButLost() bool {
	lost := w.lostPods()
	return lost > 0 && w.AvailablePods >= w.Desired-lost
}

// isReplacedButLost is isReplaced without the pods that are lost: the other ones are of the latest revision and available.
func (w *Workload) isReplacedButLost(f *autorebootv1.InFlightRestart) bool {
	if w.Outdated == nil || !w.isAvailableButLost() {
		return false
	}
	outdated := w.count(func(p *Pod) bool { return p.isLost() && (p.Terminating || !p.isNew(f)) })
	return *w.Outdated <= w.pastPartition(f)+min(outdated, w.lostPods())
}

// waitsForLost reports whether nothing but pods that are lost keeps a rollout from its end: no other one is unready.
func (w *Workload) waitsForLost() bool {
	unready := w.count(func(p *Pod) bool { return !p.isLost() && !p.Ready })
	return unready == 0 && w.count((*Pod).isLost) > 0
}
