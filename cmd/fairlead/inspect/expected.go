// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	v1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/api/common"
	"github.com/fairlead-dev/fairlead/internal/events"
	rules "github.com/fairlead-dev/fairlead/internal/rules/rebootpolicy"
)

// Due is a restart that is to start.
type Due struct {
	Kind common.WorkloadKind
	Name string
	// Wave is its place: none of a wave starts before all of lower ones have ended.
	Wave int32
	// NotBefore is when it may start. Zero for at once.
	NotBefore time.Time
}

// ExpectedEnd returns when the last restart of a policy is expected to be verified, of those in flight and those due. It expects that
// each takes as long as the latest of its workload in the history that was verified; where there is none, as long as the median of
// these. It returns false where nothing is to end, where the history has none, and where maxTargets starts nothing.
func ExpectedEnd(policy *v1.RebootPolicy, due []Due, now time.Time) (time.Time, bool) {
	took, usual := seen(policy)
	n := len(due) + len(policy.Status.InFlight)
	slots := make([]time.Time, min(maxTargets(policy), n)) // when each is free
	if usual == 0 || n == 0 || len(due) > 0 && len(slots) == 0 {
		return time.Time{}, false
	}
	var soaks time.Duration // the slot is free meanwhile
	if v := policy.Spec.Verification; v != nil {
		soaks = v.Soak.Or(0)
	}
	var last time.Time
	start := func(kind common.WorkloadKind, name string, at time.Time) (available time.Time) {
		takes := cmp.Or(took[[2]string{string(kind), name}], usual)
		last = latest(last, latest(at.Add(takes), now))
		return at.Add(max(takes-soaks, 0))
	}
	for i := range policy.Status.InFlight {
		f := &policy.Status.InFlight[i]
		available := start(f.Kind, f.Name, cmp.Or(f.StartTime, &metav1.Time{Time: now}).Time)
		if i < len(slots) && f.Phase != v1.PhaseSoaking {
			slots[i] = available
		}
	}
	due = slices.Clone(due)
	slices.SortStableFunc(due, func(a, b Due) int { return cmp.Or(cmp.Compare(a.Wave, b.Wave), a.NotBefore.Compare(b.NotBefore)) })
	notBefore := now
	for i, d := range due {
		if i > 0 && d.Wave > due[i-1].Wave {
			notBefore = last
		}
		free := 0
		for slot := range slots {
			if slots[slot].Before(slots[free]) {
				free = slot
			}
		}
		slots[free] = start(d.Kind, d.Name, latest(slots[free], latest(notBefore, d.NotBefore)))
	}
	return last, true
}

// seen returns how long the latest verified restart of each workload took, and the median of these; 0 where there is none.
func seen(policy *v1.RebootPolicy) (took map[[2]string]time.Duration, median time.Duration) {
	took = map[[2]string]time.Duration{}
	ended := map[[2]string]time.Time{}
	for i := range policy.Status.History {
		r := &policy.Status.History[i]
		of := [2]string{string(common.KindOfGroup(r.Target.Group, r.Target.Kind)), r.Target.Name}
		if r.Result != v1.ResultSucceeded || r.StartTime == nil || r.CompletionTime == nil || r.CompletionTime.Time.Before(ended[of]) {
			continue
		}
		took[of], ended[of] = max(r.CompletionTime.Sub(r.StartTime.Time), time.Second), r.CompletionTime.Time
	}
	var all []time.Duration
	for _, one := range took {
		all = append(all, one)
	}
	if len(all) == 0 {
		return nil, 0
	}
	slices.Sort(all)
	return took, all[len(all)/2]
}

// maxTargets is how many restarts of a policy may be in flight at once.
func maxTargets(policy *v1.RebootPolicy) int {
	value := intstr.FromInt32(rules.DefaultMaxTargets)
	if c := policy.Spec.Concurrency; c != nil && c.MaxTargets != nil {
		value = *c.MaxTargets
	}
	targets := len(policy.Status.Targets)
	if n := policy.Status.WatchedTargets; n != nil {
		targets = max(targets, int(*n))
	}
	return rules.Scaled(value, targets)
}

func latest(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}

// paced are the reasons for which a restart waits that end by themselves.
var paced = []string{
	v1.ReasonDebouncing, v1.ReasonConcurrencyLimit, v1.ReasonLowerWave, v1.ReasonOutsideWindow, v1.ReasonBlackout,
}

// Expect adds to the policies that have restarts to do when the last of them is expected to end.
func (g *Graph) Expect(now time.Time) {
	for _, o := range g.Objects {
		if policy, is := o.Source.(*v1.RebootPolicy); is && (o.Health == Waiting || o.Health == Progressing) {
			o.Said += restartsToGo(policy, now)
		}
	}
}

// restartsToGo returns how many restarts of a policy have not ended, and when the last is expected to; empty where that is not known, or
// one waits for more than its turn and its time.
func restartsToGo(policy *v1.RebootPolicy, now time.Time) string {
	var due []Due
	for i := range policy.Status.Targets {
		t := &policy.Status.Targets[i]
		if t.Pending == nil {
			continue
		}
		if !slices.Contains(paced, t.Pending.Reason) {
			return ""
		}
		d := Due{Kind: t.Kind, Name: t.Name}
		if t.Pending.Reason == v1.ReasonLowerWave {
			d.Wave = 1
		}
		if next := policy.Status.NextAllowedTime; next != nil {
			d.NotBefore = next.Time
		}
		due = append(due, d)
	}
	end, is := ExpectedEnd(policy, due, now)
	if !is {
		return ""
	}
	return fmt.Sprintf("; %s to go, the last expected to end by %s",
		events.Plural(len(due)+len(policy.Status.InFlight), "restart", "restarts"), at(&metav1.Time{Time: end}))
}
