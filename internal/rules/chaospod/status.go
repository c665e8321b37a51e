// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package chaospod

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	chaosv1 "github.com/fairlead-dev/fairlead/api/chaos/v1"
)

// ClockSlack is how far a time in a status may be in the future, since the clocks of two leaders differ. A later time
// was written before the clock was set back.
const ClockSlack = time.Minute

// Digest returns a digest of a part of a spec, as a status has it.
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

// DisruptedOwners returns the owners that the run in a status disrupts, each once; a dry run disrupts none. An owner
// whose budget protected a pod is included while another of its pods may be chosen instead.
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

// IsDead reports whether a victim with an outcome was killed.
func IsDead(o chaosv1.VictimOutcome) bool {
	return o == chaosv1.VictimEvicted || o == chaosv1.VictimDeleted || o == chaosv1.VictimGone
}
