// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	"encoding/json"
	"testing"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/internal/rules/rebootpolicy"
)

func TestSamplesAreAdmittedAtBothVersions(t *testing.T) {
	for file, version := range map[string]string{
		"autoreboot_v1_rebootpolicy.yaml": "v1", "reference/autoreboot_v1_rebootpolicy.yaml": "v1",
		"autoreboot_v1alpha1_rebootpolicy.yaml": "v1alpha1",
	} {
		other := map[string]string{"v1": "v1alpha1", "v1alpha1": "v1"}[version]
		sample := load(t, "../../../config/samples/"+file)
		converted := convert(t, sample, other)
		admitted(t, sample, version)
		admitted(t, converted, other)

		stored := sample
		if other == "v1" {
			stored = converted
		}
		var obj autorebootv1.RebootPolicy
		if err := json.Unmarshal(stored, &obj); err != nil {
			t.Fatal(err)
		}
		rebootpolicy.Default(&obj)
		if errs := rebootpolicy.Validate(&obj, nil); len(errs) > 0 {
			t.Errorf("%s: %v", version, errs)
		}
		if warnings := rebootpolicy.Warnings(&obj, nil); len(warnings) > 0 {
			t.Errorf("%s: warnings %q", version, warnings)
		}
	}
}
