// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package chaospod

import (
	"testing"

	chaosv1 "github.com/fairlead-dev/fairlead/api/chaos/v1"
	"github.com/fairlead-dev/fairlead/internal/rules/validationtest"
)

func comparisonOptions(t testing.TB) validationtest.Options[chaosv1.ChaosPod] {
	return validationtest.Options[chaosv1.ChaosPod]{
		Group: group, Resource: resource, Structural: Structural,
		Good: validationtest.Objects(t, "testdata/good.yaml"),
		Values: map[string][]any{
			"name":     {"web", "office-hours", "a-", "-a", "a.b"},
			"cron":     {"0 0 * * *", "@daily", "TZ=UTC 0 0 * * *", "CRON_TZ=UTC 0 0 * * *", "TZ 0 0 * * *", "0 0 * * * TZ="},
			"timeZone": {"UTC", "Europe/Zurich", "Local", "lOcAl", "Locality"},
		},
	}
}

func FuzzStructural(f *testing.F) { validationtest.Fuzz(f, comparisonOptions(f)) }

func TestStructuralAgreesWithTheDefinitionOnGeneratedObjects(t *testing.T) {
	validationtest.Run(t, comparisonOptions(t))
}
