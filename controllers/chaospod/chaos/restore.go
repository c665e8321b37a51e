// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"slices"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	chaosv1 "github.com/fairlead-dev/fairlead/api/chaos/v1"
)

// RestoreStatus returns a status with what it lacks of seen, which is the one that this process has stored or read last,
// and the names of these members. Another writer removed them: without them a run that was under way would begin again, a
// halt would end, and more pods would be killed than maxPerDay allows. Members that Decide computes are left out.
func RestoreStatus(stored, seen *chaosv1.ChaosPodStatus) (*chaosv1.ChaosPodStatus, []string) {
	status := stored.DeepCopy()
	var members []string
	restore := func(member string, lost bool, put func()) {
		if lost {
			put()
			members = append(members, member)
		}
	}
	restore("observedGeneration", stored.ObservedGeneration <= 0 && seen.ObservedGeneration > 0,
		func() { status.ObservedGeneration = seen.ObservedGeneration })
	restore("conditions", lacksCondition(stored, seen), func() { restoreConditions(status, seen) })
	restore("history", lacksRun(stored, seen), func() { status.History = seen.History })
	restore("currentRun", lacksCurrentRun(stored, seen), func() { status.CurrentRun = seen.CurrentRun })
	restore("blocked", len(stored.Blocked) == 0 && len(seen.Blocked) > 0, func() { status.Blocked = seen.Blocked })
	restore("killedToday", lacksDeaths(stored, seen), func() { status.KilledDay, status.KilledToday = seen.KilledDay, seen.KilledToday })
	restore("internal.verifiedTarget", stored.VerifiedTarget == "" && seen.VerifiedTarget != "", func() { status.VerifiedTarget = seen.VerifiedTarget })
	restore("handledRunNow", stored.HandledRunNow == "" && seen.HandledRunNow != "", func() { status.HandledRunNow = seen.HandledRunNow })
	restore("handledRetry", stored.HandledRetry == "" && seen.HandledRetry != "", func() { status.HandledRetry = seen.HandledRetry })
	restore("halt", stored.Halt == nil && seen.Halt != nil, func() { status.Halt = seen.Halt })
	for _, at := range []struct {
		member string
		from   *metav1.Time
		to     **metav1.Time
	}{
		{"internal.dueAfterTime", seen.DueAfterTime, &status.DueAfterTime},
		{"lastRunTime", seen.LastRunTime, &status.LastRunTime},
		{"lastSuccessfulRunTime", seen.LastSuccessfulRunTime, &status.LastSuccessfulRunTime},
	} {
		restore(at.member, *at.to == nil && at.from != nil, func() { *at.to = at.from })
	}
	return status, members
}

func lacksCondition(stored, seen *chaosv1.ChaosPodStatus) bool {
	return slices.ContainsFunc(seen.Conditions, func(c metav1.Condition) bool {
		return meta.FindStatusCondition(stored.Conditions, c.Type) == nil
	})
}

// restoreConditions adds the conditions that are missing. The condition Survived has the result of a run that may not be
// in runs any more.
func restoreConditions(status, seen *chaosv1.ChaosPodStatus) {
	for _, c := range seen.Conditions {
		if meta.FindStatusCondition(status.Conditions, c.Type) == nil {
			status.Conditions = append(status.Conditions, c)
		}
	}
}

func lacksRun(stored, seen *chaosv1.ChaosPodStatus) bool {
	return slices.ContainsFunc(seen.History, func(run chaosv1.Run) bool { return !hasRun(stored, run.ID) })
}

func hasRun(status *chaosv1.ChaosPodStatus, id string) bool {
	return slices.ContainsFunc(status.History, func(run chaosv1.Run) bool { return run.ID == id })
}

// lacksCurrentRun reports whether the run under way was removed or changed: a run without its victims chooses others, and
// one without dryRun kills them.
func lacksCurrentRun(stored, seen *chaosv1.ChaosPodStatus) bool {
	return seen.CurrentRun != nil && !hasRun(stored, seen.CurrentRun.ID) && !apiequality.Semantic.DeepEqual(stored.CurrentRun, seen.CurrentRun)
}

// lacksDeaths reports whether fewer pods were killed on the day than it was known.
func lacksDeaths(stored, seen *chaosv1.ChaosPodStatus) bool {
	return seen.KilledToday > 0 && (stored.KilledDay == "" || stored.KilledDay == seen.KilledDay && stored.KilledToday < seen.KilledToday)
}
