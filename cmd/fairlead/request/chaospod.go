// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package request

import (
	"fmt"
	"slices"

	v1 "github.com/fairlead-dev/fairlead/api/chaos/v1"
	"github.com/fairlead-dev/fairlead/api/common"
)

func announceRun(pod *v1.ChaosPod, _ common.Token) (string, error) {
	if len(pod.Status.Conditions) == 0 {
		return "", errUnobserved
	}
	what := "starts one run, which kills pods"
	if pod.Spec.DryRun == nil || *pod.Spec.DryRun {
		what = "starts one run, which kills nothing, since spec.dryRun is true"
	}
	return what + "; windows, blackouts, safety, halt and suspend still apply", nil
}

// ran is done when the run that was begun for the token has ended.
func ran(was, pod *v1.ChaosPod, token common.Token) Verdict {
	s := &pod.Status
	if s.HandledRunNow != token {
		if halt, _ := haltOf(pod); halt != "" {
			return Verdict{true, true, fmt.Sprintf("the ChaosPod has halted (%s)", halt)}
		}
		return Verdict{Text: "the run has not begun" + waiting(s.Conditions)}
	}
	if s.CurrentRun != nil {
		return Verdict{Text: fmt.Sprintf("run %s is %s", s.CurrentRun.ID, s.CurrentRun.Phase)}
	}
	for i := range s.History {
		r := &s.History[i]
		if slices.ContainsFunc(was.Status.History, func(old v1.Run) bool { return old.ID == r.ID }) {
			continue
		}
		return Verdict{
			Done: true, Failed: r.Result != v1.ResultSurvived && r.Result != v1.ResultDryRun,
			Text: fmt.Sprintf("run %s has ended: %s", r.ID, recordText(&r.Record)),
		}
	}
	return Verdict{Text: "the run has begun"}
}
