// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	chaosv1 "github.com/fairlead-dev/fairlead/api/chaos/v1"
	"github.com/fairlead-dev/fairlead/api/common"
	rules "github.com/fairlead-dev/fairlead/internal/rules/chaospod"
)

// settings is a spec with defaults: an object may have been stored before there was a webhook that sets them.
type settings struct {
	suspend, dryRun bool

	verb     Verb
	grace    *int64
	count    intstr.IntOrString
	template *corev1.PodTemplateSpec
	// targetDigest is the digest of spec.target.
	targetDigest string

	minAge  time.Duration
	exclude labels.Selector // nil excludes nothing

	minReady                     *intstr.IntOrString // nil asks for nothing
	maxPerDay                    *int32              // nil is without a limit
	requireStable, requireBudget bool

	startingDeadline, timeout, soak time.Duration
	haltOnFailure                   bool
	verificationProbes              []common.VerificationProbe
	historyLimit                    *int32

	// unreadable describes what is invalid in the spec. While it is set, nothing is killed.
	unreadable string
	// clamped are messages about durations that are above their upper bounds.
	clamped []string
}

func settingsOf(p *chaosv1.ChaosPod) settings {
	whole := &chaosv1.ChaosPod{Spec: *p.Spec.DeepCopy()}
	rules.Default(whole)
	clamped := rules.Clamp(&whole.Spec)
	spec := &whole.Spec
	s := settings{
		suspend: *spec.Suspend, dryRun: *spec.DryRun,
		verb: Evict, grace: spec.Action.GracePeriodSeconds, count: *spec.Count,
		template: spec.Target.Template, targetDigest: rules.Digest(spec.Target),
		startingDeadline:   durationOr(spec.Schedule.StartingDeadline, rules.DefaultStartingDeadline),
		timeout:            durationOr(spec.Verification.Timeout, rules.DefaultVerifyTimeout),
		soak:               durationOr(spec.Verification.Soak, "0s"), // as Default leaves it with target.template
		haltOnFailure:      *spec.Verification.OnFailure != common.FailureContinue,
		verificationProbes: spec.Verification.Probes,
		historyLimit:       spec.HistoryLimit,
		clamped:            clamped,
	}
	if *spec.Action.Type == chaosv1.ActionDelete {
		s.verb = Delete
	}
	if ptr.Deref(s.grace, 1) < 1 {
		s.unreadable = "action.gracePeriodSeconds must be at least 1"
	}
	if f := spec.Filter; f != nil {
		if f.MinAge != nil {
			s.minAge = durationOr(f.MinAge, rules.DefaultMinAge)
		}
		if f.Exclude != nil {
			var err error
			if s.exclude, err = f.Exclude.Selector(); err != nil {
				s.unreadable = "filter.exclude: " + err.Error()
			}
		}
	}
	if safety := spec.Safety; safety != nil {
		s.minReady, s.maxPerDay = safety.MinReady, safety.MaxPerDay
		s.requireStable = ptr.Deref(safety.RequireStable, false)
		s.requireBudget = ptr.Deref(safety.RequireDisruptionBudget, false)
	}
	return s
}

func durationOr(d *common.Duration, fallback common.Duration) time.Duration {
	return d.Or((&fallback).Or(0))
}

// killCount returns how many pods a run kills; none if count is invalid.
func (s *settings) killCount(ready int) int {
	n, err := intstr.GetScaledValueFromIntOrPercent(&s.count, ready, false)
	if err != nil {
		return 0
	}
	return max(n, 0)
}

// minReadyPods returns how many pods of an owner must stay ready; all if minReady is invalid.
func (s *settings) minReadyPods(wanted int32) int {
	if s.minReady == nil {
		return 0
	}
	n, err := intstr.GetScaledValueFromIntOrPercent(s.minReady, int(wanted), true)
	if err != nil {
		return int(wanted)
	}
	return n
}
