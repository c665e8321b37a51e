// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/controllers/internal/workloads"
	"github.com/fairlead-dev/fairlead/controllers/rebootpolicy/podprobe"
	"github.com/fairlead-dev/fairlead/controllers/rebootpolicy/restart"
	rules "github.com/fairlead-dev/fairlead/internal/rules/rebootpolicy"
)

// probeSignals sets which pods are checked, and adds the results. Nothing is checked while a gate is closed, or a fault is
// injected into what a workload needs: the results would count once that is over, though their cause lies elsewhere. Nor are
// the pods of a workload that is being disrupted.
func (r *Reconciler) probeSignals(ctx context.Context, o *observation) {
	if !rules.HasProbe(&o.policy.Spec) {
		r.Probes.Forget(o.key)
		return
	}
	o.suspect = r.Probes.IsSuspect(o.key)
	checked := func(w *workload) bool {
		return len(o.gates) == 0 && w.Fault == "" && !o.inFlight(w.UID) && !o.state.disrupted[w.UID]
	}
	var wants []podprobe.Want
	o.eachProbe(func(t *autorebootv1.Trigger, w *workload) {
		if checked(w) {
			wants = append(wants, r.wantOf(ctx, o, t, w))
		}
	})
	for _, w := range o.unread { // their pods are unknown
		for i := range o.policy.Spec.Triggers {
			if t := &o.policy.Spec.Triggers[i]; t.Probe != nil && checked(w) {
				wants = append(wants, podprobe.Want{Trigger: t.Name, Workload: w.UID, Probe: t.Probe, Kept: true})
			}
		}
	}
	r.Probes.Set(o.key, wants)
	o.eachProbe(func(t *autorebootv1.Trigger, w *workload) {
		signal := restart.Signal{Trigger: t.Name, Source: "Probe/" + podprobe.IdentityOf(t.Probe), Level: true}
		if checked(w) {
			o.addResult(&signal, w, r.Probes.Result(o.key, t.Name, w.UID))
		}
		w.Signals = append(w.Signals, signal)
	})
}

// answered is the fingerprint of a check that succeeds for any pod.
const answered = "Answered"

// addResult adds the result of a check. One that has not succeeded since the latest restart for it does not fire: a restart
// would heal nothing.
func (o *observation) addResult(signal *restart.Signal, w *workload, result podprobe.Result) {
	signal.Firing, signal.Unknown = result.Firing, result.Unsupported
	if result.HasHealthy() {
		signal.Fingerprint = answered
	} else if _, before := o.baseline(w, signal.Trigger, signal.Source); !before && result.Firing {
		signal.Firing, signal.Unknown = false, autorebootv1.ReasonNeverAnswered
	}
	why := ""
	switch signal.Unknown {
	case networkingv1.ProbeDenied:
		why = "does not fire: the egress policy refuses what it asks"
	case autorebootv1.ReasonNeverAnswered:
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

// wantOf returns the check of a workload by a trigger.
func (r *Reconciler) wantOf(ctx context.Context, o *observation, t *autorebootv1.Trigger, w *workload) podprobe.Want {
	p := t.Probe
	want := podprobe.Want{Trigger: t.Name, Workload: w.UID, Probe: p, Pods: o.podsToCheck(w, p.Port())}
	content := r.secrets.Of(ctx, o.key.Namespace, field.NewPath("probe"), &p.Check, time.Time{})
	want.Secrets = content.Secrets
	if !content.Due.IsZero() {
		o.requeueAt(content.Due)
	}
	if content.Problem != "" {
		want.Unsupported = autorebootv1.ReasonSecretUnavailable
		o.addProblem(autorebootv1.ReasonProbeUnavailable, fmt.Sprintf("trigger %q does not fire: %s", t.Name, content.Problem))
	}
	if ptr.Deref(p.Host, "") == "" && len(want.Pods) > 0 && !slices.ContainsFunc(want.Pods, func(p podprobe.Pod) bool { return p.Port != 0 }) {
		want.Unsupported = autorebootv1.ReasonPortNotFound
		o.addProblem(autorebootv1.ReasonProbeUnavailable, fmt.Sprintf(
			"trigger %q does not fire for %s %s: no container of its pods has a TCP port with the name %q", t.Name, w.Kind, w.Name, p.Port().StrVal))
	}
	return want
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

// podsToCheck returns the pods that exist and are not terminating, with the port of each that is checked.
func (o *observation) podsToCheck(w *workload, port *intstr.IntOrString) []podprobe.Pod {
	pods := make([]podprobe.Pod, 0, len(w.Pods))
	for i := range w.Pods {
		p := &w.Pods[i]
		if !o.state.counts(p) {
			continue
		}
		ip, err := netip.ParseAddr(w.cached[i].Status.PodIP)
		if err != nil {
			ip = netip.Addr{} // it has none yet
		}
		pods = append(pods, podprobe.Pod{Name: p.Name, UID: p.UID, IP: ip, Port: workloads.PortOf(w.cached[i], port)})
	}
	return pods
}
