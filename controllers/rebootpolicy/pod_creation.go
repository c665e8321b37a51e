// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/fairlead-dev/fairlead/controllers/internal/controller"
	"github.com/fairlead-dev/fairlead/controllers/rebootpolicy/restart"
)

// podCreationVersions holds the resourceVersion at which each pod was created, in namespaces with a policy. A
// creationTimestamp has whole seconds: it does not tell whether a pod was created before or after a Secret that
// was written in the same second, as one helm upgrade does.
//
// For a pod whose creation was not observed, the API server is asked whether it existed at the version of the
// Secret.
type podCreationVersions struct {
	mu       sync.RWMutex
	versions map[types.UID]string
	// absent has a version at which a pod did not exist, and checked the versions that were asked for.
	absent  map[types.UID]string
	checked map[podAtVersion]bool
}

type podAtVersion struct {
	pod     types.UID
	version string
}

// createdAt returns the version at which a pod was created; empty where that was not observed.
func (v *podCreationVersions) createdAt(pod types.UID) string {
	v.mu.RLock()
	defer v.mu.RUnlock()
	return v.versions[pod]
}

// absentAt returns a version at which a pod did not exist; empty where none is known.
func (v *podCreationVersions) absentAt(pod types.UID) string {
	v.mu.RLock()
	defer v.mu.RUnlock()
	return v.absent[pod]
}

// isUnknown reports whether the API server is to be asked if a pod existed at a version.
func (v *podCreationVersions) isUnknown(pod types.UID, version string) bool {
	v.mu.RLock()
	defer v.mu.RUnlock()
	return v.versions[pod] == "" && !v.checked[podAtVersion{pod, version}]
}

// setPresence records whether a pod existed at a version.
func (v *podCreationVersions) setPresence(pod types.UID, version string, exists bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.absent == nil {
		v.absent, v.checked = map[types.UID]string{}, map[podAtVersion]bool{}
	}
	v.checked[podAtVersion{pod, version}] = true
	if !exists {
		v.absent[pod] = version
	}
}

// recordThen records creations and deletions before another handler is called.
func (v *podCreationVersions) recordThen(index *controller.WatchIndex[*watchSet], then handler.TypedEventHandler[*corev1.Pod, reconcile.Request]) handler.TypedEventHandler[*corev1.Pod, reconcile.Request] {
	return handler.TypedFuncs[*corev1.Pod, reconcile.Request]{
		CreateFunc: func(ctx context.Context, e event.TypedCreateEvent[*corev1.Pod], q queue) {
			if isJustCreated(e) && index.Any(e.Object.Namespace) {
				v.record(e.Object)
			}
			then.Create(ctx, e, q)
		},
		UpdateFunc: then.Update,
		DeleteFunc: func(ctx context.Context, e event.TypedDeleteEvent[*corev1.Pod], q queue) {
			v.forget(e.Object.UID)
			then.Delete(ctx, e, q)
		},
	}
}

// isJustCreated reports whether an event shows a pod as it was created: any later change sets a condition.
func isJustCreated(e event.TypedCreateEvent[*corev1.Pod]) bool {
	return !e.IsInInitialList && len(e.Object.Status.Conditions) == 0 && e.Object.DeletionTimestamp.IsZero()
}

func (v *podCreationVersions) record(pod *corev1.Pod) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.versions == nil {
		v.versions = map[types.UID]string{}
	}
	v.versions[pod.UID] = pod.ResourceVersion
}

func (v *podCreationVersions) forget(pod types.UID) {
	v.mu.Lock()
	defer v.mu.Unlock()
	delete(v.versions, pod)
	delete(v.absent, pod)
	maps.DeleteFunc(v.checked, func(at podAtVersion, _ bool) bool { return at.pod == pod })
}

// orderByVersion finds out which pods were created before a source was written and which after, where both
// happened within one second and this process observed neither: the API server lists the pods at the version of
// the source. It keeps versions for 5 to 10 minutes; after that the pods count as older, and are restarted.
func (r *Reconciler) orderByVersion(ctx context.Context, o *observation) error {
	for _, w := range o.workloads {
		for i := range w.Signals {
			signal := &w.Signals[i]
			known, ok := o.baseline(w, signal.Trigger, signal.Source)
			if !ok || known == signal.Fingerprint || signal.Unknown != "" || signal.Version == "" {
				continue
			}
			if err := r.orderPods(ctx, o, w, signal); err != nil {
				return err
			}
		}
		for i := range w.Pods {
			w.Pods[i].AbsentAt = r.podVersions.absentAt(w.Pods[i].UID)
		}
	}
	return nil
}

func (r *Reconciler) orderPods(ctx context.Context, o *observation, w *workload, signal *restart.Signal) error {
	var unknown []types.UID
	times := []time.Time{signal.Written, signal.ValuesWritten, signal.Recorded}
	if p := o.targetStatus(w).Pending; p != nil && p.WrittenTime != nil {
		times = append(times, p.WrittenTime.Time)
	}
	for i := range w.Pods {
		if p := &w.Pods[i]; sameSecond(p.Created, times) && r.podVersions.isUnknown(p.UID, signal.Version) {
			unknown = append(unknown, p.UID)
		}
	}
	if len(unknown) == 0 {
		return nil
	}
	selector, err := metav1.LabelSelectorAsSelector(w.Selector)
	if err != nil {
		return fmt.Errorf("selector of %s %s: %w", w.Kind, w.Name, err)
	}
	past := metav1.PartialObjectMetadataList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PodList"}}
	err = r.Live.List(ctx, &past, client.InNamespace(o.key.Namespace), client.MatchingLabelsSelector{Selector: selector}, &client.ListOptions{
		Raw: &metav1.ListOptions{ResourceVersion: signal.Version, ResourceVersionMatch: metav1.ResourceVersionMatchExact},
	})
	if isTransient(err) {
		return fmt.Errorf("list the pods of %s %s as they were: %w", w.Kind, w.Name, err)
	}
	if err != nil && !apierrors.IsResourceExpired(err) && !apierrors.IsGone(err) {
		ctrllog.FromContext(ctx).Info("The pods of a past version are not known, and count as older than it",
			"kind", w.Kind, "workload", w.Name, "version", signal.Version, "cause", err.Error())
	}
	existed := map[types.UID]bool{}
	for i := range past.Items {
		existed[past.Items[i].UID] = true
	}
	for _, pod := range unknown {
		r.podVersions.setPresence(pod, signal.Version, err != nil || existed[pod])
	}
	return nil
}

// isTransient reports whether a request may succeed later: the API server was not reached, or was too busy.
func isTransient(err error) bool {
	var status apierrors.APIStatus
	return err != nil && (!errors.As(err, &status) || apierrors.IsTooManyRequests(err) || apierrors.IsServerTimeout(err) || apierrors.IsServiceUnavailable(err))
}

// sameSecond reports whether a pod was created within the second of one of some times.
func sameSecond(created time.Time, times []time.Time) bool {
	for _, at := range times {
		if created.Equal(at.Truncate(time.Second)) {
			return true
		}
	}
	return false
}
