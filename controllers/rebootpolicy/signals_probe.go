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

// fromProbes has the pods checked, and takes down what is known of them. Nothing is checked while a
// gate is closed: the cause then lies elsewhere, and what the checks found would decide once the gate
// opens. Nor are the pods of a workload that is being restarted, by us or by others.
func (r *Reconciler) fromProbes(s *survey) {
	if !rules.HasProbe(&s.policy.Spec) {
		r.Health.Forget(s.key)
		return
	}
	s.suspect = r.Health.Frozen(s.key)
	checked := func(w *workload) bool { return len(s.gates) == 0 && !s.inFlight(w.UID) && !s.memory.disrupted[w.UID] }
	var wants []podprobe.Want
	each(s, func(t *autorebootv1.Trigger, w *workload) {
		if checked(w) {
			wants = append(wants, podprobe.Want{Trigger: t.Name, Workload: w.UID, Probe: t.Probe, Pods: podsToCheck(w)})
		}
	})
	r.Health.Set(s.key, wants)
	each(s, func(t *autorebootv1.Trigger, w *workload) {
		signal := restart.Signal{Trigger: t.Name, Level: true}
		if checked(w) {
			verdict := r.Health.Verdict(s.key, t.Name, w.UID)
			signal.Firing, signal.Unknown = verdict.Firing, verdict.Unsupported
			switch verdict.Unsupported {
			case podprobe.ExecUnsupported:
				s.note(autorebootv1.ReasonProbeUnavailable, fmt.Sprintf("trigger %q never fires: commands are not run; use httpGet, tcpSocket or grpc", t.Name))
			case networkingv1.ProbeDenied:
				s.note(autorebootv1.ReasonProbeUnavailable, fmt.Sprintf("trigger %q does not fire: the egress policy refuses what it asks", t.Name))
			}
		}
		w.Signals = append(w.Signals, signal)
	})
}

// each goes over the Probe triggers of all workloads.
func each(s *survey, do func(*autorebootv1.Trigger, *workload)) {
	for i := range s.policy.Spec.Triggers {
		t := &s.policy.Spec.Triggers[i]
		if t.Probe == nil {
			continue
		}
		for _, w := range s.workloads {
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
