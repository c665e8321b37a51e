// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package chaospod

import (
	"strings"
	"testing"

	"github.com/fairlead-dev/fairlead/internal/rules/rulestest"
)

func TestWhatTheSchemaCannotSay(t *testing.T) {
	good := rulestest.Objects(t, "testdata/good.yaml")
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
		{"resume with a token", workload, "metadata.annotations", map[string]any{"chaos.fairlead.dev/retry": "yes"}, ""},
		{"resume without a token", workload, "metadata.annotations", map[string]any{"chaos.fairlead.dev/retry": ""}, "metadata.annotations[chaos.fairlead.dev/retry]"},
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
			obj := typed(t, rulestest.Put(t, good[c.base], c.path, c.value))
			errs := Validate(obj, nil)
			switch {
			case c.field == "" && len(errs) > 0:
				t.Errorf("refused: %v", errs)
			case c.field != "" && (len(errs) != 1 || errs[0].Field != c.field):
				t.Errorf("errors = %v, want one at %s", errs, c.field)
			}
		})
	}
}

func TestATemplateHasTheFieldsOfAPodTemplate(t *testing.T) {
	for template, want := range map[string]string{
		`null`: "",
		`{"metadata":{"creationTimestamp":null,"labels":{"a":"b"}},"spec":{"containers":[{"name":"a","resources":{}}]}}`: "",
		`"x"`:                         "spec.target.template: Invalid value: is a string, which does not fit there",
		`{"spec":{"containers":"x"}}`: "spec.target.template.spec.containers: Invalid value: is a string, which does not fit there",
		`{"spec":{"containers":[{},{"ports":[{"containerPort":"80"}]}]}}`:          "spec.target.template.spec.containers[1].ports[0].containerPort: Invalid value: is a string",
		`{"spec":{"containers":[{"resources":{"limits":{"cpu":"x"}}}]}}`:           "spec.target.template.spec.containers[0].resources.limits.cpu: Invalid value: is a string",
		`{"spec":{"containers":[{"nam":"a"}]}}`:                                    "spec.target.template.spec.containers[0].nam: Forbidden: a pod template has no such field",
		`{"Spec":{}}`:                                                              "spec.target.template.Spec: Forbidden",
		`{"spec":{"hostname":"a","hostname":"b"}}`:                                 "spec.target.template.spec.hostname: Duplicate value: the field occurs twice",
		`{"specs":{},"spec":{"containers":[{"nam":"a"},{"name":"b","images":1}]}}`: "spec.target.template.spec.containers[1].images",
	} {
		object := []byte(`{"spec":{"target":{"template":` + template + `}}}`)
		errs := ValidateFields(object, nil)
		if want == "" && len(errs) > 0 || want != "" && (len(errs) == 0 || !strings.Contains(errs.ToAggregate().Error(), want)) {
			t.Errorf("%s: errors = %v, want %q", template, errs, want)
		}
		if errs := ValidateFields(object, object); len(errs) > 0 {
			t.Errorf("%s stood before: %v", template, errs)
		}
		if errs := ValidateFields(object, []byte(`{}`)); want != "" && len(errs) == 0 {
			t.Errorf("%s is new, and forgiven", template)
		}
	}
	for _, object := range []string{`{}`, `{"spec":7}`, `{"spec":{"target":[]}}`, `{`, ``} {
		if errs := ValidateFields([]byte(object), []byte(object)); len(errs) > 0 {
			t.Errorf("%s has no template: %v", object, errs)
		}
	}
}

func TestUpdatesForgiveOnlyWhatStoodBefore(t *testing.T) {
	good := rulestest.Objects(t, "testdata/good.yaml")
	broken := rulestest.Put(t, rulestest.Put(t, good[workload], "spec.schedule.cron", "0 0 30 2 *"), "spec.verification.timeout", "0s")
	for _, c := range []struct {
		name     string
		old, obj map[string]any
		want     string // in the error; empty where the update passes
	}{
		{"nothing changed", broken, broken, ""},
		{"another field changed", broken, rulestest.Put(t, broken, "spec.suspend", true), ""},
		{"one of two corrected", broken, rulestest.Put(t, broken, "spec.verification.timeout", "1m"), ""},
		{"both corrected", broken, good[workload], ""},
		{"one broken otherwise", broken, rulestest.Put(t, broken, "spec.verification.timeout", "0m"), "spec.verification.timeout"},
		{"a third broken", broken, rulestest.Put(t, broken, "spec.serviceAccountName", "x_"), "spec.serviceAccountName"},
		{"valid becomes invalid", good[workload], broken, "spec.schedule.cron"},
	} {
		t.Run(c.name, func(t *testing.T) {
			errs := Validate(typed(t, c.obj), typed(t, c.old))
			if c.want == "" && len(errs) > 0 || c.want != "" && (len(errs) == 0 || !strings.Contains(errs.ToAggregate().Error(), c.want)) {
				t.Errorf("errors = %v, want %q", errs, c.want)
			}
		})
	}
}
