// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	chaosv1 "github.com/fairlead-dev/fairlead/api/chaos/v1"
	"github.com/fairlead-dev/fairlead/api/common"
	"github.com/fairlead-dev/fairlead/internal/events"
	rules "github.com/fairlead-dev/fairlead/internal/rules/chaospod"
)

// recovery is how far the owners of the victims have recovered, in words.
type recovery struct {
	// gone are deleted or scaled down, short have too few pods ready, and unread cannot be read.
	gone, short, unread []string
	// back is when the last pod became ready again after readyTime; zero for none.
	back time.Time
	// soak is how long they must stay ready.
	soak time.Duration
}

// checkRecovery looks at the owners of the victims that died.
func (r *run) checkRecovery(ends time.Time) recovery {
	c := r.status.CurrentRun
	dead := map[types.UID]bool{}
	for i := range c.Victims {
		dead[c.Victims[i].UID] = rules.IsDead(c.Victims[i].Outcome)
	}
	found := recovery{soak: r.soak}
	for i := range c.Victims {
		v := &c.Victims[i]
		if !rules.IsDead(v.Outcome) {
			continue
		}
		owner := r.owner(v)
		name := v.Owner.Kind + " " + v.Owner.Name
		switch {
		case r.isUnknown(owner):
			found.unread = append(found.unread, name+" cannot be read")
		case owner == nil || owner.Desired == 0:
			found.gone = append(found.gone, name+" was deleted or scaled to zero")
		case owner.Desired < v.ReadyBefore && c.ReadyTime == nil: // fewer pods are no proof that a lost one is replaced
			found.gone = append(found.gone, fmt.Sprintf("%s was scaled from %d to %d", name, v.ReadyBefore, owner.Desired))
		default:
			r.checkReady(&found, owner, int(min(v.ReadyBefore, owner.Desired)), dead, ends)
		}
	}
	return found
}

// checkReady looks at the pods of one owner.
func (r *run) checkReady(found *recovery, owner *Owner, wanted int, dead map[types.UID]bool, ends time.Time) {
	ready, relapse := owner.ready(dead), r.readyAgainSince(owner, wanted, dead)
	available, ahead := r.available(owner, dead)
	if ahead {
		found.soak = max(found.soak, owner.MinReady)
	}
	switch name := ownerText(owner); {
	case ready < wanted:
		found.short = append(found.short, fmt.Sprintf("%s has %d of %d pods ready", name, ready, wanted))
	case available < wanted:
		found.short = append(found.short,
			fmt.Sprintf("%s has %d of %d pods ready for %s", name, available, wanted, common.DurationOf(owner.MinReady)))
	case relapse.After(ends):
		found.short = append(found.short, name+" did not keep its pods ready")
	case relapse.After(found.back):
		found.back = relapse
	}
}

// nextVerifyEvent returns the event of a run that is verified, if any. Recovery comes before a timeout: the owners may
// have recovered in time while there was no reconcile. Owners that cannot be read have neither failed nor recovered: the
// run waits for them.
func (r *run) nextVerifyEvent() (occurrence, bool) {
	c := r.status.CurrentRun
	ends, kept := r.recoveryEnds()
	found := r.checkRecovery(ends)
	switch {
	case len(found.short)+len(found.unread) > 0: // what was not seen to stay ready soaks again
		c.ReadyTime = nil
	case c.ReadyTime == nil:
		c.ReadyTime = r.timestampPtr()
	case !found.back.IsZero():
		c.ReadyTime = ptr.To(stampOf(found.back))
	}
	wait := func(until time.Time) (occurrence, bool) {
		r.requeueAt(until)
		return occurrence{}, false
	}
	r.unread = found.unread
	switch {
	case len(found.short) > 0 && r.now.Before(ends):
		return wait(ends)
	case len(found.short) > 0 && kept != "": // the owner may not replace it yet
		return occurrence{event: TargetGone, reason: chaosv1.ReasonTargetGone, message: "before it recovered, " + kept}, true
	case len(found.short) > 0 && !r.haltOnFailure:
		return occurrence{event: TimedOutTolerated, reason: chaosv1.ReasonRecoveryFailed, message: events.Summarize(found.short)}, true
	case len(found.short) > 0:
		return occurrence{event: TimedOut, reason: chaosv1.ReasonRecoveryFailed, message: events.Summarize(found.short)}, true
	case len(found.unread) > 0:
		return wait(r.now.Add(heldInterval))
	case len(found.gone) > 0:
		message := "before it recovered, " + events.Summarize(found.gone)
		return occurrence{event: TargetGone, reason: chaosv1.ReasonTargetGone, message: message}, true
	}
	if o, ok := r.nextProbeEvent(); ok {
		return o, true
	}
	if soaked := c.ReadyTime.Add(found.soak); r.now.Before(soaked) {
		return wait(soaked)
	}
	if o, failed, waits := r.awaitsRequests(); failed || waits {
		return o, failed
	}
	return occurrence{event: Recovered, reason: chaosv1.ReasonRecovered, message: diedPrefix + r.victimsText()}, true
}

// recoveryEnds returns until when the owners must have recovered, and what is left of a victim that a finalizer keeps, as a message. A
// victim may take its own grace period, and its successor, which may be made only then, has the timeout from its creation.
func (r *run) recoveryEnds() (ends time.Time, kept string) {
	c := r.status.CurrentRun
	ends = c.KilledTime.Add(r.timeout)
	from := ends
	for i := range c.Victims {
		v := &c.Victims[i]
		owner := r.owner(v)
		if !rules.IsDead(v.Outcome) || owner == nil {
			continue
		}
		for j := range owner.Pods {
			switch pod := &owner.Pods[j]; {
			case pod.UID == v.UID && pod.Terminating && pod.Ends.Add(r.timeout).After(ends):
				ends = pod.Ends.Add(r.timeout)
			case !pod.Terminating && !pod.ready() && pod.Created.After(from) && !pod.Created.After(r.now) && pod.Created.Add(r.timeout).After(ends):
				ends = pod.Created.Add(r.timeout)
			}
			if pod := &owner.Pods[j]; pod.UID == v.UID && pod.Finalizer != "" {
				kept = "pod " + pod.Name + " is being deleted, and exists until its finalizer " + pod.Finalizer + " is removed"
			}
		}
	}
	return ends, kept
}

// available returns how many pods have been ready for minReadySeconds, without some. One that is ready since a time in the
// future counts, and ahead is true: the clock is behind, so that its age is not known.
func (r *run) available(owner *Owner, without map[types.UID]bool) (n int, ahead bool) {
	for i := range owner.Pods {
		pod := &owner.Pods[i]
		if !pod.ready() || without[pod.UID] {
			continue
		}
		if age := r.now.Sub(pod.ReadySince); age >= 0 && age < owner.MinReady {
			r.requeueAfter(pod.ReadySince, owner.MinReady)
			continue
		} else if age < 0 && owner.MinReady > 0 {
			ahead = true
		}
		n++
	}
	return n, ahead
}

// readyAgainSince returns when the last pod became ready again that was not ready after readyTime, and that its owner
// needs; zero for none. It shows what happened while there was no reconcile. Pods that were created since have replaced
// others, as in a rollout.
func (r *run) readyAgainSince(owner *Owner, wanted int, without map[types.UID]bool) time.Time {
	var last time.Time
	since := r.status.CurrentRun.ReadyTime
	if since == nil {
		return last
	}
	for i := range owner.Pods {
		pod := &owner.Pods[i]
		switch {
		case !pod.ready() || without[pod.UID]:
		case !pod.ReadySince.After(since.Time), pod.ReadySince.After(r.now), pod.Created.After(since.Time):
			wanted--
		case pod.ReadySince.After(last):
			last = pod.ReadySince
		}
	}
	if wanted <= 0 {
		return time.Time{}
	}
	return last
}
