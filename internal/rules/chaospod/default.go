// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package chaospod

import (
	"k8s.io/apimachinery/pkg/util/intstr"

	chaosv1 "github.com/fairlead-dev/fairlead/api/chaos/v1"
	"github.com/fairlead-dev/fairlead/api/common"
	"github.com/fairlead-dev/fairlead/internal/rules"
)

// The defaults of v1. Those of filter, of safety and of soak apply to workloads and selectors only. A canary of
// target.template is young and alone by nature: with minAge, minReady or maxPerDay it would never be killed. It may be
// meant to be killed every few seconds, which a soak would prevent.
const (
	DefaultCount            = 1
	DefaultStartingDeadline = common.Duration("5m")
	DefaultMinAge           = common.Duration("10m")
	DefaultMinReady         = "50%"
	DefaultMaxPerDay        = 8
	DefaultVerifyTimeout    = common.Duration("10m")
	DefaultSoak             = common.Duration("30s")
	DefaultCanaryInterval   = common.Duration("15s")
)

// Default sets every unset field that has a default, and never changes one that is set. It is idempotent, and makes no
// valid object invalid.
func Default(obj *chaosv1.ChaosPod) {
	DefaultMaps(obj)
	rules.DefaultVerificationProbes(obj.Spec.Verification.Probes)
}

// DefaultMaps is Default without the items of lists. Admission stores its defaults. Tools compare a list item with the
// applied one as a whole, so that a default in it would show as drift.
func DefaultMaps(obj *chaosv1.ChaosPod) {
	spec := &obj.Spec
	rules.SetDefault(&spec.Suspend, false)
	canary := spec.Target.Template != nil
	rules.SetDefault(&spec.DryRun, !canary)
	rules.SetDefault(&spec.Count, intstr.FromInt32(DefaultCount))
	rules.SetDefault(&spec.Schedule.JitterPercent, 0)
	rules.SetDefault(&spec.Schedule.StartingDeadline, DefaultStartingDeadline)

	rules.SetDefault(&spec.Action, chaosv1.Action{})
	rules.SetDefault(&spec.Action.Type, chaosv1.ActionEvict)

	rules.SetDefault(&spec.Verification, common.Verification{})
	rules.SetDefault(&spec.Verification.Timeout, DefaultVerifyTimeout)
	rules.SetDefault(&spec.Verification.OnFailure, common.FailureHalt)

	rules.DefaultHistoryLimit(&spec.HistoryLimit)

	if canary {
		if s := &spec.Schedule; s.Cron == "" && s.Interval == "" && s.At == nil {
			s.Interval = DefaultCanaryInterval
		}
		return
	}
	rules.SetDefault(&spec.Filter, chaosv1.Filter{})
	rules.SetDefault(&spec.Filter.MinAge, DefaultMinAge)

	rules.SetDefault(&spec.Verification.Soak, DefaultSoak)

	rules.SetDefault(&spec.Safety, chaosv1.Safety{})
	rules.SetDefault(&spec.Safety.MinReady, intstr.FromString(DefaultMinReady))
	rules.SetDefault(&spec.Safety.MaxPerDay, DefaultMaxPerDay)
	rules.SetDefault(&spec.Safety.RequireStable, true)
	rules.SetDefault(&spec.Safety.RequireDisruptionBudget, false)
}
