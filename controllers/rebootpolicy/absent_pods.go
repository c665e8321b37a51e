// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/fairlead-dev/fairlead/controllers/rebootpolicy/restart"
)

// absentFor is how long a pod that the API server did not list counts as absent although the cache has it. It bounds how
// often such pods are looked for, and how long a false list has an effect.
const absentFor = 5 * time.Minute

// checkLevelPods looks for the pods of each restart that is about to start because of how its pods are, and reports
// whether any does not exist. The watch may have lost its deletion (kubernetes/kubernetes#123072): the cache has such a
// pod until it lists again, and it would be restarted for until the limit.
func (r *Reconciler) checkLevelPods(ctx context.Context, o *observation, d *restart.Decision) (bool, error) {
	found := false
	for _, w := range o.starting(d) {
		if w.podsChecked || !slices.ContainsFunc(w.Signals, func(s restart.Signal) bool { return s.Level && s.Firing }) {
			continue
		}
		w.podsChecked = true
		absent, err := r.absentPods(ctx, o, w)
		if err != nil {
			return false, err
		}
		if len(absent) == 0 {
			continue
		}
		found = true
		ctrllog.FromContext(ctx).Info("Pods that the cache has do not exist: no trigger fires for them", "kind", w.Kind, "workload", w.Name, "pods", len(absent))
		for _, pod := range absent {
			o.state.setAbsent(pod, o.now.Add(absentFor))
		}
		for i := range w.Signals {
			if s := &w.Signals[i]; s.Level {
				s.Firing = false
			}
		}
		o.requeueAt(o.now) // for the pods that do exist
	}
	return found, nil
}

// absentPods returns the pods of a workload that the API server does not list.
func (r *Reconciler) absentPods(ctx context.Context, o *observation, w *workload) ([]types.UID, error) {
	selector, err := metav1.LabelSelectorAsSelector(w.Selector)
	if err != nil {
		return nil, fmt.Errorf("selector of %s %s: %w", w.Kind, w.Name, err)
	}
	live := metav1.PartialObjectMetadataList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PodList"}}
	if err := r.Live.List(ctx, &live, client.InNamespace(o.key.Namespace), client.MatchingLabelsSelector{Selector: selector}); err != nil {
		return nil, fmt.Errorf("list the pods of %s %s: %w", w.Kind, w.Name, err)
	}
	exists := map[types.UID]bool{}
	for i := range live.Items {
		exists[live.Items[i].UID] = true
	}
	var absent []types.UID
	for i := range w.Pods {
		if p := &w.Pods[i]; !exists[p.UID] && !p.Terminating {
			absent = append(absent, p.UID)
		}
	}
	return absent, nil
}

// setAbsent has a pod count as absent until a time.
func (s *objectState) setAbsent(pod types.UID, until time.Time) {
	if s.absent == nil {
		s.absent = map[types.UID]time.Time{}
	}
	s.absent[pod] = until
}

// forgetAbsent drops what has lasted long enough.
func (s *objectState) forgetAbsent(now time.Time) {
	maps.DeleteFunc(s.absent, func(_ types.UID, until time.Time) bool { return !now.Before(until) })
}

// counts reports whether triggers that fire for the state of pods look at a pod.
func (s *objectState) counts(p *restart.Pod) bool {
	_, absent := s.absent[p.UID]
	return !absent && !p.Terminating
}
