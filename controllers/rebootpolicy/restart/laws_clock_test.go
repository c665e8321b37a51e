// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package restart

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
)

// fork returns a copy of the model, which goes its own way.
func (m *model) fork() *model {
	w := *m
	w.policy, w.old, w.failure = m.policy.DeepCopy(), nil, nil
	w.seen, w.told = map[string]int{}, maps.Clone(m.told)
	w.had, w.former = maps.Clone(m.had), maps.Clone(m.former)
	w.asked, w.ended, w.starts, w.before = maps.Clone(m.asked), maps.Clone(m.ended), maps.Clone(m.starts), maps.Clone(m.before)
	w.planned, w.lapsed, w.excused, w.abandoned = maps.Clone(m.planned), maps.Clone(m.lapsed), maps.Clone(m.excused), maps.Clone(m.abandoned)
	w.simCluster = *m.clone()
	w.approvals, w.used, w.exceeded = maps.Clone(m.approvals), slices.Clone(m.used), maps.Clone(m.exceeded)
	return &w
}

// ownTimes are the members of a status with times of the operator's clock.
func ownTimes() []string {
	return []string{"firstRequestTime", "lastRequestTime", "lastRestartTime", "recentRestartTimes", "lastAttemptTime", "correctedTime", "startTime", "phaseTime", "blockedTime", "unavailableTime", "completionTime"}
}

// shiftTimes returns a status as a leader would have written it whose clock was ahead, and the latest of these times.
func (m *model) shiftTimes(st *autorebootv1.RebootPolicyStatus, ahead time.Duration) (shifted autorebootv1.RebootPolicyStatus, last time.Time) {
	var walk func(key string, v any) any
	walk = func(key string, v any) any {
		switch v := v.(type) {
		case map[string]any:
			for k := range v {
				v[k] = walk(k, v[k])
			}
		case []any:
			for i := range v {
				v[i] = walk(key, v[i])
			}
		case string:
			at, err := time.Parse(time.RFC3339, v)
			if err != nil || !slices.Contains(ownTimes(), key) {
				return v
			}
			at = at.Add(ahead)
			last = latest(last, at)
			return at.Format(time.RFC3339)
		}
		return v
	}
	var all any
	if err := json.Unmarshal([]byte(m.bytes(st)), &all); err != nil {
		m.fail("%v", err)
	}
	if err := json.Unmarshal([]byte(m.bytes(walk("", all))), &shifted); err != nil {
		m.fail("%v", err)
	}
	return shifted, last
}

// clocksHoldNothing goes on from what a leader stored whose clock was off: nothing waits for longer than from now on,
// nothing is done twice, and times in the future are told.
func clocksHoldNothing(m *model, o Observation) error {
	const bounds = 2 * time.Hour // of all waits of the model together; the reset of attempts takes an hour of them
	right := m.fork()
	right.runUntilIdle()
	if right.failure != nil {
		return right.failure
	}
	all := []time.Duration{-time.Hour, 2 * time.Minute, time.Hour, 12 * time.Hour}
	ahead := all[int(m.now.Unix())%len(all)] // one of them at each state
	w := m.fork()
	w.clockSet = ahead < 0
	var last time.Time
	w.policy.Status, last = m.shiftTimes(&m.policy.Status, ahead)
	if d := Decide(w.policy, o); (d.ClockSkew != "") != last.After(m.now.Add(clockSlack)) {
		return fmt.Errorf("%s is in the future at %s, and told is %q", last, m.now, d.ClockSkew)
	}
	w.runUntilIdle()
	if w.failure != nil {
		return fmt.Errorf("the clock was ahead by %s: %w", ahead, w.failure)
	}
	if took := w.now.Sub(right.now); took > bounds {
		return fmt.Errorf("the clock was ahead by %s, and it took %s longer", ahead, took)
	}
	return nil
}
