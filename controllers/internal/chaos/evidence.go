// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	chaosv1 "github.com/fairlead-dev/fairlead/api/chaos/v1"
)

// Unproven is why the status of a ChaosPod does not show that its target survives the end of a pod, in the
// words of a message; empty where it does. The last run that was verified counts, if it began within that
// span: a dry run, and one that found no victim, prove nothing.
func Unproven(p *chaosv1.ChaosPod, within time.Duration, now time.Time) string {
	st, name := &p.Status, "ChaosPod "+p.Name
	verdict := meta.FindStatusCondition(st.Conditions, chaosv1.ConditionSurvived)
	why := ""
	switch last := st.LastSuccessfulRunTime; {
	case verdict != nil && verdict.Status == metav1.ConditionFalse:
		return "the last run of " + name + " was not survived"
	case verdict == nil || verdict.Status != metav1.ConditionTrue:
		why = name + " has had no run that was verified"
		if slices.ContainsFunc(st.Runs, func(run chaosv1.Run) bool { return run.Outcome == chaosv1.RunDryRun }) {
			why = name + " has had dry runs alone, which prove nothing"
		}
	case last.IsZero():
		why = "it is not known when " + name + " was last survived"
	case last.After(now.Add(clockSlack)):
		why = fmt.Sprintf("the last run of %s that was survived began at %s, which is to come", name, last.UTC().Format(time.RFC3339))
	case now.Sub(last.Time) > within:
		why = fmt.Sprintf("the last run of %s that was survived began at %s, more than %s ago", name, last.UTC().Format(time.RFC3339), within)
	default:
		return ""
	}
	switch {
	case ptr.Deref(p.Spec.Suspend, false):
		why += ", and it is suspended"
	case st.Halt != nil:
		why += ", and it has halted"
	case ptr.Deref(p.Spec.DryRun, true):
		why += ", and dryRun is true"
	}
	return why
}
