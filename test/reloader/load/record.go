// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package load

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// event is something that happened to an object. The versions of all kinds are revisions of one store, and so they tell which of two
// events was first (KEP-5504); a clock does not.
type event struct {
	version uint64
	at      time.Time
}

func versionOf(text string) (uint64, error) { return strconv.ParseUint(text, 10, 64) }

// seen is the observed state of a workload.
type seen struct {
	sources          []source
	made             uint64
	restarts         []event
	settled, deleted bool
}

// record holds the restarts of the workloads of a scenario.
type record struct {
	informers informers.SharedInformerFactory

	mu        sync.Mutex // guards what follows
	workloads map[string]*seen
	changes   map[source][]event
	// pods are by the key of their workload, with the version at which each was made.
	pods map[string]map[string]uint64
	err  error
}

func keyOf(namespace, name string) string { return namespace + "/" + name }

func newRecord() *record {
	return &record{workloads: map[string]*seen{}, changes: map[source][]event{}, pods: map[string]map[string]uint64{}}
}

// watch begins, and returns once all that is there is known. It ends with ctx; close waits for that.
func watch(ctx context.Context, kube kubernetes.Interface) (*record, error) {
	r := newRecord()
	r.informers = informers.NewSharedInformerFactory(kube, 0)
	apps := r.informers.Apps().V1()
	handlers := cache.ResourceEventHandlerFuncs{
		AddFunc:    func(object any) { r.show(nil, object) },
		UpdateFunc: func(old, object any) { r.show(old, object) },
		DeleteFunc: r.remove,
	}
	for _, informer := range []cache.SharedIndexInformer{
		apps.Deployments().Informer(), apps.StatefulSets().Informer(), apps.DaemonSets().Informer(), r.informers.Core().V1().Pods().Informer(),
	} {
		if _, err := informer.AddEventHandler(handlers); err != nil {
			return r, err
		}
	}
	r.informers.StartWithContext(ctx)
	return r, r.informers.WaitForCacheSyncWithContext(ctx).AsError()
}

// expect says which sources a workload reads. It is said before the workload is made.
func (r *record) expect(w workload) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.workloads[keyOf(w.object.GetNamespace(), w.object.GetName())] = &seen{sources: w.sources}
}

// change notes new content of a source.
func (r *record) change(s source, version string) error {
	v, err := versionOf(version)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.changes[s] = append(r.changes[s], event{v, time.Now()})
	return err
}

// show notes a state of a workload or a pod.
func (r *record) show(old, object any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	of, is := object.(client.Object)
	if !is {
		r.err = errors.Join(r.err, fmt.Errorf("watched a %T", object))
		return
	}
	version, err := versionOf(of.GetResourceVersion())
	r.err = errors.Join(r.err, err)
	if pod, is := object.(*corev1.Pod); is {
		r.showPod(pod, version)
		return
	}
	w := r.workloads[keyOf(of.GetNamespace(), of.GetName())]
	if w == nil {
		return
	}
	if w.made == 0 {
		w.made = version
	}
	template, settled := stateOf(object)
	if old != nil {
		if before, _ := stateOf(old); !equality.Semantic.DeepEqual(before, template) {
			w.restarts = append(w.restarts, event{version, time.Now()})
		}
	}
	w.settled = settled
}

func (r *record) showPod(pod *corev1.Pod, version uint64) {
	key := keyOf(pod.Namespace, pod.Labels[appLabel])
	if pod.DeletionTimestamp != nil {
		delete(r.pods[key], pod.Name+string(pod.UID))
		return
	}
	if r.pods[key] == nil {
		r.pods[key] = map[string]uint64{}
	}
	if _, known := r.pods[key][pod.Name+string(pod.UID)]; !known {
		r.pods[key][pod.Name+string(pod.UID)] = version
	}
}

func (r *record) remove(object any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if gone, is := object.(cache.DeletedFinalStateUnknown); is {
		object = gone.Obj
	}
	switch of := object.(type) {
	case *corev1.Pod:
		delete(r.pods[keyOf(of.Namespace, of.Labels[appLabel])], of.Name+string(of.UID))
	case client.Object:
		if w := r.workloads[keyOf(of.GetNamespace(), of.GetName())]; w != nil {
			w.deleted = true
		}
	}
}

// stateOf returns the pod template of a workload, and whether all its pods are of that template and available.
func stateOf(object any) (corev1.PodTemplateSpec, bool) {
	switch w := object.(type) {
	case *appsv1.Deployment:
		s, n := w.Status, *w.Spec.Replicas
		return w.Spec.Template, s.ObservedGeneration >= w.Generation && s.Replicas == n && s.UpdatedReplicas == n && s.AvailableReplicas == n
	case *appsv1.StatefulSet:
		s, n := w.Status, *w.Spec.Replicas
		return w.Spec.Template, s.ObservedGeneration >= w.Generation && s.UpdateRevision == s.CurrentRevision && s.Replicas == n && s.AvailableReplicas == n
	case *appsv1.DaemonSet:
		s := w.Status
		n := s.DesiredNumberScheduled
		return w.Spec.Template, s.ObservedGeneration >= w.Generation && n > 0 && s.UpdatedNumberScheduled == n && s.NumberAvailable == n
	}
	return corev1.PodTemplateSpec{}, false
}

// outcome summarizes a record.
type outcome struct {
	// Workloads that are there, and those that are not all available with their template.
	workloads, unsettled int
	// restarts are new pod templates, and uncaused those that are more than the changes of the workload's sources before them.
	restarts, uncaused int
	// stale workloads have a pod that was made before the last change of a source, or no pod.
	stale int
	// changes of content.
	changes                 int
	lastChange, lastRestart time.Time
}

// outcome returns it. An error is one of the record itself.
func (r *record) outcome() (o outcome, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, changes := range r.changes {
		o.changes += len(changes)
		for _, change := range changes {
			o.lastChange = later(o.lastChange, change.at)
		}
	}
	for key, w := range r.workloads {
		o.restarts += len(w.restarts)
		o.uncaused += r.uncaused(w)
		for _, restart := range w.restarts {
			o.lastRestart = later(o.lastRestart, restart.at)
		}
		if w.deleted {
			continue
		}
		o.workloads += one(w.made > 0)
		o.unsettled += one(!w.settled)
		o.stale += one(r.stale(key, w))
	}
	return o, r.err
}

// uncaused counts the restarts of a workload for which no change is left. Changes may be taken together, and none is taken twice.
func (r *record) uncaused(w *seen) (n int) {
	taken := 0
	for _, restart := range w.restarts {
		before := 0
		for _, of := range w.sources {
			for _, change := range r.changes[of] {
				before += one(change.version > w.made && change.version < restart.version)
			}
		}
		if taken < before {
			taken++
		} else {
			n++
		}
	}
	return n
}

func (r *record) stale(key string, w *seen) bool {
	if len(r.pods[key]) == 0 {
		return true
	}
	for _, of := range w.sources {
		for _, change := range r.changes[of] {
			for _, made := range r.pods[key] {
				if made < change.version {
					return true
				}
			}
		}
	}
	return false
}

// close waits for the end of the watches, after the end of ctx.
func (r *record) close() { r.informers.Shutdown() }

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

func one(is bool) int {
	if is {
		return 1
	}
	return 0
}
