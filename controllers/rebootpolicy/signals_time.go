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

// fromSchedule names the latest run. The schedule itself is the source: another one starts with a
// baseline of its own, and no run of it counts as missed.
func (s *survey) fromSchedule(t *autorebootv1.Trigger) {
	signal := restart.Signal{Trigger: t.Name, Source: sourceOf(t.Schedule)}
	if parsed := s.memory.times.schedules[t.Name]; parsed == nil {
		signal.Unknown = autorebootv1.ReasonInvalidSpec
	} else {
		if fired := parsed.Latest(s.policy.CreationTimestamp.Time, s.now); !fired.IsZero() {
			signal.Fingerprint = parsed.Key(fired)
			if late := spanOf(t.Schedule.StartingDeadline); late > 0 {
				signal.Deadline = fired.Add(late)
			}
		}
		signal.Again = parsed.Next(s.now)
		s.look(signal.Again)
	}
	for _, w := range s.workloads {
		w.Signals = append(w.Signals, signal)
	}
}

func sourceOf(t *autorebootv1.ScheduleTrigger) string {
	if zone := zoneOf(t); zone != "" {
		return t.Cron + " " + zone
	}
	return t.Cron + " UTC"
}

// fromPodAge fires for a workload once its oldest pod is old enough.
func (s *survey) fromPodAge(t *autorebootv1.Trigger) {
	limit := spanOf(t.PodAge.Max)
	percent := int(ptr.Deref(t.PodAge.JitterPercent, rules.DefaultJitterPercent))
	for _, w := range s.workloads {
		signal := restart.Signal{Trigger: t.Name, Level: true}
		var oldest time.Time
		for i := range w.Pods {
			if p := &w.Pods[i]; !p.Terminating {
				oldest = controller.Earliest(oldest, p.Created)
			}
		}
		if !oldest.IsZero() && limit > 0 {
			due := oldest.Add(earlier(limit, percent, w.UID))
			if signal.Firing = !due.After(s.now); !signal.Firing {
				signal.Again = due
				s.look(due)
			}
		}
		w.Signals = append(w.Signals, signal)
	}
}

// earlier takes a share of a span away that is a workload's own and never changes: workloads that
// started together do not come of age together.
func earlier(span time.Duration, percent int, uid types.UID) time.Duration {
	h := fnv.New32a()
	_, _ = h.Write([]byte(uid)) // a hash never fails
	share := float64(h.Sum32()) / (1 << 32)
	return span - time.Duration(float64(span)*float64(percent)/100*share)
}

// spanOf reads a span that may be absent.
func spanOf(d common.Duration) time.Duration {
	if d == "" {
		return 0
	}
	return (&d).Or(0)
}
