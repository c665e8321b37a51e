// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	"slices"
	"testing"

	"k8s.io/utils/ptr"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/api/common"
)

// A duration that was stored before there was an upper bound is refused in a new object, may stay in an edit, and counts
// as the bound.
func TestDurationsAboveTheirBoundMayStayAndAreClamped(t *testing.T) {
	stored := &autorebootv1.RebootPolicy{}
	stored.Name = "p"
	stored.Spec = autorebootv1.RebootPolicySpec{
		Targets:  []autorebootv1.Target{{Kind: common.WorkloadDeployment, Name: "web"}},
		Strategy: &autorebootv1.Strategy{Type: autorebootv1.StrategyEvict, Evict: &autorebootv1.EvictStrategy{Timeout: ptr.To(common.Duration("25h"))}},
		Triggers: []autorebootv1.Trigger{{Name: "config", Type: autorebootv1.TriggerConfigChange, ConfigChange: &autorebootv1.ConfigChange{}}},
		Verification: &autorebootv1.Verification{Verification: common.Verification{
			Timeout: ptr.To(common.Duration("87600h")), Soak: ptr.To(common.Duration("1440m1s")),
		}},
	}
	Default(stored)
	if errs := Validate(stored, nil); len(errs) != 3 {
		t.Errorf("a new object: %v", errs)
	}
	edited := stored.DeepCopy()
	edited.Spec.Suspend = ptr.To(true)
	if errs := Validate(edited, stored); len(errs) > 0 {
		t.Errorf("an edit: %v", errs)
	}
	want := []string{
		"spec.strategy.evict.timeout: 25h counts as 24h, which is the most that may be written",
		"spec.verification.timeout: 87600h counts as 24h, which is the most that may be written",
		"spec.verification.soak: 1440m1s counts as 24h, which is the most that may be written",
	}
	if got := Clamp(&edited.Spec); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	if errs := Validate(edited, nil); len(errs) > 0 || Clamp(&edited.Spec) != nil {
		t.Errorf("once clamped: %v", errs)
	}
}
