// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package validationtest

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation/field"

	chaosv1 "github.com/fairlead-dev/fairlead/api/chaos/v1"
	"github.com/fairlead-dev/fairlead/internal/rules/chaospod"
)

func good() []map[string]any {
	return []map[string]any{{
		"apiVersion": "chaos.fairlead.dev/v1", "kind": "ChaosPod", "metadata": map[string]any{"name": "one", "namespace": "shop"},
		"spec": map[string]any{
			"target":   map[string]any{"workload": map[string]any{"kind": "Deployment", "name": "web"}},
			"schedule": map[string]any{"interval": "1h"},
			"count":    int64(1),
		},
	}}
}

func comparison(t *testing.T, structural func(obj, old *chaosv1.ChaosPod) field.ErrorList) *Comparison[chaosv1.ChaosPod] {
	t.Helper()
	return NewComparison(t, Options[chaosv1.ChaosPod]{Group: "chaos.fairlead.dev", Resource: "chaospods", Structural: structural, Good: good()})
}

// A comparison that could find nothing would pass for ever.
func TestAWrongStructuralIsFound(t *testing.T) {
	for name, structural := range map[string]func(obj, old *chaosv1.ChaosPod) field.ErrorList{
		"accepts all": func(_, _ *chaosv1.ChaosPod) field.ErrorList { return nil },
		"refuses all": func(_, _ *chaosv1.ChaosPod) field.ErrorList {
			return field.ErrorList{field.Invalid(field.NewPath("spec"), "", "no")}
		},
		"leaves a rule out": func(obj, old *chaosv1.ChaosPod) field.ErrorList {
			var errs field.ErrorList
			for _, err := range chaospod.Structural(obj, old) {
				if !strings.Contains(err.Detail, "must be at least 10s") && !strings.Contains(err.Field, "workload") {
					errs = append(errs, err)
				}
			}
			return errs
		},
	} {
		compared, found := comparison(t, structural), 0
		for seed := range uint64(400) {
			if compared.Compare(t.Context(), RandomChoices(seed)).Difference != "" {
				found++
			}
		}
		if found == 0 {
			t.Errorf("%s: 400 objects did not show it", name)
		}
	}
}

func TestTheSameChoicesMakeTheSameObject(t *testing.T) {
	compared := comparison(t, chaospod.Structural)
	for seed := range uint64(50) {
		one, other := compared.mutator.Object(RandomChoices(seed)), compared.mutator.Object(NewChoices(RandomChoices(seed).Bytes()))
		if text(one) != text(other) {
			t.Errorf("seed %d made\n%s\nand\n%s", seed, text(one), text(other))
		}
	}
	if none := compared.mutator.Object(NewChoices(nil)); text(none) != text(good()[0]) {
		t.Errorf("no choices changed the object: %s", text(none))
	}
}
