// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package chaospod

import (
	"testing"

	chaosv1 "github.com/fairlead-dev/fairlead/api/chaos/v1"
	"github.com/fairlead-dev/fairlead/internal/rules/twins"
)

func twinOptions(t testing.TB) twins.Options[chaosv1.ChaosPod] {
	return twins.Options[chaosv1.ChaosPod]{
		Group: "chaos.fairlead.dev", Resource: "chaospods", Structural: Structural,
		Good: objects(t, "testdata/good.yaml"),
		Values: map[string][]any{
			"cron":     {"0 0 * * *", "@daily", "TZ=UTC 0 0 * * *", "CRON_TZ=UTC 0 0 * * *", "TZ 0 0 * * *"},
			"schedule": {"0 0 * * *", "TZ=UTC 0 0 * * *", "0 0 * * * TZ=", "@monthly"},
			"timeZone": {"UTC", "Europe/Zurich", "Local", "lOcAl", "Locality"},
		},
	}
}

func FuzzTwins(f *testing.F) { twins.Fuzz(f, twinOptions(f)) }

func TestTwinsAgreeOnAnyNumberOfObjects(t *testing.T) { twins.Count(t, twinOptions(t)) }
