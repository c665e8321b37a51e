// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	"fmt"
	"net/netip"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/controllers/rebootpolicy/podprobe"
	"github.com/fairlead-dev/fairlead/controllers/rebootpolicy/restart"
	rules "github.com/fairlead-dev/fairlead/internal/rules/rebootpolicy"
)

// probeSignals has the pods checked, and takes down what is known of them. Nothing is checked while a
// gate is closed: the cause then lies elsewhere, and what the checks found would decide once the gate
// opens. Nor are the pods of a workload that is being restarted, by us or by others.
func (r *Reconciler) probeSignals(o *observation) {
	if !rules.HasProbe(&o.policy.Spec) {
		r.Probes.Forget(o.key)
		return
	}
	o.suspect = r.Probes.Suspect(o.key)
	checked := func(w *workload) bool { return len(o.gates) == 0 && !o.inFlight(w.UID) && !o.state.disrupted[w.UID] }
	var wants []podprobe.Want
	each(o, func(t *autorebootv1.Trigger, w *workload) {
		if checked(w) {
			wants = append(wants, podprobe.Want{Trigger: t.Name, Workload: w.UID, Probe: t.Probe, Pods: podsToCheck(w)})
		}
	})
	r.Probes.Set(o.key, wants)
	each(o, func(t *autorebootv1.Trigger, w *workload) {
		signal := restart.Signal{Trigger: t.Name, Level: true}
		if checked(w) {
			result := r.Probes.Result(o.key, t.Name, w.UID)
			signal.Firing, signal.Unknown = result.Firing, result.Unsupported
			switch result.Unsupported {
			case podprobe.ExecUnsupported:
				o.addProblem(autorebootv1.ReasonProbeUnavailable, fmt.Sprintf("trigger %q never fires: commands are not run; use httpGet, tcpSocket or grpc", t.Name))
			case networkingv1.ProbeDenied:
				o.addProblem(autorebootv1.ReasonProbeUnavailable, fmt.Sprintf("trigger %q does not fire: the egress policy refuses what it asks", t.Name))
			}
		}
		w.Signals = append(w.Signals, signal)
	})
}

// each goes over the Probe triggers of all workloads.
func each(o *observation, do func(*autorebootv1.Trigger, *workload)) {
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

// podsToCheck are those that are there to stay.
func podsToCheck(w *workload) []podprobe.Pod {
	pods := make([]podprobe.Pod, 0, len(w.Pods))
	for i := range w.Pods {
		p := &w.Pods[i]
		if p.Terminating {
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
