// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"strings"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/controllers/rebootpolicy/restart"
)

const (
	// maxSignals is how many sources one workload may have over all triggers, and maxBaselines a whole
	// policy: each has a baseline in the status, and all of the status must find room in the annotation
	// that keeps it for a writer at v1alpha1.
	maxSignals   = 64
	maxBaselines = 1000
	// maxFingerprint is how long a fingerprint in the status may be.
	maxFingerprint = 128
)

// signals gives every workload what the triggers see of it.
func (r *Reconciler) signals(ctx context.Context, o *observation) error {
	if o.blockedBy != "" {
		r.Probes.Forget(o.key)
		for _, w := range o.workloads {
			w.Signals = o.heldSignals(w)
		}
		return nil
	}
	o.restartNowSignals()
	r.probeSignals(o)
	for i := range o.policy.Spec.Triggers {
		t := &o.policy.Spec.Triggers[i]
		switch {
		case t.Schedule != nil:
			o.scheduleSignals(t)
		case t.PodAge != nil:
			o.podAgeSignals(t)
		case t.EndpointsChange != nil:
			if err := r.endpointSignals(ctx, o, t); err != nil {
				return err
			}
		}
	}
	if err := r.sourceSignals(ctx, o); err != nil {
		return err
	}
	o.limitSignals()
	return r.orderByVersion(ctx, o)
}

// heldSignals stands for triggers that cannot be read: what was seen stays, and nothing fires.
func (o *observation) heldSignals(w *workload) []restart.Signal {
	var out []restart.Signal
	for _, b := range o.baselines(w) {
		out = append(out, restart.Signal{Trigger: b.Trigger, Source: b.Source, Unknown: o.blockedBy})
	}
	return out
}

// limitSignals leaves out what the status has no room for: the last sources of a workload, and the
// last workloads as a whole. What sources there are comes last among the signals.
func (o *observation) limitSignals() {
	total := 0
	for i, w := range o.workloads {
		levels := 0
		for j := range w.Signals {
			if w.Signals[j].Level {
				levels++
			}
		}
		if excess := len(w.Signals) - levels - maxSignals; excess > 0 {
			var left []string
			for _, signal := range w.Signals[len(w.Signals)-excess:] {
				left = append(left, signal.Source)
			}
			w.Signals = w.Signals[:len(w.Signals)-excess]
			o.addProblem(autorebootv1.ReasonTooManyTargets, fmt.Sprintf(
				"%s %s has more than %d sources, restart-now and other triggers included: not watched: %s; list those that count, with discovery Explicit",
				w.Kind, w.Name, maxSignals, some(left)))
		}
		total += len(w.Signals) - levels
		if total > maxBaselines {
			var left []string
			for _, rest := range o.workloads[i:] {
				left = append(left, string(rest.Kind)+" "+rest.Name)
				rest.Signals, rest.Unselected = nil, true
			}
			o.addProblem(autorebootv1.ReasonTooManyTargets, fmt.Sprintf(
				"the workloads have more than %d sources together, each counted for each workload, restart-now included: left alone: %s; spread them over several policies",
				maxBaselines, some(left)))
			return
		}
	}
}

// restartNowSignals is the restart that a user asks for by hand.
func (o *observation) restartNowSignals() {
	token := shortFingerprint(o.policy.Annotations[autorebootv1.RestartNowAnnotation])
	for _, w := range o.workloads {
		w.Signals = append(w.Signals, restart.Signal{Trigger: autorebootv1.RestartNowTrigger, Fingerprint: token})
	}
}

// shortFingerprint makes a fingerprint of a text that is no secret.
func shortFingerprint(text string) string {
	if len(text) <= maxFingerprint {
		return text
	}
	return fingerprintOf(text)
}

// fingerprintOf is a fingerprint of what is no secret.
func fingerprintOf(parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return "sha256:" + base64.RawURLEncoding.EncodeToString(sum[:16])
}
