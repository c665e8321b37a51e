// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	"context"
	"fmt"
	"maps"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/controllers/rebootpolicy/references"
	"github.com/fairlead-dev/fairlead/controllers/rebootpolicy/restart"
	"github.com/fairlead-dev/fairlead/controllers/rebootpolicy/sources"
)

// requiredSources returns the ConfigMaps and Secrets without which no pod of a workload starts.
func (o *observation) requiredSources(w *workload) []sources.Want {
	var wants []sources.Want
	for _, ref := range references.Of(w.Template) {
		if !ref.Optional {
			wants = append(wants, sources.Want{Ref: sources.Ref{Kind: ref.Kind, Namespace: o.key.Namespace, Name: ref.Name}})
		}
	}
	return wants
}

// awaitedSources returns the sources for which restarts wait: they are observed, so that the policy is enqueued
// when they are created.
func (o *observation) awaitedSources() []sourceRef {
	var out []sourceRef
	for _, w := range o.workloads {
		if p := o.targetStatus(w).Pending; p == nil || p.Reason != autorebootv1.ReasonSourceMissing {
			continue
		}
		for _, want := range o.requiredSources(w) {
			out = append(out, sourceRef{workload: w, want: want, required: true})
		}
	}
	return out
}

// checkRequiredSources looks for the sources that the pods of each restart which is about to start need, and
// reports whether any is missing. Sources that a watch shows are not read again.
func (r *Reconciler) checkRequiredSources(ctx context.Context, o *observation, d *restart.Decision) (bool, error) {
	missing, known := false, map[sources.Ref]bool{}
	maps.Copy(known, o.watchedSources)
	for _, w := range o.starting(d) {
		if w.requiredChecked {
			continue
		}
		w.requiredChecked = true
		for _, want := range o.requiredSources(w) {
			exists, ok := known[want.Ref]
			if !ok {
				var err error
				if exists, err = r.exists(ctx, want.Ref); err != nil {
					return false, err
				}
				known[want.Ref] = exists
			}
			if !exists {
				w.Missing, missing = append(w.Missing, nameOf(&want)), true
			}
		}
	}
	return missing, nil
}

// exists reports whether a source exists. One that may not be read counts as existing, and holds nothing.
func (r *Reconciler) exists(ctx context.Context, ref sources.Ref) (bool, error) {
	found := metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: string(ref.Kind)}}
	err := r.Live.Get(ctx, client.ObjectKey{Namespace: ref.Namespace, Name: ref.Name}, &found)
	if isTransient(err) {
		return false, fmt.Errorf("look for %s %s: %w", ref.Kind, ref.Name, err)
	}
	return !apierrors.IsNotFound(err), nil
}
