// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	"cmp"
	"hash/fnv"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/api/common"
	"github.com/fairlead-dev/fairlead/controllers/internal/controller"
	"github.com/fairlead-dev/fairlead/controllers/rebootpolicy/restart"
	"github.com/fairlead-dev/fairlead/internal/cron"
	"github.com/fairlead-dev/fairlead/internal/freeze"
)

// calendarSpec is what a spec has about time, parsed once for each generation.
type calendarSpec struct {
	generation int64
	calendar   *cron.Calendar
	broken     bool
	// schedules of the Schedule triggers, by name. One that cannot be parsed is nil.
	schedules map[string]*cron.Schedule
}

func parseCalendar(policy *autorebootv1.RebootPolicy) *calendarSpec {
	t := &calendarSpec{generation: policy.Generation, schedules: map[string]*cron.Schedule{}}
	var err error
	if len(policy.Spec.Windows)+len(policy.Spec.Blackouts) > 0 {
		t.calendar, err = cron.NewCalendar(policy.Spec.Windows, policy.Spec.Blackouts)
		t.broken = err != nil
	}
	for i := range policy.Spec.Triggers {
		trigger := &policy.Spec.Triggers[i]
		if trigger.Schedule == nil {
			continue
		}
		parsed, err := cron.Parse(trigger.Schedule.Cron, ptr.Deref(trigger.Schedule.TimeZone, ""))
		if err != nil {
			parsed = nil
		}
		t.schedules[trigger.Name] = parsed
	}
	return t
}

// at returns what windows and blackouts say, those of the cluster included, and until when.
func (s *calendarSpec) at(now time.Time, cluster freeze.State) (c restart.Calendar, until time.Time) {
	message := cluster.Message(now)
	if cluster.Unknown != "" || s.broken {
		return restart.Calendar{Broken: true, Cluster: message}, cluster.Blackouts.At(now).Until
	}
	calendar := s.calendar.And(cluster.Blackouts)
	moment := calendar.At(now)
	c = restart.Calendar{
		Window: moment.Window, Blackout: moment.Blackout, Cluster: message,
		NextOpen: calendar.NextOpen(now), BlackoutEnds: calendar.NextOutsideBlackout(now),
	}
	return c, moment.Until
}

// scheduleSignals adds the latest time of a schedule as a fingerprint. The schedule is part of the source, so that
// another one starts with a baseline of its own, and none of its times counts as missed.
func (o *observation) scheduleSignals(t *autorebootv1.Trigger) {
	signal := restart.Signal{Trigger: t.Name, Source: t.Schedule.Cron + " " + cmp.Or(ptr.Deref(t.Schedule.TimeZone, ""), "UTC")}
	if parsed := o.state.calendar.schedules[t.Name]; parsed == nil {
		signal.Unknown = autorebootv1.ReasonInvalidSpec
	} else {
		if fired := parsed.Latest(o.policy.CreationTimestamp.Time, o.now); !fired.IsZero() {
			signal.Fingerprint = parsed.Key(fired)
			if late := durationOf(t.Schedule.StartingDeadline); late > 0 {
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
	limit := durationOf(t.PodAge.Max)
	percent := int(*t.PodAge.JitterPercent)
	for _, w := range o.workloads {
		signal := restart.Signal{Trigger: t.Name, Level: true}
		var oldest time.Time
		for i := range w.Pods {
			if p := &w.Pods[i]; o.state.counts(p) {
				oldest = controller.Earliest(oldest, p.Created)
			}
		}
		if !oldest.IsZero() && limit > 0 {
			due := oldest.Add(withJitter(limit, percent, w.UID))
			if signal.Firing = !due.After(o.now); !signal.Firing {
				signal.RequeueAt = due
				o.requeueAt(due)
			}
		}
		w.Signals = append(w.Signals, signal)
	}
}

// withJitter shortens a span by a share that depends on the workload's UID alone, so that workloads that
// started together are not restarted together.
func withJitter(span time.Duration, percent int, uid types.UID) time.Duration {
	h := fnv.New32a()
	_, _ = h.Write([]byte(uid)) // a hash never fails
	share := float64(h.Sum32()) / (1 << 32)
	return span - time.Duration(float64(span)*float64(percent)/100*share)
}

// durationOf returns a duration, 0 where it is absent.
func durationOf(d common.Duration) time.Duration {
	if d == "" {
		return 0
	}
	return (&d).Or(0)
}
