// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	"cmp"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/api/common"
	"github.com/fairlead-dev/fairlead/internal/rules"
)

// The defaults of v1 other than the first value of an enum, zero and false.
const (
	DefaultTLSKey         = "tls.crt"
	DefaultMinUnhealthy   = "50%"
	DefaultMaxUnavailable = 1
	DefaultEvictTimeout   = common.Duration("10m")
	DefaultQuietPeriod    = common.Duration("2s")
	DefaultMaxDelay       = common.Duration("30s")
	DefaultCooldown       = common.Duration("0s")
	DefaultMaxRestarts    = 6
	DefaultWithin         = common.Duration("1h")
	DefaultMaxAttempts    = 3
	DefaultBackoff        = common.Duration("10m")
	DefaultMaxTargets     = 1
	DefaultVerifyTimeout  = common.Duration("15m")
	DefaultSoak           = common.Duration("30s")
)

// Default sets every unset field that has a default, and never changes one that is set. It is idempotent, and makes no
// valid object invalid. If two spans depend on each other and one is given, the default of the other adapts.
//
// It does not set cooldown beside a Probe trigger. The author must choose a value there, and the rule that requires it
// could not apply to a default.
func Default(obj *autorebootv1.RebootPolicy) {
	DefaultMaps(obj)
	for i := range obj.Spec.Targets {
		rules.DefaultGroup(&obj.Spec.Targets[i].Group)
		rules.SetDefault(&obj.Spec.Targets[i].Wave, 0)
	}
	for i := range obj.Spec.Triggers {
		defaultTrigger(&obj.Spec.Triggers[i])
	}
	rules.DefaultVerificationProbes(obj.Spec.Verification.Probes)
	for i := range obj.Spec.Gates {
		obj.Spec.Gates[i].Name = GateName(&obj.Spec.Gates[i])
		if c := obj.Spec.Gates[i].Condition; c != nil && c.Type != "" && c.Status == "" {
			c.Status = metav1.ConditionTrue
		}
	}
}

// DefaultMaps is Default without the items of lists. Admission stores its defaults. Tools compare a list item with the
// applied one as a whole, so that a default in it would show as drift.
func DefaultMaps(obj *autorebootv1.RebootPolicy) {
	spec := &obj.Spec
	rules.SetDefault(&spec.Suspend, false)
	rules.SetDefault(&spec.DryRun, false)
	defaultStrategy(spec)

	rules.SetDefault(&spec.Debounce, autorebootv1.Debounce{})
	rules.SetOrdered(&spec.Debounce.QuietPeriod, DefaultQuietPeriod, &spec.Debounce.MaxDelay, DefaultMaxDelay)
	if !HasProbe(spec) {
		rules.SetDefault(&spec.Cooldown, DefaultCooldown)
	}
	rules.SetDefault(&spec.Limit, autorebootv1.Limit{MaxRestarts: DefaultMaxRestarts, Within: DefaultWithin})

	rules.SetDefault(&spec.Retry, autorebootv1.Retry{})
	rules.SetDefault(&spec.Retry.MaxAttempts, DefaultMaxAttempts)
	rules.SetDefault(&spec.Retry.Backoff, DefaultBackoff)

	rules.SetDefault(&spec.Concurrency, autorebootv1.Concurrency{})
	rules.SetDefault(&spec.Concurrency.MaxTargets, intstr.FromInt32(DefaultMaxTargets))

	rules.SetDefault(&spec.Verification, autorebootv1.Verification{})
	rules.SetDefault(&spec.Verification.Timeout, DefaultVerifyTimeout)
	rules.SetDefault(&spec.Verification.Soak, DefaultSoak)
	rules.SetDefault(&spec.Verification.MaxContainerRestarts, 0)
	rules.SetDefault(&spec.Verification.OnFailure, common.FailureHalt)
	rules.DefaultHistoryLimit(&spec.HistoryLimit)
}

// HasProbe reports whether any trigger is of type Probe.
func HasProbe(spec *autorebootv1.RebootPolicySpec) bool {
	for i := range spec.Triggers {
		if spec.Triggers[i].Type == autorebootv1.TriggerProbe {
			return true
		}
	}
	return false
}

func defaultStrategy(spec *autorebootv1.RebootPolicySpec) {
	rules.SetDefault(&spec.Strategy, autorebootv1.Strategy{Type: autorebootv1.StrategyRolloutRestart})
	if spec.Strategy.Type != autorebootv1.StrategyEvict {
		return
	}
	rules.SetDefault(&spec.Strategy.Evict, autorebootv1.EvictStrategy{})
	rules.SetDefault(&spec.Strategy.Evict.MaxUnavailable, intstr.FromInt32(DefaultMaxUnavailable))
	rules.SetDefault(&spec.Strategy.Evict.Timeout, DefaultEvictTimeout)
}

// TriggerName returns the name of a trigger. Without one, it is its type in lower case.
func TriggerName(t *autorebootv1.Trigger) string {
	return cmp.Or(t.Name, strings.ToLower(string(t.Type)))
}

// GateName returns the name of a gate. Without one, it is its type in lower case.
func GateName(g *autorebootv1.Gate) string {
	return cmp.Or(g.Name, strings.ToLower(string(g.Type)))
}

func defaultTrigger(t *autorebootv1.Trigger) {
	t.Name = TriggerName(t)
	if t.Type == autorebootv1.TriggerConfigChange {
		rules.SetDefault(&t.ConfigChange, autorebootv1.ConfigChange{})
	}
	rules.SetDefault(&t.Urgency, autorebootv1.UrgencyNormal)
	if c := t.ConfigChange; c != nil {
		rules.SetDefault(&c.Discovery, autorebootv1.DiscoveryReferenced)
		rules.SetDefault(&c.OnCreate, autorebootv1.SourceIgnore)
		rules.SetDefault(&c.OnDelete, autorebootv1.SourceIgnore)
		for i := range c.Sources {
			rules.SetDefault(&c.Sources[i].Optional, false)
		}
	}
	if c := t.CertificateRenewal; c != nil {
		rules.SetDefault(&c.Key, DefaultTLSKey)
	}
	if p := t.Probe; p != nil {
		defaultProbe(p)
	}
	if e := t.EndpointsChange; e != nil && len(e.Events) == 0 {
		e.Events = []autorebootv1.EndpointsEvent{autorebootv1.EndpointsAddressesChanged, autorebootv1.EndpointsFailedOver}
	}
}

func defaultProbe(p *autorebootv1.Probe) {
	rules.DefaultCheck(&p.Check, rules.ProbeDefaults)
	rules.SetDefault(&p.MinUnhealthy, intstr.FromString(DefaultMinUnhealthy))
}
