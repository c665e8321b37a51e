// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	"testing"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/internal/rules/twins"
)

func twinOptions(t testing.TB) twins.Options[autorebootv1.RebootPolicy] {
	return twins.Options[autorebootv1.RebootPolicy]{
		Group: "autoreboot.fairlead.dev", Resource: "rebootpolicies", Structural: Structural,
		Good: objects(t, "testdata/good.yaml"),
		Values: map[string][]any{
			"name":       {"web", "api", "config", "a-", "-a", "a.b"},
			"cron":       {"0 0 * * *", "@daily", "TZ=UTC 0 0 * * *", "TZ 0 0 * * *"},
			"schedule":   {"0 0 * * *", "TZ=UTC 0 0 * * *", "0 0 * * * TZ=", "@monthly"},
			"timeZone":   {"UTC", "Europe/Zurich", "Local", "lOcAl", "Locality"},
			"path":       {"/", "/healthz", "healthz", "/ä\n", "/a?b#c"},
			"secretName": {"tls", "a.b"},
		},
	}
}

func FuzzTwins(f *testing.F) { twins.Fuzz(f, twinOptions(f)) }

func TestTwinsAgreeOnAnyNumberOfObjects(t *testing.T) { twins.Count(t, twinOptions(t)) }
