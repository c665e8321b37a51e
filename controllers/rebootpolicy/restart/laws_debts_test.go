// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package restart

import (
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
)

// debtsAreKeptOrTold deletes the policy, the source and each workload, and creates them again.
func debtsAreKeptOrTold(m *model, o Observation) error {
	if err := policyIsMadeAgain(m, o); err != nil {
		return fmt.Errorf("the policy was made again: %w", err)
	}
	if err := sourceIsMadeAgain(m, o); err != nil {
		return fmt.Errorf("the source was made again: %w", err)
	}
	for i := range m.workloads {
		if err := workloadIsMadeAgain(m, i); err != nil {
			return fmt.Errorf("%s was made again: %w", m.workloads[i].name, err)
		}
	}
	return nil
}

// policyIsMadeAgain clears the status, as after a recreation under another leader. A workload whose pods lack content is
// reported, and no other.
func policyIsMadeAgain(m *model, o Observation) error {
	p := m.policy.DeepCopy()
	p.UID, p.Status = "another", autorebootv1.RebootPolicyStatus{}
	p.CreationTimestamp = metav1.NewTime(m.now.Add(time.Second)) // later than all that there is
	d := Decide(p, o)
	began := planned(p, &d)
	for _, s := range m.workloads {
		if s.uid == "" || s.unselected || m.sources[0].unknown {
			continue
		}
		older := slices.ContainsFunc(s.pods, func(p simPod) bool { return p.created.Before(m.sources[0].written) })
		told := slices.ContainsFunc(d.Messages, func(n Message) bool { return n.Reason == "PodsOutdated" && n.Target.Name == s.name })
		switch {
		case m.lacksContent(s) && !told && !began[types.UID(s.uid)]:
			return fmt.Errorf("%s has pods without the content, and nothing says so: %+v", s.name, d.Messages)
		case told && !older:
			return fmt.Errorf("the pods of %s are newer than the content, and are told to be older", s.name)
		}
	}
	return nil
}

// sourceIsMadeAgain decides while the source does not exist, and then with what it had: what was pending is so again.
func sourceIsMadeAgain(m *model, o Observation) error {
	direct := Decide(m.policy, o)
	gone := Decide(m.policy, edited(o, func(w *Workload) {
		s := &w.Signals[0]
		s.SilentCreate, s.SilentDelete = true, true
		for _, t := range m.policy.Status.Targets {
			if b := (&target{TargetStatus: &t}).baseline(s); b != nil && t.UID == w.UID && s.Unknown == "" {
				s.Fingerprint, s.Incomparable = b.Fingerprint, false // as observed where the source may come back with other content
			}
		}
	}))
	p := m.policy.DeepCopy()
	p.Status = gone.Status
	back := Decide(p, o)
	for _, t := range direct.Status.Targets {
		differs := !slices.ContainsFunc(o.Workloads, func(w Workload) bool {
			return w.UID == t.UID && fingerprints(targetIn(&back.Status, t.UID))[configSource] == w.Signals[0].Fingerprint
		})
		later := differs && slices.ContainsFunc(back.Status.InFlight, func(f autorebootv1.InFlightRestart) bool { return f.UID == t.UID })
		told := slices.ContainsFunc(slices.Concat(gone.Messages, back.Messages), func(n Message) bool { return n.Reason == "PodsOutdated" && n.Target.Name == t.Name })
		if waits(&direct.Status, t.UID, m.names[0]) && !waits(&back.Status, t.UID, m.names[0]) && !later && !told && m.lacksContent(m.workload(t.Name)) {
			return fmt.Errorf("the restart of %s for %s was forgotten: %+v", t.Name, m.names[0], back.Messages)
		}
	}
	return nil
}

// waits reports whether a status has a restart of a workload for a trigger, pending or in flight. One in flight for another
// trigger began without the source, and is not what the workload is owed.
func waits(st *autorebootv1.RebootPolicyStatus, uid types.UID, trigger string) bool {
	return slices.ContainsFunc(st.Targets, func(t autorebootv1.TargetStatus) bool {
		return t.UID == uid && t.Pending != nil && slices.Contains(t.Pending.Triggers, trigger)
	}) || slices.ContainsFunc(st.InFlight, func(f autorebootv1.InFlightRestart) bool {
		return f.UID == uid && slices.Contains(f.Triggers, trigger)
	})
}

// lacksContent reports whether a workload has a pod without what the source has, and from a second before.
func (m *model) lacksContent(s *simWorkload) bool {
	for i := range s.pods {
		if p := &s.pods[i]; p.reads[0] != m.sources[0].content && p.created.Before(m.sources[0].written) && !s.isTerminating(p) {
			return true
		}
	}
	return false
}

// targetIn returns the target of a workload; an empty one where there is none.
func targetIn(st *autorebootv1.RebootPolicyStatus, uid types.UID) *autorebootv1.TargetStatus {
	for i := range st.Targets {
		if st.Targets[i].UID == uid {
			return &st.Targets[i]
		}
	}
	return &autorebootv1.TargetStatus{}
}

// workloadIsMadeAgain sees that a restart in flight ends with a message, that the new workload is owed nothing, and that no
// other is changed by more than the turn which it gets.
func workloadIsMadeAgain(m *model, i int) error {
	w := m.fork()
	old := types.UID(w.workloads[i].uid)
	w.createPod(w.workloads[i])
	name := w.workloads[i].name
	token := w.policy.Annotations[autorebootv1.RestartNowAnnotation]
	d := Decide(w.policy, w.observe(token))
	for _, f := range m.policy.Status.InFlight {
		if f.UID == old && !slices.ContainsFunc(d.Messages, func(n Message) bool { return n.Ended != nil && n.Ended.ID == f.ID }) {
			return fmt.Errorf("nothing says how restart %s ended", f.ID)
		}
	}
	for _, t := range d.Status.Targets {
		if t.Name == name && (t.Attempts > 0 || t.LastRestartTime != nil || t.Pending != nil && !slices.Equal(t.Pending.Triggers, []string{autorebootv1.RestartNowTrigger})) {
			return fmt.Errorf("it is owed what its predecessor was: %s", w.bytes(t))
		}
	}
	for _, before := range m.policy.Status.Targets {
		if before.Pending == nil || before.Name == name {
			continue
		}
		kept := slices.ContainsFunc(d.Status.Targets, func(t autorebootv1.TargetStatus) bool { return t.UID == before.UID && t.Pending != nil }) ||
			slices.ContainsFunc(d.Status.InFlight, func(f autorebootv1.InFlightRestart) bool { return f.UID == before.UID })
		told := slices.ContainsFunc(d.Messages, func(n Message) bool { return n.Target.Name == before.Name })
		if !kept && !told && slices.ContainsFunc(d.Status.Targets, func(t autorebootv1.TargetStatus) bool { return t.UID == before.UID }) {
			return fmt.Errorf("the restart of %s was forgotten", before.Name)
		}
	}
	return nil
}
