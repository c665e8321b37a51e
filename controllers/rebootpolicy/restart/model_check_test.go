// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package restart

import (
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
)

// check holds a decision to the rules, from what it has itself seen and written down.
func (m *model) check(o Observation, d Decision) {
	m.countMessages(d)
	stored := map[string]bool{}
	for _, f := range m.policy.Status.InFlight {
		stored[f.ID] = true
	}
	var planned []autorebootv1.InFlightRestart
	held := map[string]bool{}
	for _, f := range d.Status.InFlight {
		if held[f.ID] || held[string(f.UID)] {
			m.fail("%s: two restarts of one id or workload are in flight", f.ID)
		}
		held[f.ID], held[string(f.UID)] = true, true
		if !stored[f.ID] {
			planned = append(planned, f)
		}
	}
	most := int(m.policy.Spec.Concurrency.MaxTargets.IntVal)
	inFlight := slotsOf(d.Status.InFlight) // one that soaks is beside the next
	free := max(o.Others.Free, 0)
	if slots := slotsOf(d.Status.InFlight); slots <= o.Others.Share { // the slots of those that have ended or soak
		free = max(o.Others.Free+max(slotsOf(m.policy.Status.InFlight)-(slots-len(planned)), 0), 0)
	}
	if len(planned) > 0 && (inFlight+m.group > most || len(planned) > free) {
		m.fail("%d are planned with %d in flight, %d of the group, %d free and a share of %d", len(planned), inFlight, m.group, o.Others.Free, o.Others.Share)
	}
	for _, f := range planned {
		m.checkPlan(o, d, f)
	}
	m.checkBounds(d.Status)
}

func (m *model) checkPlan(o Observation, d Decision, f autorebootv1.InFlightRestart) {
	spec := &m.policy.Spec
	now := slices.Contains(f.Triggers, autorebootv1.RestartNowTrigger)
	switch {
	case spec.Suspend != nil && *spec.Suspend, spec.DryRun != nil && *spec.DryRun:
		m.fail("%s is planned though the policy is suspended or rehearses", f.ID)
	case o.Calendar.Blackout != "", !o.Calendar.Window && !now:
		m.fail("%s is planned outside of windows", f.ID)
	case m.gate:
		m.fail("%s is planned through a closed gate", f.ID)
	case m.busy[f.UID]:
		m.fail("%s is planned for a workload that is disrupted", f.ID)
	case m.suspect && len(f.Triggers) == 1 && f.Triggers[0] == m.names[3]:
		m.fail("%s is planned because of checks that are suspect", f.ID)
	case d.Status.Halt != nil:
		m.fail("%s is planned though the policy is halted", f.ID)
	}
	for _, t := range m.policy.Status.Targets {
		if t.LastRestartID == f.ID {
			m.fail("%s is an id that was given before", f.ID)
		}
	}
	var own Workload
	for _, w := range o.Workloads {
		if w.UID == f.UID {
			own = w
		}
	}
	if own.Obstacle != "" {
		m.fail("%s is planned though the workload is %s", f.ID, own.Obstacle)
	}
	for _, w := range o.Workloads {
		for _, other := range d.Status.InFlight {
			if w.UID == other.UID && w.Wave < own.Wave {
				m.fail("%s is planned while a lower wave restarts", f.ID)
			}
		}
	}
	v := verdict{starts: m.starts[f.UID], abandoned: m.abandoned[f.UID]}
	v.asked, v.restarted = m.asked[f.UID]
	v.latest, v.ended = m.ended[f.UID]
	v.had, v.former = maps.Clone(m.had), maps.Clone(m.former)
	m.before[f.UID] = v
	last, retried := m.ended[f.UID]
	retried = retried && last.Result == autorebootv1.ResultFailed
	isNew := m.isNew(f)
	m.checkCause(f, retried)
	m.checkApproval(&v, f)
	m.checkPace(f, now, isNew, last, retried)
	if had := m.had[f.UID]; isNew {
		m.former[f.UID], m.had[f.UID] = had, [3]int{m.viewed[0], m.viewed[1], m.keys}
	}
	m.starts[f.UID] = append(m.starts[f.UID], m.now)
	m.planned[f.ID+string(f.UID)] = m.now.Truncate(time.Second)
	delete(m.ended, f.UID)
	delete(m.abandoned, f.UID)
}

// checkVerified sees that a restart is verified only when every pod is new, and by a view that has pods, however old it is.
func (m *model) checkVerified(o Observation, n Message) {
	s := m.workload(n.Target.Name)
	if s == nil || n.Ended == nil || n.Ended.Result != autorebootv1.ResultSucceeded {
		return
	}
	if slices.ContainsFunc(o.Workloads, func(w Workload) bool { return w.Name == n.Target.Name && w.Desired == 0 }) {
		m.fail("%s is verified without a pod", n.Ended.ID)
	}
	for i, p := range s.pods {
		if s.isLost(&s.pods[i]) || i < s.partition {
			continue // which the message says
		}
		if revision := s.revisions[n.Ended.ID]; p.revision < revision || revision == 0 && p.created.Before(m.planned[n.Ended.ID+s.uid]) {
			m.fail("%s is verified, and pod %s is older", n.Ended.ID, p.name)
		}
	}
}

// checkFirstSight sees that a workload is owed at first sight what one of its pods lacks, and nothing else.
func (m *model) checkFirstSight(o Observation, d Decision) {
	for _, t := range d.Status.Targets {
		b := baselineIn(&d.Status, t.UID)
		if b == nil || baselineIn(&m.policy.Status, t.UID) != nil {
			continue
		}
		s := m.workload(t.Name)
		if s.uid != string(t.UID) {
			continue // gone meanwhile
		}
		m.late[t.UID] = m.now.Sub(s.created) >= newFor
		at := slices.IndexFunc(o.Workloads, func(w Workload) bool { return w.UID == t.UID })
		if b.Fingerprint != FormerFingerprint(b.Fingerprint) || m.lapsed[t.UID] {
			continue
		}
		lacks := func(p simPod) bool {
			return p.reads[0] != m.sources[0].content || !slices.ContainsFunc(o.Workloads[at].Pods, func(seen Pod) bool { return seen.Name == p.name })
		}
		if !slices.ContainsFunc(s.pods, lacks) {
			m.fail("%s is owed what its pods have", t.Name)
		}
	}
}

// baselineIn returns what a status has of the ConfigMap for a workload; nil for nothing.
func baselineIn(st *autorebootv1.RebootPolicyStatus, uid types.UID) *autorebootv1.Baseline {
	for _, t := range slices.Concat(st.Targets, st.UnselectedTargets) {
		for i := range t.Baselines {
			if b := &t.Baselines[i]; t.UID == uid && b.Source == configSource {
				return b
			}
		}
	}
	return nil
}

// checkCause sees that no change restarts a workload twice, but by a retry.
func (m *model) checkCause(f autorebootv1.InFlightRestart, retried bool) {
	before, restarted := m.asked[f.UID]
	if restarted && !retried {
		for i, name := range []string{m.names[0], m.names[1], m.names[2], autorebootv1.RestartNowTrigger} {
			if slices.Contains(f.Triggers, name) && before[i] == m.shown[i] {
				m.fail("%s: %s restarts %s twice for one change", f.ID, name, f.Name)
			}
		}
	}
	m.asked[f.UID] = m.shown
}

// checkApproval sees that a person has approved what a restart is for, and that no approval is used twice. A restart that is tried
// again was approved before; one that was refused has its approval still.
func (m *model) checkApproval(v *verdict, f autorebootv1.InFlightRestart) {
	if len(m.policy.Spec.Gates) == 0 {
		return
	}
	v.approved = m.approvals[f.UID]
	m.before[f.UID] = *v
	delete(m.approvals, f.UID)
	for _, stored := range slices.Concat(m.policy.Status.Targets, m.policy.Status.UnselectedTargets) {
		if t := (&target{TargetStatus: &stored}); t.UID == f.UID && t.isOwed() {
			return
		}
	}
	if v.approved == nil {
		m.fail("%s: no one has approved it", f.ID)
		return
	}
	for i, name := range []string{m.names[0], m.names[1], m.names[2], autorebootv1.RestartNowTrigger} {
		if slices.Contains(f.Triggers, name) && v.approved[i] != m.viewed[i] {
			m.fail("%s: %s asks for %d, and %d was approved", f.ID, name, m.viewed[i], v.approved[i])
		}
	}
}

// isNew reports whether a restart is for content which its workload was not restarted for last.
func (m *model) isNew(f autorebootv1.InFlightRestart) bool {
	before := m.asked[f.UID]
	for i, name := range m.names[:2] {
		if slices.Contains(f.Triggers, name) && before[i] != m.shown[i] {
			return true
		}
	}
	return false
}

func (m *model) checkPace(f autorebootv1.InFlightRestart, now, isNew bool, last autorebootv1.RestartRecord, retried bool) {
	if m.clockSet {
		return
	}
	limit := 0
	for _, at := range m.starts[f.UID] {
		if at.Add(time.Hour).After(m.now) {
			limit++
		}
	}
	if limit >= int(m.policy.Spec.Limit.MaxRestarts) {
		m.fail("%s: %d restarts within the hour", f.ID, limit+1)
	}
	if last.CompletionTime == nil || now || last.Reason == autorebootv1.ReasonUnselected { // that is no failed attempt

		return
	}
	wait := 2 * time.Minute
	former, restarted := m.former[f.UID]
	isBack := restarted && former == [3]int{m.viewed[0], m.viewed[1], m.keys}
	switch {
	case isNew && !isBack:
		wait = 0
	case retried:
		wait = time.Minute
	}
	if since := m.now.Sub(last.CompletionTime.Time); since < wait {
		m.fail("%s: only %s after the one before", f.ID, since)
	}
}

// checkBounds are those of the schema.
func (m *model) checkBounds(s autorebootv1.RebootPolicyStatus) {
	if n := len(s.History); n > int(*m.policy.Spec.HistoryLimit) {
		m.fail("%d records of history", n)
	}
	for i := 1; i < len(s.History); i++ {
		if s.History[i-1].CompletionTime.Before(s.History[i].CompletionTime) {
			m.fail("the history is not in order")
		}
	}
	for _, t := range s.Targets {
		switch {
		case t.Attempts > *m.policy.Spec.Retry.MaxAttempts+1 && s.Halt == nil:
			m.fail("%s: %d attempts", t.Name, t.Attempts)
		case len(t.RecentRestartTimes) > 100, len(t.Baselines) > 64:
			m.fail("%s: out of bounds", t.Name)
		case t.Pending != nil && (len(t.Pending.Triggers) == 0 || len(t.Pending.Triggers) > 17 || t.Pending.Reason == ""):
			m.fail("%s: pending without a trigger or a reason: %+v", t.Name, t.Pending)
		}
	}
}

// clearTheWay takes everything out of the way that is not about content.
func (m *model) clearTheWay() {
	off := false
	m.policy.Spec.Suspend, m.policy.Spec.DryRun = &off, &off
	m.failing = false
	m.gate, m.suspect, m.group, m.free, m.busy, m.blackout = false, false, 0, 3, map[types.UID]bool{}, time.Time{}
	for i := range m.sources {
		m.sources[i].unknown = false
	}
	for _, s := range m.workloads {
		s.broken, s.looping, s.reverts, s.budget, s.twoBudgets, s.refusing, s.wedged, s.paused, s.unselected, s.lost = false, false, false, false, false, false, false, false, false, false
		s.quota, s.partition, s.desired = false, 0, max(s.desired, 1)
	}
}

// runUntilIdle takes everything out of the way, and follows the operator until it has nothing to do.
func (m *model) runUntilIdle() {
	m.clearTheWay()
	m.bad = map[int]bool{}
	for _, s := range m.workloads {
		s.stuck = 0
		for i := range s.pods {
			s.pods[i].bad = false
		}
		if s.uid == "" {
			m.createPod(s)
		}
	}
	m.advance(time.Minute)
	m.old = nil
	for range 2000 {
		if m.failure != nil {
			return
		}
		if m.policy.Status.Halt != nil {
			m.advance(2 * time.Second)
			m.event(step{what: "retry"})
		}
		m.approve()
		before := m.bytes(m.policy.Status)
		again := m.reconcile("")
		quiet := before == m.bytes(m.policy.Status)
		switch {
		case quiet && again.IsZero():
			m.settled = true
			m.checkFinalState()
			return
		case !again.IsZero() && !again.After(m.now):
			m.fail("told to come back in the past, at %s", again)
		case quiet:
			m.advance(min(again.Sub(m.now), 10*time.Second))
			if m.policy.Status.InFlight == nil && again.Sub(m.now) > 0 {
				m.advance(again.Sub(m.now))
			}
		default:
			m.advance(time.Second)
		}
	}
	m.fail("it never comes to rest: %s", m.bytes(m.policy.Status))
}

// checkFinalState is that nothing was lost: everybody runs with what there is now.
func (m *model) checkFinalState() {
	for id, n := range m.rollouts {
		if n > 1 && !m.reverted[id] {
			m.fail("%s was rolled out %d times", id, n)
		}
	}
	for _, t := range m.policy.Status.Targets {
		s := m.workload(t.Name)
		switch {
		case t.Pending != nil:
			m.fail("%s still waits: %+v", t.Name, t.Pending)
		case t.Attempts > *m.policy.Spec.Retry.MaxAttempts, m.lapsed[t.UID], m.excused[t.UID], m.abandoned[t.UID]:
			continue
		}
		for i, name := range m.names[:2] {
			for _, b := range t.Baselines {
				for _, p := range s.pods {
					owed := m.asked[t.UID][i] > 0 || i == 0 && !m.late[t.UID] // of addresses nothing says when they changed
					if b.Trigger == name && p.reads[i] != m.sources[i].content && owed {
						m.fail("%s: %s reads %d of %s, not %d: a change was lost", t.Name, p.name, p.reads[i], name, m.sources[i].content)
					}
				}
			}
		}
	}
}
