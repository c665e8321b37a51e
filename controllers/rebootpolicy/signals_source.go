// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	"context"
	"fmt"
	"slices"
	"strings"

	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/controllers/rebootpolicy/restart"
	"github.com/fairlead-dev/fairlead/controllers/rebootpolicy/sources"
)

// sourceSignals observes all ConfigMaps and Secrets, each once, and adds a signal for each.
func (r *Reconciler) sourceSignals(ctx context.Context, o *observation) error {
	all := r.sourceRefs(ctx, o)
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
			ctrllog.FromContext(ctx).V(1).Info("A source is unknown", "source", nameOf(&from.want), "reason", state.Unknown, "error",
				state.Err.Error())
		}
		switch exists := !state.Missing && state.Unknown == ""; {
		case from.required:
			o.addRequired(&from.want, state)
		case from.former && exists: // it does not count any more
		default:
			o.addSourceProblem(from, state)
			from.workload.Signals = append(from.workload.Signals, r.signalOf(o, from, state))
		}
	}
	o.setAwaited()
	return nil
}

// sourceCount returns how many ConfigMaps and Secrets are observed.
func sourceCount(wants []sources.Want) int {
	distinct := map[sources.Ref]bool{}
	for i := range wants {
		distinct[wants[i].Ref] = true
	}
	return len(distinct)
}

// distinctWants returns what to observe, each once, and its index for each source.
func distinctWants(all []sourceRef) (wants []sources.Want, at []int) {
	index := map[string]int{}
	for i := range all {
		w := all[i].want
		slices.Sort(w.Keys)
		slices.Sort(w.ExcludedKeys)
		id := w.Certificate + "\x00" + idOf(&w) + "\x00\x00" + strings.Join(w.ExcludedKeys, "\x00")
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
	out.Ignored = from.isIgnored(state, o.policy.Spec.Compatibility)
	scope := r.scope(&from.want)
	if !state.Missing && state.Unknown == "" {
		out.Fingerprint = scope + "/" + state.Fingerprint
	}
	if c := t.ConfigChange; c != nil {
		out.SilentCreate = *c.OnCreate == autorebootv1.SourceIgnore
		out.SilentDelete = *c.OnDelete == autorebootv1.SourceIgnore
	}
	if c := t.CertificateRenewal; c != nil {
		out.Urgent = c.IgnoreWindowsBefore.Or(0)
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
	for _, key := range w.ExcludedKeys {
		parts = append(parts, []byte("\x00"+key))
	}
	sum := r.Key.Sum("scope", parts...)
	_, sum, _ = strings.Cut(sum, ":")
	return sum[:min(len(sum), 6)]
}
