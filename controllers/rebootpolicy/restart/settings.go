// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package restart

import (
	"time"

	"k8s.io/apimachinery/pkg/util/intstr"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/api/common"
	rules "github.com/fairlead-dev/fairlead/internal/rules/rebootpolicy"
)

const (
	// maxBackoff is the longest wait before a retry, unless the spec has a longer one for the first.
	maxBackoff = 6 * time.Hour
	// resetAfter is how long a target stays healthy until its failed attempts no longer count.
	resetAfter = time.Hour
)

// settings is a spec with defaults: an object may have been stored before there was a webhook that sets them.
type settings struct {
	suspend, dryRun bool

	evict          bool
	maxUnavailable intstr.IntOrString
	evictTimeout   time.Duration

	quiet, maxDelay, cooldown time.Duration

	maxRestarts int
	within      time.Duration

	maxAttempts int32
	backoff     time.Duration

	maxTargets intstr.IntOrString

	timeout, soakTime    time.Duration
	maxContainerRestarts int64
	haltOnFailure        bool
	verificationProbes   []common.VerificationProbe

	historyLimit *int32

	// approvalGate is the name of the gate of type Approval; empty where there is none.
	approvalGate string

	// order of the triggers by name; RestartNow comes first.
	order map[string]int
	types map[string]autorebootv1.TriggerType
	// urgent are the triggers whose restarts wait for no window and no turn.
	urgent map[string]bool
}

func settingsOf(p *autorebootv1.RebootPolicy) settings {
	whole := &autorebootv1.RebootPolicy{Spec: *p.Spec.DeepCopy()}
	rules.Default(whole)
	rules.Clamp(&whole.Spec)
	spec := &whole.Spec
	s := settings{
		suspend: *spec.Suspend, dryRun: *spec.DryRun,
		quiet:                durationOr(spec.Debounce.QuietPeriod, rules.DefaultQuietPeriod),
		maxDelay:             durationOr(spec.Debounce.MaxDelay, rules.DefaultMaxDelay),
		cooldown:             durationOr(spec.Cooldown, rules.DefaultCooldown),
		maxRestarts:          int(spec.Limit.MaxRestarts),
		within:               durationOr(&spec.Limit.Within, rules.DefaultWithin),
		maxAttempts:          *spec.Retry.MaxAttempts,
		backoff:              durationOr(spec.Retry.Backoff, rules.DefaultBackoff),
		maxTargets:           *spec.Concurrency.MaxTargets,
		timeout:              durationOr(spec.Verification.Timeout, rules.DefaultVerifyTimeout),
		soakTime:             durationOr(spec.Verification.Soak, rules.DefaultSoak),
		maxContainerRestarts: int64(*spec.Verification.MaxContainerRestarts),
		haltOnFailure:        *spec.Verification.OnFailure != common.FailureContinue,
		verificationProbes:   spec.Verification.Probes,
		historyLimit:         spec.HistoryLimit,
		order:                map[string]int{autorebootv1.RestartNowTrigger: -1},
		types:                map[string]autorebootv1.TriggerType{},
		urgent:               map[string]bool{},
	}
	if s.maxRestarts < 1 {
		s.maxRestarts = rules.DefaultMaxRestarts
	}
	if spec.Strategy.Type == autorebootv1.StrategyEvict {
		s.evict = true
		s.maxUnavailable = *spec.Strategy.Evict.MaxUnavailable
		s.evictTimeout = durationOr(spec.Strategy.Evict.Timeout, rules.DefaultEvictTimeout)
	} else {
		// A restart that started with evictions goes on with them after the strategy changed.
		s.maxUnavailable = intstr.FromInt32(rules.DefaultMaxUnavailable)
		s.evictTimeout = durationOr(nil, rules.DefaultEvictTimeout)
	}
	for i := range spec.Triggers {
		s.order[spec.Triggers[i].Name] = i
		s.types[spec.Triggers[i].Name] = spec.Triggers[i].Type
		s.urgent[spec.Triggers[i].Name] = *spec.Triggers[i].Urgency == autorebootv1.UrgencyUrgent
	}
	for i := range spec.Gates {
		if spec.Gates[i].Type == autorebootv1.GateApproval {
			s.approvalGate = spec.Gates[i].Name
		}
	}
	return s
}

// isLevel reports whether a trigger has no baseline.
func (s *settings) isLevel(trigger string) bool {
	t := s.types[trigger]
	return t == autorebootv1.TriggerProbe || t == autorebootv1.TriggerPodAge
}

// isContent reports whether a signal is what a source has, as opposed to a time, a check and a request.
func (s *settings) isContent(signal *Signal) bool {
	switch s.types[signal.Trigger] {
	case autorebootv1.TriggerConfigChange, autorebootv1.TriggerCertificateRenewal, autorebootv1.TriggerEndpointsChange:
		return true
	}
	return false
}

// backoffAfter returns the wait before a retry, which doubles with each attempt up to maxBackoff, or is backoff if that is longer.
func (s *settings) backoffAfter(attempts int32) time.Duration {
	if attempts <= 0 {
		return 0
	}
	d, most := s.backoff, max(s.backoff, maxBackoff)
	for i := int32(1); i < attempts && d < most; i++ {
		d *= 2
	}
	return min(d, most)
}

func durationOr(d *common.Duration, fallback common.Duration) time.Duration {
	return d.Or((&fallback).Or(0))
}
