// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"slices"

	"k8s.io/apimachinery/pkg/types"

	chaosv1 "github.com/fairlead-dev/fairlead/api/chaos/v1"
)

// checkUnknown replaces each fact by one that could not be read: nothing of it dies, no victim of it counts as dead
// before the time for that is over, and no run is survived by it.
func (m *model) checkUnknown(p *chaosv1.ChaosPod, o Observation) {
	for i := range o.Owners {
		blind := o
		blind.Owners = slices.Clone(o.Owners)
		blind.Owners[i].Unknown, blind.Owners[i].Pods = "it was not read", nil
		uid := o.Owners[i].UID
		m.checkBlind(p, blind, func(owner types.UID) bool { return owner == uid })
	}
	blind := o
	blind.Unknown, blind.Owners = "nothing was read", nil
	if blind.Canary != nil {
		blind.Canary = &Canary{Unknown: "it was not read"}
	}
	m.checkBlind(p, blind, func(types.UID) bool { return true })
}

func (m *model) checkBlind(p *chaosv1.ChaosPod, o Observation, unread func(owner types.UID) bool) {
	d, before := Decide(p, o), p.Status.CurrentRun
	owners := map[types.UID]types.UID{}
	if c := d.Status.CurrentRun; c != nil {
		for _, v := range c.Victims {
			owners[v.UID] = v.Owner.UID
			known := before != nil && before.ID == c.ID && slices.ContainsFunc(before.Victims, func(w chaosv1.Victim) bool { return w.UID == v.UID })
			if unread(v.Owner.UID) && !known {
				m.fail("%s is chosen of an owner that was not read", v.Name)
			}
			waits := before != nil && before.KillingTime != nil && o.Now.Before(before.KillingTime.Add(killTimeout))
			if known && waits && unread(v.Owner.UID) && v.Outcome == chaosv1.VictimGone && !isGone(before, v.UID) {
				m.fail("%s counts as dead, and its owner was not read", v.Name)
			}
		}
	}
	for _, a := range d.Actions {
		if (a.Verb == Evict || a.Verb == Delete) && unread(owners[a.UID]) || a.Verb == CreateCanary || a.Verb == DeleteCanary {
			m.fail("%s %s without having been read", a.Verb, a.Pod)
		}
	}
	dead := before != nil && slices.ContainsFunc(before.Victims, func(v chaosv1.Victim) bool { return isDead(v.Outcome) && unread(v.Owner.UID) })
	if dead && d.Status.CurrentRun == nil && d.Status.Runs[0].ID == before.ID && d.Status.Runs[0].Outcome == chaosv1.RunSurvived {
		m.fail("run %s is survived by what was not read", before.ID)
	}
}

func isGone(c *chaosv1.CurrentRun, uid types.UID) bool {
	return slices.ContainsFunc(c.Victims, func(v chaosv1.Victim) bool { return v.UID == uid && v.Outcome == chaosv1.VictimGone })
}

// checkCaution adds a reason to wait: what dies then would have died without it, and nothing new is chosen.
func (m *model) checkCaution(p *chaosv1.ChaosPod, o Observation) {
	plain := Decide(p, o)
	busy := o
	busy.Others.Disrupted = map[types.UID]bool{p.UID: true}
	for i := range o.Owners {
		busy.Others.Disrupted[o.Owners[i].UID] = true
	}
	full := o
	full.Others.Free, full.Others.Full = 0, "there is no room"
	suspect := o
	suspect.Suspect = true
	for name, cautious := range map[string]Observation{"all is busy": busy, "there is no slot": full, "the network is suspect": suspect} {
		d := Decide(p, cautious)
		if p.Status.CurrentRun == nil && d.Status.CurrentRun != nil && name != "all is busy" {
			m.fail("a run begins although %s", name)
		}
		for _, a := range d.Actions {
			if a.RunID != "" && !slices.ContainsFunc(plain.Actions, func(b Action) bool { return a.UID == b.UID }) && name != "all is busy" {
				m.fail("%s dies because %s", a.Pod, name)
			}
		}
	}
}
