// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package chaospod

import (
	"strings"
	"testing"

	"github.com/fairlead-dev/fairlead/internal/rules/validationtest"
)

func TestWhatTheSchemaCannotSay(t *testing.T) {
	good := validationtest.Objects(t, "testdata/good.yaml")
	container := func(members map[string]any) map[string]any {
		return map[string]any{"spec": map[string]any{"containers": []any{members}}}
	}
	for _, c := range []struct {
		name  string
		base  int
		path  string
		value any
		field string // of the error; empty where the object is good
	}{
		{"cron does not parse", workload, "spec.schedule.cron", "* * * *", "spec.schedule.cron"},
		{"cron never fires", workload, "spec.schedule.cron", "0 0 30 2 *", "spec.schedule.cron"},
		{"cron fires on leap days only", workload, "spec.schedule.cron", "0 0 29 2 *", ""},
		{"cron by name", workload, "spec.schedule.cron", "@hourly", ""},
		{"cron in seconds", workload, "spec.schedule.cron", "0 0 0 * * *", "spec.schedule.cron"},
		{"unknown zone", workload, "spec.schedule.timeZone", "Europe/Atlantis", "spec.schedule.timeZone"},
		{"unknown zone of a window", workload, "spec.windows.0.timeZone", "Mars/Olympus", "spec.windows[0].timeZone"},
		{"window without a zone", workload, "spec.windows.0.timeZone", nil, ""},
		{"window that never opens", workload, "spec.blackouts.0.cron", "0 0 31 4 *", "spec.blackouts[0].cron"},
		{"starting deadline of nothing", workload, "spec.schedule.startingDeadline", "0s", "spec.schedule.startingDeadline"},
		{"recovery in no time", workload, "spec.verification.timeout", "0m", "spec.verification.timeout"},
		{"workload with a name that cannot be", workload, "spec.target.workload.name", "Payments_API", "spec.target.workload.name"},
		{"account with a name that cannot be", workload, "spec.serviceAccountName", "Robot_1", "spec.serviceAccountName"},
		{"run-now with a token", workload, "metadata.annotations", map[string]any{"chaos.fairlead.dev/run-now": "1"}, ""},
		{"run-now without a token", workload, "metadata.annotations", map[string]any{"chaos.fairlead.dev/run-now": ""}, "metadata.annotations[chaos.fairlead.dev/run-now]"},
		{"resume with a token", workload, "metadata.annotations", map[string]any{"chaos.fairlead.dev/resume": "yes"}, ""},
		{"resume without a token", workload, "metadata.annotations", map[string]any{"chaos.fairlead.dev/resume": ""}, "metadata.annotations[chaos.fairlead.dev/resume]"},
		{"selector that selects everything", selector, "spec.target.selector", map[string]any{}, ""},
		{"selector with a key that cannot be", selector, "spec.target.selector.matchLabels", map[string]any{"a b": "c"}, "spec.target.selector"},
		{"selector with an operator short of values", selector, "spec.target.selector.matchExpressions.0.values", nil, "spec.target.selector"},
		{"exclusion with a value that cannot be", workload, "spec.filter.exclude.matchLabels.chaos", "-", "spec.filter.exclude"},
		{"template without containers", template, "spec.target.template.spec.containers", []any{}, "spec.target.template.spec.containers"},
		{"container without a name", template, "spec.target.template", container(map[string]any{"image": "x"}), "spec.target.template.spec.containers[0].name"},
		{"container with a name that cannot be", template, "spec.target.template", container(map[string]any{"name": "A", "image": "x"}), "spec.target.template.spec.containers[0].name"},
		{"container without an image", template, "spec.target.template", container(map[string]any{"name": "a"}), "spec.target.template.spec.containers[0].image"},
		{"image in white space", template, "spec.target.template", container(map[string]any{"name": "a", "image": " x"}), "spec.target.template.spec.containers[0].image"},
		{"two containers of one name", template, "spec.target.template.spec.initContainers", []any{map[string]any{"name": "c", "image": "x"}}, "spec.target.template.spec.containers[0].name"},
		{"label that cannot be", template, "spec.target.template.metadata.labels", map[string]any{"a": "b c"}, "spec.target.template.metadata.labels"},
		{"good workload", workload, "spec.count", "50%", ""},
		{"good selector", selector, "spec.count", int64(3), ""},
		{"good template", template, "spec.dryRun", false, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			obj := typed(t, place(t, good[c.base], c.path, c.value))
			errs := Semantic(obj, nil)
			switch {
			case c.field == "" && len(errs) > 0:
				t.Errorf("refused: %v", errs)
			case c.field != "" && (len(errs) != 1 || errs[0].Field != c.field):
				t.Errorf("errors = %v, want one at %s", errs, c.field)
			}
			if all := Validate(obj, nil); len(all) < len(errs) {
				t.Errorf("Validate leaves out: %v", all)
			}
		})
	}
}

func TestUpdatesForgiveOnlyWhatStoodBefore(t *testing.T) {
	good := validationtest.Objects(t, "testdata/good.yaml")
	broken := place(t, place(t, good[workload], "spec.schedule.cron", "0 0 30 2 *"), "spec.safety.maxPerDay", int64(0))
	manyTargets := place(t, good[workload], "spec.target.selector", map[string]any{"matchLabels": map[string]any{"a": "b"}})
	for _, c := range []struct {
		name     string
		old, obj map[string]any
		want     string // in the error; empty where the update passes
	}{
		{"nothing changed", broken, broken, ""},
		{"another field changed", broken, place(t, broken, "spec.suspend", true), ""},
		{"one of two mended", broken, place(t, broken, "spec.safety.maxPerDay", int64(5)), ""},
		{"both mended", broken, good[workload], ""},
		{"one broken otherwise", broken, place(t, broken, "spec.safety.maxPerDay", int64(-1)), "spec.safety.maxPerDay"},
		{"a third broken", broken, place(t, broken, "spec.count", "x"), "spec.count"},
		{"valid becomes invalid", good[workload], broken, "spec.schedule.cron"},
		{"two targets stay", manyTargets, place(t, manyTargets, "spec.count", int64(2)), ""},
		{"two targets become none", manyTargets, place(t, manyTargets, "spec.target", map[string]any{}), "exactly one"},
		{"workload becomes template", good[workload], place(t, good[workload], "spec.target", map[string]any{"template": pod}), "cannot be added or removed"},
		{"broken and becomes template", broken, place(t, broken, "spec.target", map[string]any{"template": pod}), "cannot be added or removed"},
		{"workload becomes selector", good[workload], place(t, good[workload], "spec.target", map[string]any{"selector": map[string]any{"matchLabels": map[string]any{"a": "b"}}}), ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			errs := Validate(typed(t, c.obj), typed(t, c.old))
			if c.want == "" && len(errs) > 0 || c.want != "" && (len(errs) == 0 || !strings.Contains(errs.ToAggregate().Error(), c.want)) {
				t.Errorf("errors = %v, want %q", errs, c.want)
			}
		})
	}
}
