// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/controllers/rebootpolicy/restart"
	"github.com/fairlead-dev/fairlead/controllers/rebootpolicy/sources"
)

// sourceSignals observes all sources, each once, and adds a signal for each.
func (r *Reconciler) sourceSignals(ctx context.Context, o *observation) {
	all := r.sourceRefs(ctx, o)
	wants, at := distinctWants(all)
	o.sourceCount = sourceCount(wants)
	states, err := r.Sources.Observe(ctx, o.key, wants)
	if err != nil {
		o.couldNotRead(fmt.Errorf("observe sources: %w", err))
		o.setAllUnread("what it depends on cannot be read")
		return
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
			signal := r.signalOf(o, from, state)
			from.workload.Signals = append(from.workload.Signals, signal)
			o.wants[signalID{from.workload.UID, signal.Trigger, signal.Source}] = from.want
		}
	}
	o.setAwaited()
}

// sourceCount returns how many sources are observed.
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
	case !from.listed && (state.Missing || state.Unknown == autorebootv1.ReasonNotServed):
		from.addMissing(o, state)
	case from.isMounted() && state.Unknown == autorebootv1.ReasonForbidden:
		o.addProblem(autorebootv1.ReasonForbidden, fmt.Sprintf("%s is not watched: %v", what, state.Err))
	case state.Unknown == autorebootv1.ReasonNotServed:
		o.addProblem(autorebootv1.ReasonSourceNotFound, fmt.Sprintf("%s is not watched: %v", what, state.Err))
	case state.Unknown == autorebootv1.ReasonVersionsDiffer:
		o.addProblem(autorebootv1.ReasonSourceNotFound, what+": each pod has mounted versions of its own, so that none is new; "+
			"if its secrets are made for each mount, exclude it")
	case from.isMounted() && state.Missing:
		if from.mustExist && from.workload.isReady() {
			o.addProblem(autorebootv1.ReasonSourceNotFound, what+" is mounted by no pod of the namespace")
		}
	case state.Unknown == autorebootv1.ReasonForbidden:
		o.addProblem(autorebootv1.ReasonForbidden, what+" may not be read by the operator")
	case state.Unknown == autorebootv1.ReasonTooManySources:
		o.addProblem(autorebootv1.ReasonTooManyTargets, what+" is not watched: the operator watches too many sources already")
	case state.Unknown == autorebootv1.ReasonKeyNotFound:
		o.addProblem(autorebootv1.ReasonSourceNotFound, fmt.Sprintf("%s has no key %s", what, from.want.Certificate))
	case state.Unknown == autorebootv1.ReasonNotACertificate:
		o.addProblem(autorebootv1.ReasonSourceNotFound, fmt.Sprintf("%s holds no certificate under %s", what, from.want.Certificate))
	case state.Missing && from.mustExist:
		o.addProblem(autorebootv1.ReasonSourceNotFound, what+" does not exist")
	}
}

// addMissing reports that a source does not exist which annotations of the workload name. The policy is Ready all the same: what
// one workload names must not be a fault of all.
func (s *sourceRef) addMissing(o *observation, state *sources.State) {
	what := fmt.Sprintf("%s %s, which an annotation names,", s.want.Kind, s.want.Name)
	switch {
	case !s.expected:
	case state.Err != nil && state.Unknown == autorebootv1.ReasonNotServed:
		o.addMistake(s.workload, fmt.Sprintf("%s is not watched: %v", what, state.Err))
	case s.isMounted() && s.workload.isReady():
		o.addMistake(s.workload, what+" is mounted by no pod of the namespace")
	case !s.isMounted():
		o.addMistake(s.workload, what+" does not exist")
	}
}

// isReady reports whether a pod of the workload is ready.
func (w *workload) isReady() bool {
	return slices.ContainsFunc(w.Pods, func(p restart.Pod) bool { return p.Ready })
}

// expiresSoon is how long before its expiry a certificate that pods hold waits for no window any more: to wait would end in the
// outage that the renewal prevents.
const expiresSoon = 24 * time.Hour

// signalOf returns what a trigger sees of a source.
func (r *Reconciler) signalOf(o *observation, from *sourceRef, state *sources.State) restart.Signal {
	t := from.trigger
	out := restart.Signal{Trigger: t.Name, Source: nameOf(&from.want), Unknown: state.Unknown, Written: state.Written, Version: state.Version,
		FirstSeen: state.FirstSeen, ValuesWritten: state.ValuesWritten, Recorded: state.Recorded, Keys: state.Keys,
		Created: state.Created, Since: state.Since, Immutable: state.Immutable, Writer: state.Writer}
	if from.isMounted() {
		out.SilentCreate, out.SilentDelete = true, true // without pods nothing is mounted, and nothing is gone
		from.dateMount(&out, state)
	}
	out.Ignored = from.claim.IsIgnored(state.Marks, o.policy.Spec.Compatibility)
	scope := r.scope(&from.want)
	if !state.Missing && state.Unknown == "" {
		out.Fingerprint = scope + "/" + state.Fingerprint
	}
	if c := t.ConfigChange; c != nil && !from.isMounted() {
		out.SilentCreate = *c.OnCreate == autorebootv1.SourceIgnore
		out.SilentDelete = *c.OnDelete == autorebootv1.SourceIgnore
	}
	if c := t.CertificateRenewal; c != nil {
		out.Urgent = expiresSoon
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

// isMounted reports whether the source is what pods have mounted of a SecretProviderClass.
func (s *sourceRef) isMounted() bool { return s.want.Kind == autorebootv1.SourceSecretProviderClass }

// dateMount dates the versions that count of a SecretProviderClass to before the pods of a workload, if each of them that has
// mounted it was started with these. The driver writes a status only after the pod was created.
func (s *sourceRef) dateMount(out *restart.Signal, state *sources.State) {
	isStarted := false
	var oldest time.Time
	for i := range s.workload.Pods {
		pod := &s.workload.Pods[i]
		if oldest.IsZero() || pod.Created.Before(oldest) {
			oldest = pod.Created
		}
		mounted, current := state.Mounts.Has(pod.UID)
		if isStarted = isStarted || current; mounted && !current && !pod.Terminating {
			return
		}
	}
	if isStarted && !oldest.After(out.Written) {
		out.Written, out.Version = oldest.Add(-time.Second), ""
	}
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
