// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/api/common"
	"github.com/fairlead-dev/fairlead/controllers/rebootpolicy/references"
	"github.com/fairlead-dev/fairlead/controllers/rebootpolicy/restart"
	"github.com/fairlead-dev/fairlead/controllers/rebootpolicy/sources"
	rules "github.com/fairlead-dev/fairlead/internal/rules/rebootpolicy"
)

// sourceRef is a source that one trigger observes for one workload.
type sourceRef struct {
	trigger  *autorebootv1.Trigger
	workload *workload
	want     sources.Want
	// claim is how it counts for the workload.
	claim rules.Claim
	// listed means that the spec lists it, by its name or by labels, and mustExist that the policy is not Ready without it.
	listed, mustExist bool
	// expected means that annotations of the workload name it, and that no pod template calls it optional.
	expected bool
	// former means that only its baseline refers to it any more.
	former bool
	// required means that no trigger observes it here, and pods of the workload need it.
	required bool
}

// sourceRefs returns the sources of all triggers and workloads, and those that pods need.
func (r *Reconciler) sourceRefs(ctx context.Context, o *observation) []sourceRef {
	var all []sourceRef
	for i := range o.policy.Spec.Triggers {
		t := &o.policy.Spec.Triggers[i]
		switch {
		case t.ConfigChange != nil:
			listed, excluded := r.listedSources(ctx, o, t), r.excludedSources(ctx, o, t)
			watched := len(all)
			for _, w := range o.workloads {
				all = append(all, configSources(o, t, w, listed, excluded)...)
			}
			if len(all) == watched && len(o.workloads) > 0 {
				o.sourceless = append(o.sourceless, "trigger "+t.Name+" watches nothing, since "+whySourceless(t.ConfigChange))
			}
		case t.CertificateRenewal != nil:
			for _, w := range o.workloads {
				all = append(all, certificateSource(o, t, w))
			}
		}
	}
	return append(all, o.requiredRefs(all)...)
}

// whySourceless returns why a ConfigChange that has targets has no source.
func whySourceless(c *autorebootv1.ConfigChange) string {
	var reasons []string
	if *c.Discovery == autorebootv1.DiscoveryReferenced {
		reasons = append(reasons, "no target refers to a ConfigMap, Secret or SecretProviderClass that counts")
	}
	if len(c.Sources) > 0 {
		reasons = append(reasons, "no source matches its selectors")
	}
	return strings.Join(reasons, " and ")
}

// listedSources returns the sources that a spec lists by name or by labels.
func (r *Reconciler) listedSources(ctx context.Context, o *observation, t *autorebootv1.Trigger) []sourceRef {
	var out []sourceRef
	for i := range t.ConfigChange.Sources {
		c := &t.ConfigChange.Sources[i]
		if c.Selector == nil {
			want := sources.Want{Ref: o.refOf(c.Kind, c.Name), Keys: c.Keys}
			out = append(out, sourceRef{want: want, claim: rules.Named, listed: true, mustExist: !*c.Optional})
			continue
		}
		refs, err := r.selectSources(ctx, o, c.Kind, c.Selector, sources.MaxSelected)
		if err != nil {
			o.addSelectorProblem(t, c.Kind, sources.MaxSelected, err)
			continue
		}
		for _, ref := range refs {
			out = append(out, sourceRef{want: sources.Want{Ref: ref}, claim: rules.Found, listed: true})
		}
	}
	return out
}

// selectSources returns the sources that a selector matches, at most so many.
func (r *Reconciler) selectSources(
	ctx context.Context, o *observation, kind autorebootv1.SourceKind, from *common.LabelSelector, most int,
) ([]sources.Ref, error) {
	selector, err := from.Selector()
	if err != nil {
		return nil, err
	}
	return r.Sources.Select(ctx, o.key, kind, selector, most)
}

// exclusion is the keys of a source that do not count; none for all of it.
type exclusion map[sources.Ref][]string

// excludedSources returns what a spec excludes. While a selector cannot be evaluated, no source of its kind counts: its entry has
// no name.
func (r *Reconciler) excludedSources(ctx context.Context, o *observation, t *autorebootv1.Trigger) exclusion {
	out := exclusion{}
	add := func(ref sources.Ref, keys []string) {
		if known, has := out[ref]; has {
			keys = union(known, keys)
		}
		out[ref] = keys
	}
	for i := range t.ConfigChange.Exclude {
		e := &t.ConfigChange.Exclude[i]
		if e.Selector == nil {
			add(o.refOf(e.Kind, e.Name), e.Keys)
			continue
		}
		if e.Kind == autorebootv1.SourceSecretProviderClass { // all of them
			add(sources.Ref{Kind: e.Kind}, nil)
			continue
		}
		refs, err := r.selectSources(ctx, o, e.Kind, e.Selector, sources.MaxExcluded)
		if err != nil {
			o.addSelectorProblem(t, e.Kind, sources.MaxExcluded, err)
			add(sources.Ref{Kind: e.Kind}, nil)
		}
		for _, ref := range refs {
			add(ref, e.Keys)
		}
	}
	return out
}

// apply takes out of a source what is excluded, and reports whether anything is left.
func (e exclusion) apply(want *sources.Want) bool {
	_, all := e[sources.Ref{Kind: want.Kind}]
	keys, has := e[want.Ref]
	switch {
	case all || has && len(keys) == 0:
		return false
	case !has:
	case len(want.Keys) == 0:
		want.ExcludedKeys = keys
	default:
		want.Keys = slices.DeleteFunc(slices.Clone(want.Keys), func(key string) bool { return slices.Contains(keys, key) })
		return len(want.Keys) > 0
	}
	return true
}

// addSelectorProblem reports that a selector could not be evaluated.
func (o *observation) addSelectorProblem(t *autorebootv1.Trigger, kind autorebootv1.SourceKind, most int, err error) {
	switch {
	case errors.Is(err, sources.ErrTooMany):
		o.addProblem(autorebootv1.ReasonTooManyTargets, fmt.Sprintf("trigger %s: a selector matches more than %d %ss; make it narrower", t.Name, most, kind))
	case apierrors.IsForbidden(err):
		o.addProblem(autorebootv1.ReasonForbidden, fmt.Sprintf("trigger %s: the operator may not list %ss by their labels; name them instead", t.Name, kind))
	default:
		o.addProblem(autorebootv1.ReasonSourceNotFound, fmt.Sprintf("trigger %s: the %ss of a selector cannot be read", t.Name, kind))
	}
	o.requeueAt(o.now.Add(unreadableRetry))
	// The baselines of the trigger then stay, whether or not their sources are found elsewhere.
	for _, w := range o.workloads {
		w.Signals = append(w.Signals, restart.Signal{Trigger: t.Name, Source: "*", Unknown: autorebootv1.ReasonUnreadable})
	}
}

// unreadableRetry is the wait after a selector could not be evaluated: no event says when it can.
const unreadableRetry = 30 * time.Second

// configSources returns the sources of a ConfigChange for one workload: those that are listed, and those that its
// pod template refers to or its annotations name. One that is several of these counts once, with the keys of all.
func configSources(o *observation, t *autorebootv1.Trigger, w *workload, listed []sourceRef, excluded exclusion) []sourceRef {
	found := map[sources.Ref]*sourceRef{}
	add := func(from sourceRef) {
		from.trigger, from.workload = t, w
		known := found[from.want.Ref]
		if known == nil {
			found[from.want.Ref] = &from
			return
		}
		known.want.Keys = union(known.want.Keys, from.want.Keys)
		known.claim, known.listed = max(known.claim, from.claim), known.listed || from.listed
		known.mustExist, known.expected = known.mustExist || from.mustExist, known.expected || from.expected
	}
	for _, from := range listed {
		add(from)
	}
	if *t.ConfigChange.Discovery == autorebootv1.DiscoveryReferenced {
		for _, from := range o.ownSources(w) {
			add(from)
		}
	}
	for _, from := range formerRefs(o, t, w) {
		if found[from.want.Ref] == nil {
			add(from)
		}
	}
	all := make([]sourceRef, 0, len(found))
	for _, from := range found {
		if excluded.apply(&from.want) {
			all = append(all, *from)
		}
	}
	// What the spec lists comes first: limitSignals leaves out the last.
	slices.SortFunc(all, func(a, b sourceRef) int {
		return cmp.Or(cmp.Compare(orderFirst(a.listed), orderFirst(b.listed)), cmp.Compare(nameOf(&a.want), nameOf(&b.want)))
	})
	return all
}

// ownSources returns the sources that the pod template of a workload refers to and that its annotations name, as far as these
// have them count.
func (o *observation) ownSources(w *workload) (out []sourceRef) {
	optional := map[rules.SourceName]bool{}
	var referred []rules.SourceName
	for _, ref := range references.Of(w.Template) {
		referred, optional[ref.Source()] = append(referred, ref.Source()), ref.Optional
		if claim := w.onChange.ClaimTo(ref.Source(), ref.In, w.takesAll); claim != rules.NoClaim {
			out = append(out, sourceRef{want: sources.Want{Ref: o.refOf(ref.Kind, ref.Name), Keys: ref.Keys}, claim: claim})
		}
	}
	for _, name := range w.onChange.Names() {
		claim := w.onChange.ClaimTo(name, 0, w.takesAll)
		out = append(out, sourceRef{want: sources.Want{Ref: o.refOf(name.Kind, name.Name)}, claim: claim, expected: !optional[name]})
	}
	for _, p := range w.onChange.Unmatched(referred) {
		o.addMistake(w, fmt.Sprintf("the pod template refers to no %s that matches the regular expression %.80q: name the sources", p.Kind, p.Name))
	}
	return out
}

// addMistake reports what is wrong with the annotations of a workload, once.
func (o *observation) addMistake(w *workload, what string) {
	if text := fmt.Sprintf("%s %s: %s", w.Kind, w.Name, what); !slices.Contains(o.mistakes, text) {
		o.mistakes = append(o.mistakes, text)
	}
}

func (o *observation) refOf(kind autorebootv1.SourceKind, name string) sources.Ref {
	return sources.Ref{Kind: kind, Namespace: o.key.Namespace, Name: name}
}

// formerRefs returns the sources that a selector may have matched before: where a deleted source restarts its
// workloads, it must be known whether it is deleted, or only has other labels.
func formerRefs(o *observation, t *autorebootv1.Trigger, w *workload) []sourceRef {
	c := t.ConfigChange
	bySelector := slices.ContainsFunc(c.Sources, func(c autorebootv1.ConfigSource) bool { return c.Selector != nil })
	if !bySelector || *c.OnDelete != autorebootv1.SourceRestart {
		return nil
	}
	var out []sourceRef
	for _, b := range o.targetStatus(w).Baselines {
		kind, name, ok := strings.Cut(b.Source, "/")
		if b.Trigger != t.Name || b.Fingerprint == "" || !ok {
			continue
		}
		out = append(out, sourceRef{want: sources.Want{Ref: o.refOf(autorebootv1.SourceKind(kind), name)}, former: true})
	}
	return out
}

// union returns all keys of two lists; an empty list means every key.
func union(a, b []string) []string {
	if len(a) == 0 || len(b) == 0 {
		return nil
	}
	all := slices.Concat(a, b)
	slices.Sort(all)
	return slices.Compact(all)
}

func certificateSource(o *observation, t *autorebootv1.Trigger, w *workload) sourceRef {
	c := t.CertificateRenewal
	return sourceRef{
		trigger: t, workload: w, claim: rules.Named, listed: true, mustExist: true,
		want: sources.Want{Ref: o.refOf(autorebootv1.SourceSecret, c.SecretName), Certificate: *c.Key},
	}
}

// requiredRefs returns the required sources to observe: those for which a restart waits, so that the policy is enqueued when
// they are created or have the key, and those with keys that are observed anyway, which then need no read before a restart.
func (o *observation) requiredRefs(observed []sourceRef) []sourceRef {
	known := map[sources.Ref]bool{}
	for i := range observed {
		known[observed[i].want.Ref] = true
	}
	var out []sourceRef
	for _, w := range o.workloads {
		awaited := o.awaitsSource(w)
		if !awaited && len(known) == 0 {
			continue
		}
		for _, want := range o.requiredSources(w) {
			if awaited || len(want.Keys) > 0 && known[want.Ref] {
				out = append(out, sourceRef{workload: w, want: want, required: true})
			}
		}
	}
	return out
}
