// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/fairlead-dev/fairlead/controllers/rebootpolicy/restart"
)

// orderByVersion finds out which pods were made before a source was written and which after it, where both
// happened within one second and this process saw neither: the API server lists the pods as they were at
// the version of the source. It forgets after 5 to 10 minutes; the pods then count as older, and are
// restarted.
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
	var doubtful []types.UID
	times := []time.Time{signal.Written, signal.ValuesWritten, signal.Recorded}
	if p := o.pending(w); p != nil && p.WrittenTime != nil {
		times = append(times, p.WrittenTime.Time)
	}
	for i := range w.Pods {
		if p := &w.Pods[i]; sameSecond(p.Created, times) && r.podVersions.isUnknown(p.UID, signal.Version) {
			doubtful = append(doubtful, p.UID)
		}
	}
	if len(doubtful) == 0 {
		return nil
	}
	selector, err := metav1.LabelSelectorAsSelector(w.Selector)
	if err != nil {
		return fmt.Errorf("selector of %s %s: %w", w.Kind, w.Name, err)
	}
	then := metav1.PartialObjectMetadataList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PodList"}}
	err = r.Live.List(ctx, &then, client.InNamespace(o.key.Namespace), client.MatchingLabelsSelector{Selector: selector}, &client.ListOptions{
		Raw: &metav1.ListOptions{ResourceVersion: signal.Version, ResourceVersionMatch: metav1.ResourceVersionMatchExact},
	})
	if isTransient(err) {
		return fmt.Errorf("list the pods of %s %s as they were: %w", w.Kind, w.Name, err)
	}
	if err != nil && !apierrors.IsResourceExpired(err) && !apierrors.IsGone(err) {
		ctrllog.FromContext(ctx).Info("The pods of a past version are not known, and count as older than it",
			"kind", w.Kind, "workload", w.Name, "version", signal.Version, "cause", err.Error())
	}
	there := map[types.UID]bool{}
	for i := range then.Items {
		there[then.Items[i].UID] = true
	}
	for _, pod := range doubtful {
		r.podVersions.setPresence(pod, signal.Version, err != nil || there[pod])
	}
	return nil
}

// isTransient says of an error that another try may well end otherwise: the API server was not reached, or
// too busy. What it has refused, or cannot read, it is not asked again and again.
func isTransient(err error) bool {
	var status apierrors.APIStatus
	return err != nil && (!errors.As(err, &status) || apierrors.IsTooManyRequests(err) || apierrors.IsServerTimeout(err) || apierrors.IsServiceUnavailable(err))
}

// sameSecond says whether a pod was made within the second of a time that may count as that of the write.
func sameSecond(created time.Time, times []time.Time) bool {
	for _, at := range times {
		if created.Equal(at.Truncate(time.Second)) {
			return true
		}
	}
	return false
}
