// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package chaospod

import (
	"k8s.io/apimachinery/pkg/util/intstr"

	chaosv1 "github.com/fairlead-dev/fairlead/api/chaos/v1"
	"github.com/fairlead-dev/fairlead/api/common"
)

// The defaults of v1. Those of the filter and of safety hold for workloads and selectors only: a
// canary made from target.template is young and alone by nature, and minAge, minReady or
// maxPerDay would keep it from ever dying. So does that of the soak: a canary may be meant to die
// every few seconds, as at v1alpha1.
const (
	DefaultCount            = 1
	DefaultStartingDeadline = common.Duration("5m")
	DefaultMinAge           = common.Duration("10m")
	DefaultMinReady         = "50%"
	DefaultMaxPerDay        = 8
	DefaultRecoveryTimeout  = common.Duration("10m")
	DefaultSoak             = common.Duration("30s")
)

// Default fills in whatever is unset, and never changes what is set. It is idempotent, and makes no
// valid object invalid. No field has a default inside a list item, so that admission stores all of
// it: tools compare a list item with what was applied as a whole, and a default in one shows as
// drift.
func Default(obj *chaosv1.ChaosPod) {
	spec := &obj.Spec
	set(&spec.Suspend, false)
	set(&spec.DryRun, true)
	set(&spec.Count, intstr.FromInt32(DefaultCount))
	set(&spec.Schedule.JitterPercent, 0)
	set(&spec.Schedule.StartingDeadline, DefaultStartingDeadline)

	set(&spec.Action, chaosv1.Action{})
	set(&spec.Action.Type, chaosv1.ActionEvict)

	set(&spec.Verification, chaosv1.Verification{})
	set(&spec.Verification.RecoveryTimeout, DefaultRecoveryTimeout)
	set(&spec.Verification.OnFailure, chaosv1.FailureSuspend)

	if spec.Target.Template != nil {
		return
	}
	set(&spec.Filter, chaosv1.Filter{})
	set(&spec.Filter.MinAge, DefaultMinAge)

	set(&spec.Verification.Soak, DefaultSoak)

	set(&spec.Safety, chaosv1.Safety{})
	set(&spec.Safety.MinReady, intstr.FromString(DefaultMinReady))
	set(&spec.Safety.MaxPerDay, DefaultMaxPerDay)
	set(&spec.Safety.RequireStable, true)
	set(&spec.Safety.RequireDisruptionBudget, false)
}

func set[T any](field **T, value T) {
	if *field == nil {
		*field = &value
	}
}
