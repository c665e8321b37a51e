// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package chaospod

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	chaosv1 "github.com/fairlead-dev/fairlead/api/chaos/v1"
	"github.com/fairlead-dev/fairlead/api/common"

	"github.com/fairlead-dev/fairlead/internal/rules/rulestest"
)

func TestWarningsNameWhatIsLikelyAMistake(t *testing.T) {
	good := rulestest.Objects(t, "testdata/good.yaml")
	window := func(cron, duration string) []any {
		return []any{map[string]any{"name": "w", "cron": cron, "duration": duration}}
	}
	nightly, always, byDay := window("0 2 * * *", "1h"), window("0 0 * * *", "24h"), map[string]any{"cron": "0 12 * * *"}
	for _, c := range []struct {
		name     string
		obj, old map[string]any
		want     []string // a part of each
	}{
		{"nothing", good[workload], nil, nil},
		{"a count of nothing, already said", rulestest.Put(t, rulestest.Put(t, good[workload], "spec.count", int64(0)), "spec.historyLimit", int64(1)), rulestest.Put(t, good[workload], "spec.count", int64(0)), nil},
		{"a count of nothing", rulestest.Put(t, good[workload], "spec.count", "0%"), nil, []string{"never kills"}},
		{"a new count of nothing", rulestest.Put(t, good[workload], "spec.count", int64(0)), good[workload], []string{"never kills"}},
		{"no pod to spare", rulestest.Put(t, good[workload], "spec.safety.minReady", "100%"), nil, []string{"spec.safety.minReady: 100%"}},
		{"blackouts over all windows", rulestest.Put(t, rulestest.Put(t, good[workload], "spec.windows", nightly), "spec.blackouts", always), nil, []string{"spec.blackouts: they cover"}},
		{"runs by day, and a window by night", rulestest.Put(t, rulestest.Put(t, good[workload], "spec.windows", nightly), "spec.schedule", byDay), nil,
			[]string{"spec.schedule.cron: windows and blackouts forbid ten runs in a row, within a startingDeadline of 5m"}},
		{"a request at creation", rulestest.Put(t, good[workload], "metadata.annotations", map[string]any{"chaos.fairlead.dev/run-now": "1"}), nil,
			[]string{"metadata.annotations[chaos.fairlead.dev/run-now]: requests nothing"}},
		{"a count of more than one, of a workload", rulestest.Put(t, good[workload], "spec.count", int64(2)), nil, []string{"one pod of Deployment"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var old *chaosv1.ChaosPod
			if c.old != nil {
				old = typed(t, c.old)
			}
			got := Warnings(typed(t, c.obj), old)
			if len(got) != len(c.want) {
				t.Fatalf("warnings = %q, want %d", got, len(c.want))
			}
			for i := range got {
				if !strings.Contains(got[i], c.want[i]) {
					t.Errorf("warning %q lacks %q", got[i], c.want[i])
				}
			}
		})
	}
}

func TestOverlapsNamesOtherObjectsOnTheSameWorkload(t *testing.T) {
	chaos := func(namespace, name string, kind common.WorkloadKind, workload string) chaosv1.ChaosPod {
		var obj chaosv1.ChaosPod
		obj.Namespace, obj.Name = namespace, name
		obj.Spec.Target.Workload = &common.WorkloadReference{Kind: kind, Name: workload}
		return obj
	}
	canary := chaos("shop", "canary", "", "")
	canary.Spec.Target = chaosv1.Target{}
	subject := chaos("shop", "a", common.WorkloadDeployment, "api")
	others := []chaosv1.ChaosPod{
		subject, canary,
		chaos("shop", "b", common.WorkloadDeployment, "api"),
		chaos("shop", "c", common.WorkloadStatefulSet, "api"),
		chaos("shop", "d", common.WorkloadDeployment, "web"),
		chaos("depot", "e", common.WorkloadDeployment, "api"),
	}
	want := []string{"spec.target.workload: ChaosPod b acts on Deployment api already; each counts its own limits, so together they kill more often than either says"}
	if diff := cmp.Diff(want, Overlaps(&subject, others)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := Overlaps(&canary, others); got != nil {
		t.Errorf("a canary overlaps with nothing, got %q", got)
	}
}
