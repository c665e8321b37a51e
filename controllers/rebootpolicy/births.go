// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	"context"
	"maps"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/fairlead-dev/fairlead/controllers/internal/controller"
)

// podCreationVersions are the versions of the pods that were seen to be made, in namespaces with a policy. A pod
// itself does not keep the version that it began with, and its creationTimestamp cannot tell whether
// it was made before or after a Secret that was written in the same second, as by one helm upgrade.
//
// Of a pod that was made while no process looked, the API server is asked whether it was there at the
// version of the Secret, for as long as it remembers.
type podCreationVersions struct {
	mu       sync.RWMutex
	versions map[types.UID]string
	// absent are versions at which a pod had not been made, and asked all that was asked for.
	absent map[types.UID]string
	asked  map[podAtVersion]bool
}

// podAtVersion is whether a pod was there at a version.
type podAtVersion struct {
	pod     types.UID
	version string
}

// createdAt returns the version at which a pod was made; empty where that was not seen.
func (b *podCreationVersions) createdAt(pod types.UID) string {
	b.mu.RLock()
	defer b.mu.RUnlock()
	return b.versions[pod]
}

// absentAt is a version at which a pod had not been made; empty where none is known.
func (b *podCreationVersions) absentAt(pod types.UID) string {
	b.mu.RLock()
	defer b.mu.RUnlock()
	return b.absent[pod]
}

// isUnknown says whether it is not known yet, nor was ever asked, if a pod was there at a version.
func (b *podCreationVersions) isUnknown(pod types.UID, version string) bool {
	b.mu.RLock()
	defer b.mu.RUnlock()
	return b.versions[pod] == "" && !b.asked[podAtVersion{pod, version}]
}

// setPresence takes down whether a pod was there at a version.
func (b *podCreationVersions) setPresence(pod types.UID, version string, there bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.absent == nil {
		b.absent, b.asked = map[types.UID]string{}, map[podAtVersion]bool{}
	}
	b.asked[podAtVersion{pod, version}] = true
	if !there {
		b.absent[pod] = version
	}
}

// recordThen takes down births and deaths before another handler hears of them.
func (b *podCreationVersions) recordThen(is *controller.WatchIndex[*watchSet], then handler.TypedEventHandler[*corev1.Pod, reconcile.Request]) handler.TypedEventHandler[*corev1.Pod, reconcile.Request] {
	return handler.TypedFuncs[*corev1.Pod, reconcile.Request]{
		CreateFunc: func(ctx context.Context, e event.TypedCreateEvent[*corev1.Pod], q queue) {
			if isJustCreated(e) && is.Any(e.Object.Namespace) {
				b.record(e.Object)
			}
			then.Create(ctx, e, q)
		},
		UpdateFunc: then.Update,
		DeleteFunc: func(ctx context.Context, e event.TypedDeleteEvent[*corev1.Pod], q queue) {
			b.forget(e.Object.UID)
			then.Delete(ctx, e, q)
		},
	}
}

// isJustCreated says whether a pod is as it was made: whatever happens to it then leaves a condition.
func isJustCreated(e event.TypedCreateEvent[*corev1.Pod]) bool {
	return !e.IsInInitialList && len(e.Object.Status.Conditions) == 0 && e.Object.DeletionTimestamp.IsZero()
}

func (b *podCreationVersions) record(pod *corev1.Pod) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.versions == nil {
		b.versions = map[types.UID]string{}
	}
	b.versions[pod.UID] = pod.ResourceVersion
}

func (b *podCreationVersions) forget(pod types.UID) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.versions, pod)
	delete(b.absent, pod)
	maps.DeleteFunc(b.asked, func(asked podAtVersion, _ bool) bool { return asked.pod == pod })
}
