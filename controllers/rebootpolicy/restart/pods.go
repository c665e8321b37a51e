// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package restart

import (
	"slices"
	"strconv"
	"strings"
	"time"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/api/common"
)

// isNew reports whether a pod was created after a restart had been decided on.
func (p *Pod) isNew(f *autorebootv1.InFlightRestart) bool {
	return !p.Created.Before(cutoffOf(f))
}

// cutoffOf returns when the first pod of a restart may be created.
func cutoffOf(f *autorebootv1.InFlightRestart) time.Time {
	if f.PodCutoffTime == nil { // stored by a version without this field
		return timeOf(f.StartTime)
	}
	return f.PodCutoffTime.Time
}

// podsMissing returns how many pods too few are available.
func (w *Workload) podsMissing(f *autorebootv1.InFlightRestart) int32 {
	if w.Available || w.Generation < f.Generation {
		return 0 // or a view from before the restart
	}
	available := w.AvailablePods
	if f.Generation == 0 { // after evictions the age of the workload's status is not known: its pods must agree
		available = max(available, w.count(func(pod *Pod) bool { return pod.Ready && !pod.Terminating && pod.isNew(f) }))
	}
	return w.podsWanted(f) - available
}

// podsStarting returns how many pods were created after the soak began and are not ready.
func (w *Workload) podsStarting(f *autorebootv1.InFlightRestart) int32 {
	return w.count(func(pod *Pod) bool { return !pod.Ready && !pod.Terminating && pod.Created.After(timeOf(f.PhaseTime)) })
}

// verifiedText returns what is to be known of a restart that was verified; empty where nothing is.
func (w *Workload) verifiedText(f *autorebootv1.InFlightRestart) string {
	if f.Generation > 0 && !w.carries(f) && w.TemplateHash != f.Template {
		return "by a newer revision of the workload, which replaced the pods as well"
	}
	return strings.Join(slices.DeleteFunc([]string{w.keptPodsText(), w.LostText()}, func(s string) bool { return s == "" }), "; ")
}

// keptPodsText names the pods that a restart did not replace; empty where there are none.
func (w *Workload) keptPodsText() string {
	if len(w.Kept) == 0 || w.RestartID == "" {
		return ""
	}
	var names []string
	for i := range w.Kept {
		names = append(names, w.Kept[i].Name)
	}
	return "the partition keeps these pods as they were: " + firstNames(names)
}

// podsToEvict returns the pods to evict now, first those that are not ready. Counting old pods and new ones that are
// ready, no more than allowed may be missing of those desired.
func (w *Workload) podsToEvict(f *autorebootv1.InFlightRestart, allowed int) []*Pod {
	var old, lost []*Pod
	present := 0
	for i := range w.Pods {
		pod := &w.Pods[i]
		switch {
		case pod.Terminating:
		case pod.Lost != "" && !pod.isNew(f):
			lost = append(lost, pod) // it ends once its node is back
		case !pod.isNew(f):
			old = append(old, pod)
			present++
		case pod.Ready:
			present++
		}
	}
	slices.SortStableFunc(old, func(a, b *Pod) int {
		switch {
		case a.Ready != b.Ready && a.Ready:
			return 1
		case a.Ready != b.Ready:
			return -1
		default:
			return a.Created.Compare(b.Created)
		}
	})
	missing := max(int(w.Desired-w.lostPods())-present, 0)
	return append(lost, old[:min(max(allowed-missing, 0), len(old))]...)
}

// unreadyText returns what the first pod that is not ready waits for; empty where nothing says so.
func (w *Workload) unreadyText() string {
	for i := range w.Pods {
		if p := &w.Pods[i]; !p.Ready && !p.Terminating && p.WaitsFor != "" {
			return "pod " + p.Name + " is not ready: " + p.WaitsFor
		}
	}
	return ""
}

// BlockedText returns the disruption budget that refuses evictions, and what to do about one that protects what is stuck.
func (w *Workload) BlockedText(f *autorebootv1.InFlightRestart) string {
	switch unready := func(p Pod) bool { return !p.Ready && !p.Terminating && p.Lost == "" }; {
	case w.Kind == common.WorkloadDaemonSet:
		return f.BlockedBy + ", which can allow evictions of a DaemonSet only by minAvailable as a number"
	case slices.ContainsFunc(w.Pods, unready):
		return f.BlockedBy + ", which protects pods that are not ready as well unless its spec.unhealthyPodEvictionPolicy is AlwaysAllow"
	}
	return f.BlockedBy
}

// allPodsNew reports whether no pod is left from before the restart.
func (w *Workload) allPodsNew(f *autorebootv1.InFlightRestart) bool {
	return w.count(func(pod *Pod) bool { return !pod.Terminating && !pod.isNew(f) }) == 0
}

// allPodsNewAndReady reports whether no pod is left from before the restart and as many as desired are ready. It counts pods
// itself: the workload's status comes from another cache, and either cache may be behind.
func (w *Workload) allPodsNewAndReady(f *autorebootv1.InFlightRestart) bool {
	ready := w.count(func(pod *Pod) bool { return pod.Ready && !pod.Terminating })
	return ready >= w.Desired-w.lostPods() && w.allPodsNew(f)
}

// containerRestarts returns how often containers of the new pods restarted since the pods were first ready. A restart that may
// have been earlier counts if it was after the soak began.
func (w *Workload) containerRestarts(f *autorebootv1.InFlightRestart) int64 {
	n := int64(0)
	for i := range w.Pods {
		if pod := &w.Pods[i]; pod.isNew(f) {
			n += int64(pod.Restarts - pod.RestartsBeforeReady)
		}
	}
	if f.Phase == autorebootv1.PhaseSoaking {
		n += int64(max(w.restartsBeforeReady(f)-f.ContainerRestarts, 0))
	}
	return n
}

// restartsBeforeReady returns the restarts of containers that may have been before their pods were first ready, of pods that
// were made from the start of a restart on and before its soak.
func (w *Workload) restartsBeforeReady(f *autorebootv1.InFlightRestart) int32 {
	n := int32(0)
	for i := range w.Pods {
		if pod := &w.Pods[i]; pod.isNew(f) && !pod.Created.After(timeOf(f.PhaseTime)) {
			n += pod.RestartsBeforeReady
		}
	}
	return n
}

// finalizerText names the first pod that is being deleted and has a finalizer, as the text of a message: a pod of its name,
// or on its node, is made only once it is gone.
func (w *Workload) finalizerText() string {
	for i := range w.Pods {
		if pod := &w.Pods[i]; pod.Terminating && pod.Finalizer != "" {
			return "pod " + pod.Name + " is being deleted, and exists until its finalizer " + pod.Finalizer + " is removed"
		}
	}
	return ""
}

// newestPod returns when the newest pod was created; zero without pods.
func (w *Workload) newestPod() time.Time {
	var at time.Time
	for i := range w.Pods {
		if pod := &w.Pods[i]; !pod.Terminating && pod.Created.After(at) {
			at = pod.Created
		}
	}
	return at
}

// standstill returns since when a rollout that has not ended may have come to a standstill.
func (w *Workload) standstill() time.Time { return latest(w.newestPod(), w.Progressed) }

// lastReady returns when the pod became ready that did so last, of those that are; zero where nothing says so.
func (w *Workload) lastReady() time.Time {
	var at time.Time
	for i := range w.Pods {
		if pod := &w.Pods[i]; pod.Ready && !pod.Terminating {
			at = latest(at, pod.ReadyChanged)
		}
	}
	return at
}

// Stopped returns what in the spec of the workload, or which finalizer of a pod, keeps its restart from its end, in the words of
// a message; empty where nothing does.
func (w *Workload) Stopped(f *autorebootv1.InFlightRestart) string {
	switch kept := w.pastPartition(f); {
	case f.Phase == autorebootv1.PhasePlanned, f.Phase == autorebootv1.PhaseSoaking && w.Desired > 0:
		return ""
	case w.Obstacle != "":
		return w.obstacleText()
	case f.Phase == autorebootv1.PhaseRollingOut && w.Partition > kept:
		return "the workload is " + autorebootv1.ReasonPartitioned + ": its partition keeps " +
			strconv.Itoa(int(w.Partition)) + " pods, not " + strconv.Itoa(int(kept))
	}
	return w.finalizerText()
}

// blockingPod returns the pod of an earlier revision that keeps the controller of a StatefulSet from the rollout of a restart:
// one that is not ready, where pods are made in order (kubernetes/kubernetes#67250). It is nil where there is none, and while
// another pod is about to end. The restart would replace it in any case.
func (w *Workload) blockingPod(f *autorebootv1.InFlightRestart) *Pod {
	if !w.Ordered || f.Phase != autorebootv1.PhaseRollingOut || !w.carries(f) || w.Outdated == nil || *w.Outdated <= w.pastPartition(f) ||
		w.count(func(p *Pod) bool { return p.Terminating }) > 0 {
		return nil
	}
	for i := range w.Pods {
		if p := &w.Pods[i]; !p.Ready && !p.isLost() && !p.isNew(f) {
			return p
		}
	}
	return nil
}

// BlockingText returns what is done about blockingPod, and what a person must do where it may not be evicted; empty where none is.
func (w *Workload) BlockingText(f *autorebootv1.InFlightRestart, namespace string) string {
	p := w.blockingPod(f)
	if p == nil {
		return ""
	}
	blocks := "pod " + p.Name + " of the previous revision is not ready, and a StatefulSet that makes its pods in order replaces none before it is"
	refused := ""
	switch {
	case f.BlockedBy != "":
		refused = "the PodDisruptionBudget " + f.BlockedBy + " refuses its eviction"
	case f.BlockedTime != nil:
		refused = "a disruption budget refuses its eviction"
	case f.Refusal != nil:
		refused = "the API server refuses its eviction"
	default:
		return blocks + ": it is evicted"
	}
	return blocks + "; " + refused + ", so that a person must delete it: kubectl delete pod " + p.Name + " -n " + namespace
}

// evictsBlocking returns whether blockingPod is evicted now, and if not, when: it may become ready by itself.
func (w *Workload) evictsBlocking(f *autorebootv1.InFlightRestart, now time.Time) (pod *Pod, at time.Time) {
	pod = w.blockingPod(f)
	if pod == nil {
		return nil, time.Time{}
	}
	at = latest(timeOf(f.PhaseTime), latest(pod.Created, pod.ReadyChanged)).Add(unavailableFor)
	if now.Before(at) {
		return nil, at
	}
	return pod, time.Time{}
}
