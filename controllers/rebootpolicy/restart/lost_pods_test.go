// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package restart

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/controllers/internal/workloads"
)

func TestARestartDoesWithoutNoMorePodsThanAreLostAndDesired(t *testing.T) {
	began := metav1.NewTime(time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC))
	live := Pod{Ready: true, Created: began.Add(time.Minute)}
	lost := Pod{Lost: "which is not ready", Node: "n", Created: began.Add(-time.Hour)}
	ending := Pod{Lost: "which is not ready", Node: "n", Created: began.Add(-time.Hour), Terminating: true}
	for name, c := range map[string]struct {
		pods                         []Pod
		desired, available, outdated int32
		replaced                     bool
	}{
		"the old pod of a dead node":                       {[]Pod{live, live, lost}, 3, 2, 1, true},
		"one that cannot end":                              {[]Pod{live, live, ending}, 3, 2, 1, true},
		"a node that a DaemonSet does not count":           {[]Pod{live, live, ending}, 2, 1, 1, false},
		"another pod is old as well":                       {[]Pod{live, live, lost}, 3, 2, 2, false},
		"another pod is not available":                     {[]Pod{live, live, lost}, 3, 1, 1, false},
		"a new pod of a dead node, and another one is old": {[]Pod{live, live, {Lost: "which is not ready", Created: began.Add(time.Minute)}}, 3, 2, 1, false},
		"most pods": {[]Pod{live, lost, lost}, 3, 1, 2, false},
		"every pod": {[]Pod{lost}, 1, 0, 1, false},
		"none":      {[]Pod{live, live, live}, 3, 3, 0, false},
		"a workload whose controller says nothing": {[]Pod{live, live, lost}, 3, 2, -1, false},
	} {
		w := &Workload{Pods: c.pods, Workload: workloads.Workload{Desired: c.desired, AvailablePods: c.available}}
		if c.outdated >= 0 {
			w.Outdated = ptr.To(c.outdated)
		}
		if got := w.isReplacedButLost(&autorebootv1.InFlightRestart{StartTime: &began}); got != c.replaced {
			t.Errorf("%s: %t", name, got)
		}
	}
}

func TestOnlyARolloutThatIsSoundOtherwiseWaitsForLostPods(t *testing.T) {
	lost := Pod{Lost: "which is not ready"}
	for name, c := range map[string]struct {
		pods []Pod
		want bool
	}{
		"a lost pod": {[]Pod{{Ready: true}, lost}, true}, "none": {[]Pod{{Ready: true}}, false}, "a broken one too": {[]Pod{{}, lost}, false},
	} {
		if got := (&Workload{Pods: c.pods}).waitsForLost(); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
