// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	"cmp"
	"context"
	"fmt"
	"hash/fnv"
	"time"

	"k8s.io/apimachinery/pkg/types"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/controllers/internal/controller"
	"github.com/fairlead-dev/fairlead/controllers/rebootpolicy/restart"
	"github.com/fairlead-dev/fairlead/internal/events"
)

const (
	// maxSignals is how many sources a workload may have, and maxBaselines all workloads of a policy. Each has
	// a baseline in the status, which must fit into the annotation that preserves it for writers at v1alpha1.
	maxSignals   = 64
	maxBaselines = 1000
	// maxFingerprint is the length of a fingerprint in the status.
	maxFingerprint = 128
)

// signals adds what each trigger sees to each workload.
func (r *Reconciler) signals(ctx context.Context, o *observation) {
	if o.blockedBy != "" {
		r.Probes.Forget(o.key)
		for _, w := range o.workloads {
			w.Signals = o.heldSignals(w)
		}
		return
	}
	o.restartNowSignals()
	r.probeSignals(ctx, o)
	for i := range o.policy.Spec.Triggers {
		t := &o.policy.Spec.Triggers[i]
		switch {
		case t.Schedule != nil:
			o.scheduleSignals(t)
		case t.PodAge != nil:
			o.podAgeSignals(t)
		case t.EndpointsChange != nil:
			r.endpointSignals(ctx, o, t)
		}
	}
	r.sourceSignals(ctx, o)
	r.deferNew(ctx, o)
	o.limitSignals()
	r.orderByVersion(ctx, o)
}

// heldSignals returns signals that keep the baselines of a workload, and do not fire.
func (o *observation) heldSignals(w *workload) []restart.Signal {
	var held []restart.Signal
	for _, b := range o.targetStatus(w).Baselines {
		held = append(held, restart.Signal{Trigger: b.Trigger, Source: b.Source, Unknown: o.blockedBy})
	}
	return held
}

// limitSignals leaves out what the status has no room for: the last sources of a workload, which come last
// among its signals, and the last workloads as a whole.
func (o *observation) limitSignals() {
	total := 0
	for _, w := range o.unread {
		total += len(o.targetStatus(w).Baselines)
	}
	for i, w := range o.workloads {
		levels := 0
		for j := range w.Signals {
			if s := &w.Signals[j]; s.Level && s.Source == "" {
				levels++
			}
		}
		if excess := len(w.Signals) - levels - maxSignals; excess > 0 {
			var left []string
			for _, signal := range w.Signals[len(w.Signals)-excess:] {
				left = append(left, signal.Source)
			}
			w.Signals = w.Signals[:len(w.Signals)-excess]
			o.addProblem(autorebootv1.ReasonTooManyTargets, fmt.Sprintf(
				"%s %s has more than %d sources, restart-now and other triggers included: not watched: %s; list those that count, with discovery Explicit",
				w.Kind, w.Name, maxSignals, events.Summarize(left)))
		}
		total += len(w.Signals) - levels
		if total > maxBaselines {
			var left []string
			for _, rest := range o.workloads[i:] {
				left = append(left, string(rest.Kind)+" "+rest.Name)
				rest.Signals, rest.Unselected, o.unselected[rest.UID] = nil, true, true
			}
			o.addProblem(autorebootv1.ReasonTooManyTargets, fmt.Sprintf(
				"the workloads have more than %d sources together, each counted for each workload, restart-now included: left alone: %s; spread them over several policies",
				maxBaselines, events.Summarize(left)))
			return
		}
	}
}

// restartNowSignals adds the annotation by which a user requests a restart.
func (o *observation) restartNowSignals() {
	token := shortFingerprint(o.policy.Annotations[autorebootv1.RestartNowAnnotation])
	for _, w := range o.workloads {
		w.Signals = append(w.Signals, restart.Signal{Trigger: autorebootv1.RestartNowTrigger, Fingerprint: token})
	}
}

// shortFingerprint returns a text that is no secret, or its hash if it is too long.
func shortFingerprint(text string) string {
	if len(text) <= maxFingerprint {
		return text
	}
	return fingerprintOf(text)
}

// scheduleSignals adds the latest time of a schedule as a fingerprint. The schedule is part of the source, so that
// another one starts with a baseline of its own, and none of its times counts as missed.
func (o *observation) scheduleSignals(t *autorebootv1.Trigger) {
	signal := restart.Signal{Trigger: t.Name, Source: string(t.Schedule.Cron) + " " + string(cmp.Or(t.Schedule.TimeZone, "UTC"))}
	if parsed := o.state.calendar.schedules[t.Name]; parsed == nil {
		signal.Unknown = autorebootv1.ReasonInvalidSpec
	} else {
		if fired := parsed.Latest(o.policy.CreationTimestamp.Time, o.now); !fired.IsZero() {
			signal.Fingerprint = parsed.Key(fired)
			if late := t.Schedule.StartingDeadline.Or(0); late > 0 {
				signal.Deadline = fired.Add(late)
			}
		}
		signal.RequeueAt = parsed.Next(o.now)
		o.requeueAt(signal.RequeueAt)
	}
	for _, w := range o.workloads {
		w.Signals = append(w.Signals, o.afterClockChange(signal, w))
	}
}

// maxSetBack is how far a clock may be set back so that the runs which then come again are those that were done.
const maxSetBack = 24 * time.Hour

// afterClockChange returns the signal of a schedule for a workload that was restarted for a later run already, since the clock was
// ahead: what comes again is not done again. A run that is later by far was never due, and does not hold up those that are.
func (o *observation) afterClockChange(signal restart.Signal, w *workload) restart.Signal {
	done, _ := o.baseline(w, signal.Trigger, signal.Source)
	parsed := o.state.calendar.schedules[signal.Trigger]
	switch {
	case parsed == nil || done <= signal.Fingerprint:
	case done <= parsed.Key(o.now.Add(maxSetBack)):
		signal.Fingerprint, signal.Deadline = done, time.Time{}
	default:
		signal.Incomparable = true
	}
	return signal
}

// podAgeSignals adds signals that fire once the oldest pod of a workload is old enough.
func (o *observation) podAgeSignals(t *autorebootv1.Trigger) {
	limit := t.PodAge.Max.Or(0)
	for _, w := range o.workloads {
		signal := restart.Signal{Trigger: t.Name, Level: true}
		var oldest time.Time
		for i := range w.Pods {
			if p := &w.Pods[i]; o.state.counts(p) {
				oldest = controller.Earliest(oldest, p.Created)
			}
		}
		if !oldest.IsZero() && limit > 0 {
			due := oldest.Add(withJitter(limit, w.UID))
			if signal.Firing = !due.After(o.now); !signal.Firing {
				signal.RequeueAt = due
				o.requeueAt(due)
			}
		}
		w.Signals = append(w.Signals, signal)
	}
}

// withJitter shortens a span by up to a tenth. The share depends on the workload's UID alone, so that workloads that
// started together are not restarted together.
func withJitter(span time.Duration, uid types.UID) time.Duration {
	h := fnv.New32a()
	_, _ = h.Write([]byte(uid)) // a hash never fails
	share := float64(h.Sum32()) / (1 << 32)
	return span - time.Duration(float64(span)/10*share)
}
