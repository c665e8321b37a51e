// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	chaosv1 "github.com/fairlead-dev/fairlead/api/chaos/v1"
	"github.com/fairlead-dev/fairlead/api/common"
	"github.com/fairlead-dev/fairlead/internal/events"
	rules "github.com/fairlead-dev/fairlead/internal/rules/chaospod"
	"github.com/fairlead-dev/fairlead/internal/text"
)

// admit returns the start of a run with its victims, or why it may not start: of several reasons the one that lasts longest.
func (r *run) admit(id string) (occurrence, *hold) {
	for _, check := range []func() *hold{r.checkHeld, r.checkDailyLimit, r.checkTarget} {
		if held := check(); held != nil {
			return occurrence{}, held
		}
	}
	ready := 0
	for i := range r.owners {
		for j := range r.owners[i].Pods {
			if pod := &r.owners[i].Pods[j]; pod.Selected && pod.ready() {
				ready++
			}
		}
	}
	c := choice{count: min(r.killCount(ready), r.remainingToday(), chaosv1.MaxStatusVictims)}
	if r.killCount(ready) == 0 {
		return occurrence{event: Skipped, reason: chaosv1.ReasonCountZero,
			message: fmt.Sprintf("count %s of %d ready pods is 0", r.count.String(), ready)}, nil
	}
	c.seed = seedOf(r.p.UID, id)
	owners, held := r.eligibleOwners(nil)
	if len(owners) == 0 {
		return occurrence{}, held
	}
	if r.observed.Others.Free <= 0 {
		r.waitsForOthers = true
		return occurrence{}, &hold{reason: chaosv1.ReasonConcurrencyLimit, message: r.observed.Others.Full}
	}
	c.count = min(c.count, r.observed.Others.Free)
	var uids []string
	for i := range owners {
		for j := range owners[i].Pods {
			uids = append(uids, string(owners[i].Pods[j].UID))
		}
	}
	slices.Sort(uids)
	sum := sha256.Sum256([]byte(strings.Join(uids, "\n") + "\n"))
	c.candidates, c.digest = len(uids), hex.EncodeToString(sum[:])
	c.victims = r.pickVictims(c.seed, owners, c.count)
	c.count = len(c.victims)
	return occurrence{event: Start, chosen: c}, nil
}

// checkHeld returns why no run may start or go on.
func (r *run) checkHeld() *hold {
	if held := r.checkOutsideWindow(); held != nil {
		return held
	}
	return r.checkProbesInconclusive()
}

func (r *run) checkOutsideWindow() *hold {
	calendar := r.schedule.calendar
	moment, open := calendar.At(r.now), calendar.NextOpen(r.now)
	held := &hold{until: open}
	switch {
	case moment.Open():
		return nil
	case moment.Blackout != "":
		held.reason, held.message, held.until = chaosv1.ReasonBlackout, "blackout "+moment.Blackout+" lasts", calendar.NextOutsideBlackout(r.now)
	default:
		held.reason, held.message = chaosv1.ReasonOutsideWindow, "no window is open"
	}
	if !held.until.IsZero() {
		held.message += " until " + held.until.UTC().Format(time.RFC3339)
	}
	switch {
	case open.IsZero():
		held.message += "; no window is ever open outside of the blackouts"
	case moment.Blackout == "":
		held.message += ", when " + calendar.Window(open) + " opens"
	}
	return held
}

func (r *run) checkProbesInconclusive() *hold {
	if !r.observed.Suspect {
		return nil
	}
	return &hold{reason: chaosv1.ReasonProbesInconclusive, message: "so many checks fail that the fault is probably the operator's own"}
}

func (r *run) checkDailyLimit() *hold {
	if r.remainingToday() > 0 {
		return nil
	}
	return &hold{reason: chaosv1.ReasonDailyLimit, until: r.nextDay(),
		message: fmt.Sprintf("safety.maxPerDay is reached: %s killed on %s", events.Plural(int(r.killedToday), "pod", "pods"), r.day)}
}

func (r *run) checkTarget() *hold {
	switch {
	case r.observed.Unknown != "":
		return &hold{reason: chaosv1.ReasonUnknown, message: r.observed.Unknown}
	case r.observed.Missing != "":
		return &hold{reason: chaosv1.ReasonNoTarget, message: r.observed.Missing}
	case len(r.owners) == 0:
		return &hold{reason: chaosv1.ReasonNoTarget, message: "the target has no pods"}
	}
	return nil
}

// eligibleOwners returns the owners that have eligible pods, each with these pods alone. Without any, it returns the most important
// reason, followed by what could not be read. Pods for which skip returns true are left out.
func (r *run) eligibleOwners(skip func(owner *Owner, pod *Pod) bool) ([]Owner, *hold) {
	var all []Owner
	reasons := map[string][]string{}
	for i := range r.owners {
		left, held := r.eligiblePods(&r.owners[i], skip)
		if held == nil {
			all = append(all, left)
			continue
		}
		reasons[held.reason] = append(reasons[held.reason], held.message)
		if held.reason == chaosv1.ReasonRestartInProgress {
			r.waitsFor = append(r.waitsFor, left)
		}
	}
	if len(all) > 0 {
		r.waitsFor = nil
		return all, nil
	}
	unknown := reasons[chaosv1.ReasonUnknown]
	for _, reason := range []string{
		chaosv1.ReasonRestartInProgress, chaosv1.ReasonFaultInjected, chaosv1.ReasonUnstable,
		chaosv1.ReasonTooFewReady, chaosv1.ReasonUnknown, chaosv1.ReasonNoCandidate,
	} {
		messages := reasons[reason]
		if len(messages) == 0 {
			continue
		}
		r.waitsForOthers = r.waitsForOthers || reason == chaosv1.ReasonRestartInProgress
		message := events.Summarize(messages)
		if reason != chaosv1.ReasonUnknown && len(unknown) > 0 {
			message += "; " + events.Summarize(unknown)
		}
		return nil, &hold{reason: reason, message: message}
	}
	return nil, &hold{reason: chaosv1.ReasonNoTarget, message: "the target has no pods"}
}

// eligiblePods returns an owner with its eligible pods alone, or why it has none.
func (r *run) eligiblePods(owner *Owner, skip func(owner *Owner, pod *Pod) bool) (Owner, *hold) {
	left := *owner
	left.Pods = nil
	if held := r.checkOwner(owner); held != nil {
		return left, held
	}
	reason, skipped := chaosv1.ReasonNoCandidate, map[string]int{}
	for j := range owner.Pods {
		pod := &owner.Pods[j]
		if why, known := r.ineligible(owner, pod); why != "" {
			if skipped[why]++; !known {
				reason = chaosv1.ReasonUnknown
			}
		} else if skip == nil || !skip(owner, pod) {
			left.Pods = append(left.Pods, *pod)
		}
	}
	if len(left.Pods) == 0 {
		return left, &hold{reason: reason, message: "no eligible pod in " + ownerText(owner) + counted(skipped)}
	}
	return left, nil
}

// checkOwner returns why no pod of an owner may be killed.
func (r *run) checkOwner(owner *Owner) *hold {
	ready, floor := owner.ready(nil), r.minReadyPods(owner.Desired)
	switch {
	case owner.Unknown != "":
		return &hold{reason: chaosv1.ReasonUnknown, message: ownerText(owner) + ": " + owner.Unknown}
	case r.observed.Others.Disrupted[owner.UID]:
		return &hold{reason: chaosv1.ReasonRestartInProgress, message: ownerText(owner) + " is disrupted by a RebootPolicy or another ChaosPod"}
	case owner.Fault != "":
		return &hold{reason: chaosv1.ReasonFaultInjected, message: ownerText(owner) + ": " + owner.Fault}
	case r.requireStable && owner.Unstable != "":
		return &hold{reason: chaosv1.ReasonUnstable, message: ownerText(owner) + " " + owner.Unstable}
	case owner.Desired == 0:
		return &hold{reason: chaosv1.ReasonTooFewReady, message: ownerText(owner) + " is scaled to zero"}
	case ready-1 < floor:
		return &hold{reason: chaosv1.ReasonTooFewReady,
			message: fmt.Sprintf("%s has %d of %d pods ready, and %d must stay ready", ownerText(owner), ready, owner.Desired, floor)}
	}
	return nil
}

// ineligible returns why a pod may not be killed, or "" if it may. known is false if that is because a fact could not be
// read.
func (r *run) ineligible(owner *Owner, pod *Pod) (why string, known bool) {
	switch {
	case !pod.Selected:
		return "not selected by the target", true
	case !pod.Running, !pod.ready():
		return "not ready", true
	case r.minAge > 0 && pod.Created.After(r.now.Add(rules.ClockSlack)):
		return fmt.Sprintf("younger than filter.minAge (%s), since the operator's clock is behind", common.DurationOf(r.minAge)), true
	case pod.Created.IsZero(), r.now.Sub(pod.Created) < r.minAge && r.minAge > 0:
		r.requeueAfter(pod.Created, r.minAge)
		return fmt.Sprintf("younger than filter.minAge (%s)", common.DurationOf(r.minAge)), true
	case r.now.Sub(pod.ReadySince) < owner.MinReady && owner.MinReady > 0:
		r.requeueAfter(pod.ReadySince, owner.MinReady)
		return "ready for less than minReadySeconds", true
	case r.exclude != nil && r.exclude.Matches(labels.Set(pod.Labels)):
		return "excluded by filter.exclude", true
	}
	return r.forbidden(pod)
}

// forbidden returns why a pod must not be killed by what is not in the cache: whether it is protected, its node, its budgets; ""
// where it may be. known is false where one of these could not be read.
func (r *run) forbidden(pod *Pod) (why string, known bool) {
	for _, f := range []struct {
		is, forbids  Fact
		why, unknown string
	}{
		{pod.Protected, True, "protected", "not known to be unprotected"},
		{pod.Cordoned, True, "on a cordoned or draining node", "on a node that could not be read"},
		{pod.Covered, False, "without a PodDisruptionBudget", "not known to have a PodDisruptionBudget"},
	} {
		switch {
		case f.forbids == False && !r.requireBudget:
		case f.is == f.forbids:
			return f.why, true
		case f.is == Unknown && !r.observed.Cached:
			return f.unknown, false
		}
	}
	return "", true
}

// counted lists how many pods there are for each reason, as the end of a sentence.
func counted(reasons map[string]int) string {
	var parts []string
	for _, why := range slices.Sorted(maps.Keys(reasons)) {
		parts = append(parts, events.Plural(reasons[why], "pod", "pods")+" "+why)
	}
	if len(parts) == 0 {
		return ""
	}
	return ": " + strings.Join(parts, ", ")
}

func (r *run) requeueAfter(since time.Time, span time.Duration) {
	if !since.IsZero() {
		r.requeueAt(since.Add(span))
	}
}

func (pod *Pod) ready() bool { return !pod.ReadySince.IsZero() && !pod.Terminating }

// ready returns how many pods are ready, without some.
func (owner *Owner) ready(without map[types.UID]bool) int {
	n := 0
	for i := range owner.Pods {
		if pod := &owner.Pods[i]; pod.ready() && !without[pod.UID] {
			n++
		}
	}
	return n
}

// seedOf depends on the object and the run alone, so that each leader makes the same choice.
func seedOf(uid types.UID, id string) string {
	sum := sha256.Sum256([]byte(string(uid) + "/" + id))
	return hex.EncodeToString(sum[:8])
}

// pickVictims returns n pods, each of another owner. Owners and then a pod of each are ordered by a hash.
func (r *run) pickVictims(seed string, fit []Owner, n int) []chaosv1.Victim {
	owners := slices.Clone(fit)
	slices.SortFunc(owners, func(a, b Owner) int { return compareByHash(seed, a.UID, b.UID) })
	var victims []chaosv1.Victim
	for i := range owners[:min(n, len(owners))] {
		owner := &owners[i]
		pod := slices.MinFunc(owner.Pods, func(a, b Pod) int { return compareByHash(seed, a.UID, b.UID) })
		v := chaosv1.Victim{
			Name: pod.Name, UID: pod.UID, Node: text.Truncate(pod.Node, maxName), Outcome: chaosv1.VictimPending,
			Owner: &chaosv1.VictimOwner{Kind: owner.Kind, Name: owner.Name, UID: owner.UID},
		}
		v.ReadyBefore = min(int32(r.owner(&v).ready(nil)), owner.Desired)
		victims = append(victims, v)
	}
	return victims
}

func compareByHash(seed string, a, b types.UID) int {
	x, y := sha256.Sum256([]byte(seed+"/"+string(a))), sha256.Sum256([]byte(seed+"/"+string(b)))
	return bytes.Compare(x[:], y[:])
}

func ownerText(owner *Owner) string { return owner.Kind + " " + owner.Name }
