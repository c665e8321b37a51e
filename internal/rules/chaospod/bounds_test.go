// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package chaospod

import (
	"testing"

	chaosv1 "github.com/fairlead-dev/fairlead/api/chaos/v1"
	"github.com/fairlead-dev/fairlead/internal/rules/rulestest"
)

func TestNoObjectCostsMuchOrEndsTheProcess(t *testing.T) {
	for i := range rulestest.Objects(t, "testdata/good.yaml") {
		full := func() *chaosv1.ChaosPod { return typed(t, rulestest.Objects(t, "testdata/good.yaml")[i]) }
		rulestest.Hostile(t, full, func(obj *chaosv1.ChaosPod) {
			Default(obj)
			Clamp(&obj.Spec)
			Validate(obj, obj.DeepCopy())
			Warnings(obj, nil)
			Overlaps(obj, []chaosv1.ChaosPod{*obj.DeepCopy()})
		})
	}
}
