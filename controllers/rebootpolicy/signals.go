// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net/netip"
	"strings"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/controllers/rebootpolicy/podprobe"
	"github.com/fairlead-dev/fairlead/controllers/rebootpolicy/restart"
	"github.com/fairlead-dev/fairlead/internal/events"
	rules "github.com/fairlead-dev/fairlead/internal/rules/rebootpolicy"
)

const (
	// maxSignals is how many sources a workload may have, and maxBaselines all workloads of a policy. Each has
	// a baseline in the status, which must fit into the annotation that preserves it for writers at v1alpha1.
	maxSignals   = 64
	maxBaselines = 1000
	// maxFingerprint is the length of a fingerprint in the status.
	maxFingerprint = 128
)

// signals adds what each trigger sees to each workload.
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

// heldSignals returns signals that keep the baselines of a workload, and do not fire.
func (o *observation) heldSignals(w *workload) []restart.Signal {
	var held []restart.Signal
	for _, b := range o.targetStatus(w).Baselines {
		held = append(held, restart.Signal{Trigger: b.Trigger, Source: b.Source, Unknown: o.blockedBy})
	}
	return held
}

// limitSignals leaves out what the status has no room for: the last sources of a workload, which come last
// among its signals, and the last workloads as a whole.
func (o *observation) limitSignals() {
	total := 0
	for i, w := range o.workloads {
		levels := 0
		for j := range w.Signals {
			if s := &w.Signals[j]; s.Level && s.Source == "" {
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
				w.Kind, w.Name, maxSignals, events.Summarize(left)))
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
				maxBaselines, events.Summarize(left)))
			return
		}
	}
}

// restartNowSignals adds the annotation by which a user requests a restart.
func (o *observation) restartNowSignals() {
	token := shortFingerprint(o.policy.Annotations[autorebootv1.RestartNowAnnotation])
	for _, w := range o.workloads {
		w.Signals = append(w.Signals, restart.Signal{Trigger: autorebootv1.RestartNowTrigger, Fingerprint: token})
	}
}

// shortFingerprint returns a text that is no secret, or its hash if it is too long.
func shortFingerprint(text string) string {
	if len(text) <= maxFingerprint {
		return text
	}
	return fingerprintOf(text)
}

// fingerprintOf returns a hash of what is no secret.
func fingerprintOf(parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return "sha256:" + base64.RawURLEncoding.EncodeToString(sum[:16])
}

// probeSignals sets which pods are checked, and adds the results. Nothing is checked while a gate is closed:
// the results would count once it opens, though their cause lies elsewhere. Nor are the pods of a workload that
// is being disrupted.
func (r *Reconciler) probeSignals(o *observation) {
	if !rules.HasProbe(&o.policy.Spec) {
		r.Probes.Forget(o.key)
		return
	}
	o.suspect = r.Probes.IsSuspect(o.key)
	checked := func(w *workload) bool { return len(o.gates) == 0 && !o.inFlight(w.UID) && !o.state.disrupted[w.UID] }
	var wants []podprobe.Want
	o.eachProbe(func(t *autorebootv1.Trigger, w *workload) {
		if checked(w) {
			wants = append(wants, podprobe.Want{Trigger: t.Name, Workload: w.UID, Probe: t.Probe, Pods: o.podsToCheck(w)})
		}
	})
	r.Probes.Set(o.key, wants)
	o.eachProbe(func(t *autorebootv1.Trigger, w *workload) {
		signal := restart.Signal{Trigger: t.Name, Source: "Probe/" + podprobe.IdentityOf(t.Probe), Level: true}
		if checked(w) {
			o.addResult(&signal, w, r.Probes.Result(o.key, t.Name, w.UID))
		}
		w.Signals = append(w.Signals, signal)
	})
}

const (
	// answered is the fingerprint of a check that succeeds for any pod.
	answered = "Answered"
	// neverAnswered is why a check that fails is unknown: it may be the check that is wrong, or the network in between.
	neverAnswered = "NeverAnswered"
)

// addResult adds the result of a check. One that has not succeeded since the latest restart for it does not fire: a restart
// would heal nothing.
func (o *observation) addResult(signal *restart.Signal, w *workload, result podprobe.Result) {
	signal.Firing, signal.Unknown = result.Firing, result.Unsupported
	if result.HasHealthy() {
		signal.Fingerprint = answered
	} else if _, before := o.baseline(w, signal.Trigger, signal.Source); !before && result.Firing {
		signal.Firing, signal.Unknown = false, neverAnswered
	}
	why := ""
	switch signal.Unknown {
	case podprobe.ExecUnsupported:
		why = "never fires: commands are not run; use httpGet, tcpSocket or grpc"
	case networkingv1.ProbeDenied:
		why = "does not fire: the egress policy refuses what it asks"
	case neverAnswered:
		if o.suspect {
			return // the network of this process is the reason
		}
		since := "never answered"
		if o.targetStatus(w).LastRestartTime != nil {
			since = "not answered since its latest restart"
		}
		why = fmt.Sprintf("does not fire for %s %s, which has %s: look whether anything listens there, and whether a NetworkPolicy lets the operator in", w.Kind, w.Name, since)
	}
	if why != "" {
		o.addProblem(autorebootv1.ReasonProbeUnavailable, fmt.Sprintf("trigger %q %s", signal.Trigger, why))
	}
}

// eachProbe calls do for each Probe trigger and workload.
func (o *observation) eachProbe(do func(*autorebootv1.Trigger, *workload)) {
	for i := range o.policy.Spec.Triggers {
		t := &o.policy.Spec.Triggers[i]
		if t.Probe == nil {
			continue
		}
		for _, w := range o.workloads {
			do(t, w)
		}
	}
}

// podsToCheck returns the pods that exist and are not terminating.
func (o *observation) podsToCheck(w *workload) []podprobe.Pod {
	pods := make([]podprobe.Pod, 0, len(w.Pods))
	for i := range w.Pods {
		p := &w.Pods[i]
		if !o.state.counts(p) {
			continue
		}
		ip, err := netip.ParseAddr(w.ips[i])
		if err != nil {
			ip = netip.Addr{} // it has none yet
		}
		pods = append(pods, podprobe.Pod{Name: p.Name, UID: p.UID, IP: ip})
	}
	return pods
}
