// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	"testing"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/internal/rules/validationtest"
)

func comparisonOptions(t testing.TB) validationtest.Options[autorebootv1.RebootPolicy] {
	return validationtest.Options[autorebootv1.RebootPolicy]{
		Group: group, Resource: resource, Structural: Structural,
		Good: validationtest.Objects(t, "testdata/good.yaml"),
		Values: map[string][]any{
			"name":       {"web", "api", "config", "a-", "-a", "a.b"},
			"cron":       {"0 0 * * *", "@daily", "TZ=UTC 0 0 * * *", "TZ 0 0 * * *", "0 0 * * * TZ=", ""},
			"timeZone":   {"UTC", "Europe/Zurich", "Local", "lOcAl", "Locality"},
			"path":       {"/", "/healthz", "healthz", "/ä\n", "/a?b#c"},
			"secretName": {"tls", "a.b"},
		},
	}
}

func FuzzStructural(f *testing.F) { validationtest.Fuzz(f, comparisonOptions(f)) }

func TestStructuralAgreesWithTheDefinitionOnGeneratedObjects(t *testing.T) {
	validationtest.Run(t, comparisonOptions(t))
}
