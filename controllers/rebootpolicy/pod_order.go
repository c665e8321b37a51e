// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/fairlead-dev/fairlead/controllers/internal/controller"
	"github.com/fairlead-dev/fairlead/controllers/internal/workloads"
	"github.com/fairlead-dev/fairlead/controllers/rebootpolicy/restart"
)

// orderByVersion finds out which pods were created before a source was written and which after, where both
// happened within one second and this process observed neither: the API server lists the pods at the version of
// the source. It keeps versions for 5 to 10 minutes; after that the pods count as older, and are restarted.
func (r *Reconciler) orderByVersion(ctx context.Context, o *observation) {
	for _, w := range slices.Clone(o.workloads) {
		for i := range w.Signals {
			signal := &w.Signals[i]
			known, ok := o.baseline(w, signal.Trigger, signal.Source)
			isFirst := !ok && restart.IsDatedByCreation(o.policy, w.Created, o.now)
			if !ok && !isFirst || known == signal.Fingerprint || signal.Unknown != "" || signal.Version == "" {
				continue
			}
			if w.RunsToEnd {
				continue // its pods are not those that it runs
			}
			err := r.orderPods(ctx, o, w, signal)
			if err == nil {
				continue
			}
			o.couldNotRead(err)
			w.Unchecked = "which of its pods are newer than " + signal.Source + " cannot be read"
			if isFirst { // what is there now must not become the baseline
				o.setUnread(w, w.Unchecked)
				break
			}
		}
		for i := range w.Pods {
			versions := r.podVersions.get(w.Pods[i].UID)
			w.Pods[i].AbsentAt, w.Pods[i].PresentAt = versions.absent, versions.present
		}
	}
}

// deferNew leaves new workloads out that have pods which were not read: such a pod may have been created before a source changed that
// was read meanwhile, which would become the baseline. Only sources that were written since the creation of the workload matter.
func (r *Reconciler) deferNew(ctx context.Context, o *observation) {
	for _, w := range slices.Clone(o.workloads) {
		written := func(s restart.Signal) bool { return !s.Recorded.IsZero() && !s.Recorded.Before(w.Created) }
		if len(w.Pods)+len(w.Kept) > 0 || w.Desired == 0 || w.RunsToEnd || o.targetStatus(w).UID != "" ||
			!restart.IsDatedByCreation(o.policy, w.Created, o.now) || !slices.ContainsFunc(w.Signals, written) {
			continue
		}
		switch has, err := r.hasPods(ctx, o, w); {
		case err != nil:
			o.couldNotRead(err)
			o.setUnread(w, podsCannotBeRead)
		case has:
			o.workloads = slices.DeleteFunc(o.workloads, func(other *workload) bool { return other == w })
			o.requeueAt(o.now.Add(controller.CoalescingInterval))
		}
	}
}

// hasPods reports whether the API server lists pods that a workload controls, as far as the cache has their ReplicaSets.
func (r *Reconciler) hasPods(ctx context.Context, o *observation, w *workload) (bool, error) {
	live, err := r.listPods(ctx, o, w)
	if err != nil {
		return false, err
	}
	for i := range live {
		owner := metav1.GetControllerOfNoCopy(&live[i])
		switch set := workloads.ReplicaSets(); {
		case owner == nil:
		case owner.UID == w.UID:
			return true, nil
		case owner.Kind == set.Kind:
			err := r.Client.Get(ctx, client.ObjectKey{Namespace: o.key.Namespace, Name: owner.Name}, set, shared)
			switch isUnseen := apierrors.IsNotFound(err); {
			case err != nil && !isUnseen:
				return false, fmt.Errorf("get ReplicaSet %s: %w", owner.Name, err)
			case isUnseen, workloads.ControllerOf(set) == w.UID:
				return true, nil
			}
		}
	}
	return false, nil
}

func (r *Reconciler) orderPods(ctx context.Context, o *observation, w *workload, signal *restart.Signal) error {
	var unknown []types.UID
	times := []time.Time{signal.Written, signal.ValuesWritten, signal.Recorded}
	if p := o.targetStatus(w).Pending; p != nil && p.WrittenTime != nil {
		times = append(times, p.WrittenTime.Time)
	}
	for i := range w.Pods {
		p := &w.Pods[i]
		known := r.podVersions.get(p.UID)
		if sameSecond(p.Created, times) && known.created == "" && !slices.Contains(known.checked, signal.Version) {
			unknown = append(unknown, p.UID)
		}
	}
	if len(unknown) == 0 {
		return nil
	}
	past, err := r.listPods(ctx, o, w, &client.ListOptions{
		Raw: &metav1.ListOptions{ResourceVersion: signal.Version, ResourceVersionMatch: metav1.ResourceVersionMatchExact},
	})
	if isTransient(err) {
		return fmt.Errorf("as they were at a past version: %w", err)
	}
	if err != nil && !apierrors.IsResourceExpired(err) && !apierrors.IsGone(err) {
		ctrllog.FromContext(ctx).Info("The pods of a past version are not known, and count as older than it",
			"kind", w.Kind, "workload", w.Name, "version", signal.Version, "cause", err.Error())
	}
	existed := map[types.UID]bool{}
	for i := range past {
		existed[past[i].UID] = true
	}
	for _, pod := range unknown {
		r.podVersions.update(pod, func(p *podVersions) {
			p.checked = append(p.checked, signal.Version)
			if err == nil {
				p.setExisted(signal.Version, existed[pod])
			}
		})
	}
	return nil
}

// isTransient reports whether a request may succeed later: the API server was not reached, or was too busy.
func isTransient(err error) bool {
	var status apierrors.APIStatus
	return err != nil && (!errors.As(err, &status) || apierrors.IsTooManyRequests(err) || apierrors.IsServerTimeout(err) ||
		apierrors.IsServiceUnavailable(err))
}

// sameSecond reports whether a pod was created within the second of one of some times.
func sameSecond(created time.Time, times []time.Time) bool {
	return slices.ContainsFunc(times, func(at time.Time) bool { return created.Equal(at.Truncate(time.Second)) })
}
