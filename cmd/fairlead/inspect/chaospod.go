// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/fairlead-dev/fairlead/api/chaos/v1"
)

// chaosPod returns what the run under way does, when the next one is due, and how the last one ended.
func (e *explainer) chaosPod(o *Object, depth int) (found []Finding) {
	pod, is := o.Source.(*v1.ChaosPod)
	if !is {
		return nil
	}
	about := func(text string) string { return text + " of ChaosPod " + o.Name }
	if pod.Status.CurrentRun != nil {
		found = append(found, currentRun(pod))
	}
	if next := pod.Status.NextRunTime; next != nil {
		said := "it is the first time that the schedule, windows and blackouts allow"
		if pod.Spec.DryRun == nil || *pod.Spec.DryRun {
			said += "; spec.dryRun is true, so that the run kills nothing"
		}
		found = append(found, Finding{About: about("next run"), Until: next, Message: said})
	}
	if len(pod.Status.History) > 0 {
		found = append(found, e.last(o, about("last run"), &pod.Status.History[0].Record))
	}
	if waiting := stateOf(pod).find(v1.ConditionWaiting); waiting != nil && waiting.Status == metav1.ConditionTrue && len(o.Needs) > 0 {
		found = append(found, Finding{About: about("target"), Because: e.because(o.Needs, depth)})
	}
	return found
}

// currentRun is the finding of the run under way.
func currentRun(pod *v1.ChaosPod) Finding {
	run := pod.Status.CurrentRun
	return Finding{About: "run " + run.ID + " of ChaosPod " + pod.Name, Status: string(run.Phase), Since: run.StartTime,
		Message: fmt.Sprintf("%d of %d candidates are chosen", len(run.Victims), run.Candidates) + requestsText(run.Probes)}
}
