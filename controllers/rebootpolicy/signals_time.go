// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	"hash/fnv"
	"time"

	"github.com/fairlead-dev/fairlead/controllers/internal/controller"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/api/common"
	"github.com/fairlead-dev/fairlead/controllers/rebootpolicy/restart"
	rules "github.com/fairlead-dev/fairlead/internal/rules/rebootpolicy"
)

// scheduleSignals names the latest run. The schedule itself is the source: another one starts with a
// baseline of its own, and no run of it counts as missed.
func (o *observation) scheduleSignals(t *autorebootv1.Trigger) {
	signal := restart.Signal{Trigger: t.Name, Source: scheduleSource(t.Schedule)}
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
		w.Signals = append(w.Signals, signal)
	}
}

func scheduleSource(t *autorebootv1.ScheduleTrigger) string {
	if zone := timeZoneOf(t); zone != "" {
		return t.Cron + " " + zone
	}
	return t.Cron + " UTC"
}

// podAgeSignals fires for a workload once its oldest pod is old enough.
func (o *observation) podAgeSignals(t *autorebootv1.Trigger) {
	limit := durationOf(t.PodAge.Max)
	percent := int(ptr.Deref(t.PodAge.JitterPercent, rules.DefaultJitterPercent))
	for _, w := range o.workloads {
		signal := restart.Signal{Trigger: t.Name, Level: true}
		var oldest time.Time
		for i := range w.Pods {
			if p := &w.Pods[i]; !p.Terminating {
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

// withJitter takes a share of a span away that is a workload's own and never changes: workloads that
// started together do not come of age together.
func withJitter(span time.Duration, percent int, uid types.UID) time.Duration {
	h := fnv.New32a()
	_, _ = h.Write([]byte(uid)) // a hash never fails
	share := float64(h.Sum32()) / (1 << 32)
	return span - time.Duration(float64(span)*float64(percent)/100*share)
}

// durationOf reads a span that may be absent.
func durationOf(d common.Duration) time.Duration {
	if d == "" {
		return 0
	}
	return (&d).Or(0)
}
