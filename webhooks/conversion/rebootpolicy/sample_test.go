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
	for version, other := range map[string]string{"v1": "v1alpha1", "v1alpha1": "v1"} {
		sample := load(t, "../../../config/samples/autoreboot_"+version+"_rebootpolicy.yaml")
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
		if warnings := rebootpolicy.Warnings(&obj, nil); (version == "v1alpha1") != (len(warnings) == 1) {
			t.Errorf("%s: warnings %q, want one about initialDelaySeconds at v1alpha1 alone", version, warnings)
		}
	}
}
