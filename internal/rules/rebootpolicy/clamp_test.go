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

// A duration that was stored before there was an upper bound counts as the bound.
func TestDurationsAboveTheirBoundAreClamped(t *testing.T) {
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
	want := []string{
		"spec.strategy.evict.timeout: 25h counts as 24h, which is the most that may be written",
		"spec.verification.timeout: 87600h counts as 24h, which is the most that may be written",
		"spec.verification.soak: 1440m1s counts as 24h, which is the most that may be written",
	}
	if got := Clamp(&stored.Spec); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	if again := Clamp(&stored.Spec); again != nil {
		t.Errorf("once clamped: %q", again)
	}
}
