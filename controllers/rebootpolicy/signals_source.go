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
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/controllers/rebootpolicy/references"
	"github.com/fairlead-dev/fairlead/controllers/rebootpolicy/restart"
	"github.com/fairlead-dev/fairlead/controllers/rebootpolicy/sources"
)

// unreadableRetry is the wait after a selector could not be evaluated: no event says when it can.
const unreadableRetry = 30 * time.Second

// sourceRef is a ConfigMap or Secret that one trigger observes for one workload.
type sourceRef struct {
	trigger  *autorebootv1.Trigger
	workload *workload
	want     sources.Want
	// listed means that the spec names it, and mustExist that the policy is not Ready without it.
	listed, mustExist bool
	// former means that only its baseline refers to it any more.
	former bool
	// required means that no trigger observes it here, and pods of the workload need it.
	required bool
}

// sourceSignals observes all ConfigMaps and Secrets, each once, and adds a signal for each.
func (r *Reconciler) sourceSignals(ctx context.Context, o *observation) error {
	var all []sourceRef
	for i := range o.policy.Spec.Triggers {
		t := &o.policy.Spec.Triggers[i]
		switch {
		case t.ConfigChange != nil:
			listed := r.listedSources(ctx, o, t)
			watched := len(all)
			for _, w := range o.workloads {
				all = append(all, configSources(o, t, w, listed)...)
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
	all = append(all, o.requiredRefs(all)...)
	wants, at := distinctWants(all)
	o.sourceCount = sourceCount(wants)
	states, err := r.Sources.Observe(ctx, o.key, wants)
	if err != nil {
		return fmt.Errorf("observe sources: %w", err)
	}
	for i := range all {
		from, state := &all[i], &states[at[i]]
		if state.Watched { // for pods that need it whatever keys it has
			o.required[nameOf(&from.want)] = nil
		}
		if state.Err != nil {
			ctrllog.FromContext(ctx).V(1).Info("A source is unknown", "source", nameOf(&from.want), "reason", state.Unknown, "error", state.Err.Error())
		}
		if from.required {
			o.addRequired(&from.want, state)
			continue
		}
		if from.former && !state.Missing && state.Unknown == "" {
			continue // it exists, and does not count any more
		}
		o.addSourceProblem(from, state)
		from.workload.Signals = append(from.workload.Signals, r.signalOf(o, from, state))
	}
	o.setAwaited()
	return nil
}

// whySourceless returns why a ConfigChange that has targets has no source.
func whySourceless(c *autorebootv1.ConfigChange) string {
	var reasons []string
	if *c.Discovery == autorebootv1.DiscoveryReferenced {
		reasons = append(reasons, "no target refers to a ConfigMap or Secret")
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
			ref := sources.Ref{Kind: c.Kind, Namespace: o.key.Namespace, Name: c.Name}
			out = append(out, sourceRef{want: sources.Want{Ref: ref, Keys: c.Keys}, listed: true, mustExist: !*c.Optional})
			continue
		}
		selector, err := c.Selector.Selector()
		var refs []sources.Ref
		if err == nil {
			refs, err = r.Sources.Select(ctx, o.key, c.Kind, selector)
		}
		if err != nil {
			o.addSelectorProblem(t, c, err)
			continue
		}
		for _, ref := range refs {
			out = append(out, sourceRef{want: sources.Want{Ref: ref}, listed: true})
		}
	}
	return out
}

// addSelectorProblem reports that a selector could not be evaluated.
func (o *observation) addSelectorProblem(t *autorebootv1.Trigger, c *autorebootv1.ConfigSource, err error) {
	switch {
	case errors.Is(err, sources.ErrTooMany):
		o.addProblem(autorebootv1.ReasonTooManyTargets, fmt.Sprintf("trigger %s: a selector matches more than %d %ss; make it narrower", t.Name, sources.MaxSelected, c.Kind))
	case apierrors.IsForbidden(err):
		o.addProblem(autorebootv1.ReasonForbidden, fmt.Sprintf("trigger %s: the operator may not list %ss by their labels; name them instead", t.Name, c.Kind))
	default:
		o.addProblem(autorebootv1.ReasonSourceNotFound, fmt.Sprintf("trigger %s: the %ss of a selector cannot be read", t.Name, c.Kind))
	}
	o.requeueAt(o.now.Add(unreadableRetry))
	// The baselines of the trigger then stay, whether or not their sources are found elsewhere.
	for _, w := range o.workloads {
		w.Signals = append(w.Signals, restart.Signal{Trigger: t.Name, Source: "*", Unknown: sources.Unreadable})
	}
}

// configSources returns the sources of a ConfigChange for one workload: those that are listed, and those that its
// pod template refers to. One that is both counts once, with the keys of both.
func configSources(o *observation, t *autorebootv1.Trigger, w *workload, listed []sourceRef) []sourceRef {
	found := map[sources.Ref]*sourceRef{}
	add := func(from sourceRef) {
		from.trigger, from.workload = t, w
		known := found[from.want.Ref]
		if known == nil {
			found[from.want.Ref] = &from
			return
		}
		known.want.Keys = union(known.want.Keys, from.want.Keys)
		known.listed, known.mustExist = known.listed || from.listed, known.mustExist || from.mustExist
	}
	for _, from := range listed {
		add(from)
	}
	if *t.ConfigChange.Discovery == autorebootv1.DiscoveryReferenced {
		for _, ref := range references.Of(w.Template) {
			add(sourceRef{want: sources.Want{Ref: sources.Ref{Kind: ref.Kind, Namespace: o.key.Namespace, Name: ref.Name}, Keys: ref.Keys}})
		}
	}
	for _, from := range formerRefs(o, t, w) {
		if found[from.want.Ref] == nil {
			add(from)
		}
	}
	all := make([]sourceRef, 0, len(found))
	for _, from := range found {
		all = append(all, *from)
	}
	// What the spec lists comes first: limitSignals leaves out the last.
	slices.SortFunc(all, func(a, b sourceRef) int {
		return cmp.Or(cmp.Compare(orderFirst(a.listed), orderFirst(b.listed)), cmp.Compare(nameOf(&a.want), nameOf(&b.want)))
	})
	return all
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
		ref := sources.Ref{Kind: autorebootv1.SourceKind(kind), Namespace: o.key.Namespace, Name: name}
		out = append(out, sourceRef{want: sources.Want{Ref: ref}, former: true})
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
	ref := sources.Ref{Kind: autorebootv1.SourceSecret, Namespace: o.key.Namespace, Name: c.SecretName}
	return sourceRef{
		trigger: t, workload: w, listed: true, mustExist: true,
		want: sources.Want{Ref: ref, Certificate: *c.Key},
	}
}

// sourceCount returns how many ConfigMaps and Secrets are observed.
func sourceCount(wants []sources.Want) int {
	distinct := map[sources.Ref]bool{}
	for i := range wants {
		distinct[wants[i].Ref] = true
	}
	return len(distinct)
}

// idOf returns the name of a source and its keys, which are in order.
func idOf(w *sources.Want) string {
	return strings.Join(append([]string{nameOf(w)}, w.Keys...), "\x00")
}

func nameOf(w *sources.Want) string { return string(w.Kind) + "/" + w.Name }

// distinctWants returns what to observe, each once, and its index for each source.
func distinctWants(all []sourceRef) (wants []sources.Want, at []int) {
	index := map[string]int{}
	for i := range all {
		w := all[i].want
		slices.Sort(w.Keys)
		id := w.Certificate + "\x00" + idOf(&w)
		n, ok := index[id]
		if !ok {
			n = len(wants)
			index[id] = n
			wants = append(wants, w)
		}
		at = append(at, n)
	}
	return wants, at
}

// addSourceProblem reports why a source is not observed.
func (o *observation) addSourceProblem(from *sourceRef, state *sources.State) {
	what := fmt.Sprintf("trigger %s: %s %s", from.trigger.Name, from.want.Kind, from.want.Name)
	switch {
	case state.Unknown == sources.Forbidden:
		o.addProblem(autorebootv1.ReasonForbidden, what+" may not be read by the operator")
	case state.Unknown == sources.TooManySources:
		o.addProblem(autorebootv1.ReasonTooManyTargets, what+" is not watched: the operator watches too many sources already")
	case state.Unknown == sources.KeyNotFound:
		o.addProblem(autorebootv1.ReasonSourceNotFound, fmt.Sprintf("%s has no key %s", what, from.want.Certificate))
	case state.Unknown == sources.NotACertificate:
		o.addProblem(autorebootv1.ReasonSourceNotFound, fmt.Sprintf("%s holds no certificate under %s", what, from.want.Certificate))
	case state.Missing && from.mustExist:
		o.addProblem(autorebootv1.ReasonSourceNotFound, what+" does not exist")
	}
}

// signalOf returns what a trigger sees of a source.
func (r *Reconciler) signalOf(o *observation, from *sourceRef, state *sources.State) restart.Signal {
	t := from.trigger
	out := restart.Signal{Trigger: t.Name, Source: nameOf(&from.want), Unknown: state.Unknown, Written: state.Written, Version: state.Version,
		FirstSeen: state.FirstSeen, ValuesWritten: state.ValuesWritten, Recorded: state.Recorded, Keys: state.Keys}
	scope := r.scope(&from.want)
	if !state.Missing && state.Unknown == "" {
		out.Fingerprint = scope + "/" + state.Fingerprint
	}
	if c := t.ConfigChange; c != nil {
		out.SilentCreate = *c.OnCreate == autorebootv1.SourceIgnore
		out.SilentDelete = *c.OnDelete == autorebootv1.SourceIgnore
	}
	if c := t.CertificateRenewal; c != nil {
		out.Urgent = durationOf(c.IgnoreWindowsBefore)
		out.SilentCreate, out.SilentDelete = true, true // neither is a renewal
		if !state.NotAfter.IsZero() {
			out.Expires = &state.NotAfter
		}
	}
	known, _ := o.baseline(from.workload, out.Trigger, out.Source)
	switch {
	case known == "":
	case state.Missing && out.SilentCreate && out.SilentDelete:
		// It may come back with other content, and whether a reconcile happens in between is random.
		out.Fingerprint = known
	case out.Fingerprint != "":
		before, _, _ := strings.Cut(known, "/")
		out.Incomparable = before != scope
	}
	return out
}

// scope returns the prefix of a fingerprint, which depends on the keys that count and on the key of the
// installation. Fingerprints of two scopes cannot be compared, and the new one becomes the baseline: neither other
// keys in a spec, nor a new key of the installation, restart anything.
func (r *Reconciler) scope(w *sources.Want) string {
	parts := [][]byte{[]byte(w.Certificate)}
	for _, key := range w.Keys {
		parts = append(parts, []byte(key))
	}
	sum := r.Key.Sum("scope", parts...)
	_, sum, _ = strings.Cut(sum, ":")
	return sum[:min(len(sum), 6)]
}
