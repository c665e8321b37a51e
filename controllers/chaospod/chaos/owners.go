// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"regexp"
	"strings"

	chaosv1 "github.com/fairlead-dev/fairlead/api/chaos/v1"
)

// The sentences of a record that name an owner: victimsText writes the first, and checkReady the second.
var (
	deadText = regexp.MustCompile(`^pod \S+ of (\S+) (\S+) \((?:` +
		string(chaosv1.VictimEvicted+"|"+chaosv1.VictimDeleted+"|"+chaosv1.VictimGone) + `)[:)]`)
	shortText = regexp.MustCompile(`^(\S+) (\S+) (?:has \d+ of \d+ pods ready|did not keep its pods ready)`)
)

// OwnersIn returns the owners that the message of a run which was verified names, without their UIDs: those of the pods that
// died where they were back, and those that were not back in time otherwise. A message names three at most.
func OwnersIn(run *chaosv1.Run) (owners []chaosv1.VictimOwner) {
	form := shortText
	switch run.Result {
	case chaosv1.ResultSurvived, chaosv1.ResultProbesFailed:
		form = deadText
	case chaosv1.ResultRecoveryFailed:
	default:
		return nil
	}
	for sentence := range strings.SplitSeq(run.Message, "; ") {
		if found := form.FindStringSubmatch(strings.TrimPrefix(sentence, diedPrefix)); found != nil {
			owners = append(owners, chaosv1.VictimOwner{Kind: found[1], Name: found[2]})
		}
	}
	return owners
}

// diedPrefix is before the victims in the message of a run whose owners were back.
const diedPrefix = "died: "
