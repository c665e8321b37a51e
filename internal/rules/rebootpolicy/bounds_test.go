// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	"testing"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/api/common"
	"github.com/fairlead-dev/fairlead/internal/rules/rulestest"
)

func TestNoObjectCostsMuchOrEndsTheProcess(t *testing.T) {
	rulestest.Hostile(t, func() *autorebootv1.RebootPolicy { return full(t) }, func(obj *autorebootv1.RebootPolicy) {
		Default(obj)
		Clamp(&obj.Spec)
		Validate(obj, obj.DeepCopy())
		Warnings(obj, nil)
		other := obj.DeepCopy()
		other.Name = "other"
		Overlaps(obj, []autorebootv1.RebootPolicy{*other})
		OptionalKinds(&obj.Spec)
		of := &autorebootv1.ClusterRebootPolicy{Spec: autorebootv1.ClusterRebootPolicySpec{
			Template: autorebootv1.RebootPolicyTemplate{Spec: obj.Spec},
		}}
		ValidateCluster(of, of.DeepCopy())
		ClusterWarnings(of, nil)
	})
}

func TestAListThatIsTooLongIsRefused(t *testing.T) {
	const n = 101
	type spec = autorebootv1.RebootPolicySpec
	for name, spec := range map[string]spec{
		"spec.targets":   {Targets: make([]autorebootv1.Target, n)},
		"spec.triggers":  {Triggers: make([]autorebootv1.Trigger, n)},
		"spec.gates":     {Gates: make([]autorebootv1.Gate, n)},
		"spec.windows":   {Calendar: common.Calendar{Windows: make([]common.Window, n)}},
		"spec.blackouts": {Calendar: common.Calendar{Blackouts: make([]common.Window, n)}},
		"spec.triggers[0].configChange.sources": {Triggers: []autorebootv1.Trigger{
			{ConfigChange: &autorebootv1.ConfigChange{Sources: make([]autorebootv1.ConfigSource, n)}},
		}},
		"spec.triggers[0].configChange.exclude": {Triggers: []autorebootv1.Trigger{
			{ConfigChange: &autorebootv1.ConfigChange{Exclude: make([]autorebootv1.ExcludedSource, n)}},
		}},
		"spec.verification.probes": {Verification: &autorebootv1.Verification{
			Verification: common.Verification{Probes: make([]common.VerificationProbe, n)},
		}},
	} {
		if spec.Targets == nil {
			spec.Targets = make([]autorebootv1.Target, 1)
		}
		if errs := Validate(&autorebootv1.RebootPolicy{Spec: spec}, nil); len(errs) == 0 || errs[0].Field != name {
			t.Errorf("%s: %v", name, errs)
		}
	}
}
