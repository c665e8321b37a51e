// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/controllers/rebootpolicy/references"
	"github.com/fairlead-dev/fairlead/controllers/rebootpolicy/restart"
	"github.com/fairlead-dev/fairlead/controllers/rebootpolicy/sources"
)

// requiredSources returns the ConfigMaps and Secrets without which no pod of a workload starts, each with the keys that it
// must have.
func (o *observation) requiredSources(w *workload) []sources.Want {
	var wants []sources.Want
	for _, ref := range references.Of(w.Template) {
		if !ref.Optional && ref.Kind != autorebootv1.SourceSecretProviderClass {
			wants = append(wants, sources.Want{Ref: sources.Ref{Kind: ref.Kind, Namespace: o.key.Namespace, Name: ref.Name}, Keys: ref.RequiredKeys})
		}
	}
	return wants
}

// awaitsSource reports whether the restart of a workload waits for a source that its pods need.
func (o *observation) awaitsSource(w *workload) bool {
	p := o.targetStatus(w).Pending
	return p != nil && p.Reason == autorebootv1.ReasonSourceMissing
}

// setAwaited sets what is missing for each restart that waits for it. What is not known is read before the restart.
func (o *observation) setAwaited() {
	for _, w := range o.workloads {
		if !o.awaitsSource(w) {
			continue
		}
		w.requiredChecked = true
		for _, want := range o.requiredSources(w) {
			found, known := o.required[idOf(&want)]
			w.Missing, w.requiredChecked = append(w.Missing, found...), w.requiredChecked && known
		}
	}
}

// addRequired notes what is missing of a required source, as far as that is known without a read.
func (o *observation) addRequired(want *sources.Want, state *sources.State) {
	if state.Watched || state.Missing {
		o.required[idOf(want)] = missingOf(want, state.Missing, state.AbsentKeys)
	}
}

// missingOf returns what is missing of a required source, as the text of a message.
func missingOf(want *sources.Want, missing bool, absentKeys string) []string {
	switch {
	case missing:
		return []string{nameOf(want)}
	case absentKeys != "":
		return []string{nameOf(want) + " with the key " + absentKeys}
	}
	return nil
}

// checkRequiredSources looks for the sources that the pods of each restart which is about to start need, and
// reports whether any is missing, lacks a key, or cannot be read. Sources that a watch shows are not read again.
func (r *Reconciler) checkRequiredSources(ctx context.Context, o *observation, d *restart.Decision) (missing bool) {
	for _, w := range o.starting(d) {
		if w.requiredChecked {
			continue
		}
		w.requiredChecked, w.Missing = true, nil
		for _, want := range o.requiredSources(w) {
			found, ok := o.required[idOf(&want)]
			if !ok {
				var err error
				if found, err = r.readRequired(ctx, &want); err != nil {
					o.couldNotRead(err)
					w.Unchecked, missing = nameOf(&want)+", which its pods need, cannot be read", true
					continue
				}
				o.required[idOf(&want)] = found
			}
			w.Missing = append(w.Missing, found...)
		}
		if len(w.Missing) > 0 {
			if missing = true; !o.awaitsSource(w) {
				o.requeueAt(o.now) // to observe what it waits for: no event would say that it is there
			}
		}
	}
	return missing
}

// readRequired returns what is missing of a required source. One that may not be read counts as complete, and holds nothing.
func (r *Reconciler) readRequired(ctx context.Context, want *sources.Want) ([]string, error) {
	name := client.ObjectKey{Namespace: want.Namespace, Name: want.Name}
	meta := &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: string(want.Kind)}}
	configMap, secret := &corev1.ConfigMap{}, &corev1.Secret{}
	var err error
	switch {
	case len(want.Keys) == 0:
		err = r.Live.Get(ctx, name, meta)
	case want.Kind == autorebootv1.SourceConfigMap:
		err = r.Live.Get(ctx, name, configMap)
	default:
		err = r.Live.Get(ctx, name, secret)
	}
	if isTransient(err) {
		return nil, fmt.Errorf("look for %s %s: %w", want.Kind, want.Name, err)
	}
	if err != nil {
		return missingOf(want, apierrors.IsNotFound(err), ""), nil
	}
	absent := slices.DeleteFunc(slices.Clone(want.Keys), func(key string) bool {
		_, text := configMap.Data[key]
		_, binary := configMap.BinaryData[key]
		_, hidden := secret.Data[key]
		return text || binary || hidden
	})
	return missingOf(want, false, strings.Join(absent, ", ")), nil
}

// idOf returns the name of a source and its keys, which are in order.
func idOf(w *sources.Want) string {
	return strings.Join(append([]string{nameOf(w)}, w.Keys...), "\x00")
}

func nameOf(w *sources.Want) string { return string(w.Kind) + "/" + w.Name }
