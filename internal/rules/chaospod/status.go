// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package chaospod

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	chaosv1 "github.com/fairlead-dev/fairlead/api/chaos/v1"
	"github.com/fairlead-dev/fairlead/api/common"
)

// ClockSlack is how far a time of a status may be in the future: the clocks of two leaders differ by less. A later
// one was written before the clock was set back.
const ClockSlack = time.Minute

// Digest returns the digest of a part of a spec by which a status names it.
func Digest(part any) string {
	data, err := json.Marshal(part)
	if err != nil {
		return "unknown" // a part that was read from JSON always becomes some
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:8])
}

// IsVerified reports whether a status has the verdict of a run.
func IsVerified(st *chaosv1.ChaosPodStatus) bool {
	c := meta.FindStatusCondition(st.Conditions, chaosv1.ConditionSurvived)
	return c != nil && c.Status != metav1.ConditionUnknown
}

// Unproven returns why the status of a ChaosPod does not show that its target survives the loss of a pod, as a message;
// empty if it does. The last run that was verified counts, if it started within that time: a dry run, and one without
// victims, prove nothing.
func Unproven(p *chaosv1.ChaosPod, within time.Duration, now time.Time) string {
	st, name := &p.Status, "ChaosPod "+p.Name
	if IsVerified(st) && (st.VerifiedTarget != Digest(p.Spec.Target) && st.VerifiedTarget != "" ||
		st.VerifiedTarget == "" && st.ObservedGeneration != p.Generation) {
		return name + " has had no run that was verified since its spec.target was changed"
	}
	verdict := meta.FindStatusCondition(st.Conditions, chaosv1.ConditionSurvived)
	why := ""
	switch last := st.LastSuccessfulRunTime; {
	case verdict != nil && verdict.Status == metav1.ConditionFalse:
		return "the last run of " + name + " was not survived"
	case verdict == nil || verdict.Status != metav1.ConditionTrue:
		why = name + " has had no run that was verified"
		if slices.ContainsFunc(st.History, func(run chaosv1.Run) bool { return run.Result == chaosv1.ResultDryRun }) {
			why = name + " has had dry runs alone, which prove nothing"
		}
	case last.IsZero():
		why = "it is not known when " + name + " was last survived"
	case last.After(now.Add(ClockSlack)):
		why = fmt.Sprintf("the last run of %s that was survived began at %s, which is in the future", name, last.UTC().Format(time.RFC3339))
	case now.Sub(last.Time) > within:
		why = fmt.Sprintf("the last run of %s that was survived began at %s, more than %s ago", name, last.UTC().Format(time.RFC3339), common.DurationOf(within))
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

// DisruptedOwners returns the owners that a status disrupts, each once; a dry run disrupts none. An owner whose budget
// kept a pod alive is among them while another of its pods may replace that one.
func DisruptedOwners(status *chaosv1.ChaosPodStatus) []chaosv1.VictimOwner {
	c := status.CurrentRun
	if c == nil || c.DryRun {
		return nil
	}
	var owners []chaosv1.VictimOwner
	for i := range c.Victims {
		v := &c.Victims[i]
		replaced := v.Outcome == chaosv1.VictimSkippedDisruptionBudget && c.Phase != chaosv1.RunVerifying
		disrupts := v.Outcome == chaosv1.VictimPending || IsDead(v.Outcome) || replaced
		if v.Owner != nil && disrupts && !slices.Contains(owners, *v.Owner) {
			owners = append(owners, *v.Owner)
		}
	}
	return owners
}

// IsDead reports whether a victim with that outcome was killed.
func IsDead(o chaosv1.VictimOutcome) bool {
	return o == chaosv1.VictimEvicted || o == chaosv1.VictimDeleted || o == chaosv1.VictimGone
}
