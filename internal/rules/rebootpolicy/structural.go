// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	"regexp"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/api/common"
	"github.com/fairlead-dev/fairlead/internal/rules"
)

var specPath = rules.At("spec")

// Structural repeats the CRD's schema and CEL rules. It exists because the API server
// checks those only at the version of the request: an object written at v1alpha1 reaches storage
// without them. The kind has no transition rules, so the old object does not matter.
func Structural(obj, _ *autorebootv1.RebootPolicy) field.ErrorList {
	spec := &obj.Spec
	errs := rules.Name(obj.Name)
	errs = append(errs, rules.Text(specPath.Child("serviceAccountName"), spec.ServiceAccountName, 0, 253)...)
	errs = append(errs, targets(specPath.Child("targets"), spec.Targets)...)
	if spec.Compatibility != "" {
		errs = append(errs, rules.Enum(specPath.Child("compatibility"), spec.Compatibility,
			autorebootv1.CompatibilityReloader, autorebootv1.CompatibilityWave)...)
	}
	errs = append(errs, triggers(specPath.Child("triggers"), spec.Triggers)...)
	errs = append(errs, strategy(specPath.Child("strategy"), spec.Strategy)...)
	errs = append(errs, debounce(specPath.Child("debounce"), spec.Debounce)...)
	errs = append(errs, cooldown(spec)...)
	errs = append(errs, limit(specPath.Child("limit"), spec.Limit)...)
	errs = append(errs, retry(specPath.Child("retry"), spec.Retry)...)
	errs = append(errs, concurrency(specPath.Child("concurrency"), spec.Concurrency)...)
	errs = append(errs, rules.Calendar(specPath, &spec.Calendar)...)
	errs = append(errs, gates(specPath.Child("gates"), spec.Gates)...)
	errs = append(errs, verification(specPath.Child("verification"), spec.Verification)...)
	return append(errs, rules.HistoryLimit(specPath.Child("historyLimit"), spec.HistoryLimit)...)
}

func targets(path rules.Path, list []autorebootv1.Target) field.ErrorList {
	errs := rules.Items(path, len(list), 1, 32)
	seen := map[common.WorkloadReference]bool{}
	list = rules.Within(list, 32)
	for i := range list {
		t, at := &list[i], path.Index(i)
		errs = append(errs, rules.Text(at.Child("group"), t.Group, 0, 253)...)
		isOther := common.KindOfGroup(t.Group, t.Kind) != t.Kind
		switch {
		case isOther && t.Kind == "":
			errs = append(errs, field.Invalid(at.Field(), t.Group, "kind is required with a group other than apps and argoproj.io"))
		case isOther:
			errs = append(errs, rules.Text(at.Child("kind"), string(t.Kind), 1, 63)...)
			if !otherKind.MatchString(string(t.Kind)) {
				errs = append(errs, field.Invalid(at.Child("kind").Field(), t.Kind,
					rules.KindMustBe(targetKinds)+", or with another group a name such as CloneSet"))
			}
		case t.Kind != "":
			errs = append(errs, rules.WorkloadKind(at.Child("kind"), t.Group, t.Kind, targetKinds...)...)
		case t.Name != "":
			errs = append(errs, field.Invalid(at.Field(), t.Name, "kind is required with name"))
		}
		errs = append(errs, named(at, t.Name, t.Selector)...)
		if t.OptIn != nil {
			errs = append(errs, rules.Enum(at.Child("optIn"), *t.OptIn, autorebootv1.OptInAll, autorebootv1.OptInAnnotation)...)
			if t.Selector == nil {
				errs = append(errs, field.Invalid(at.Field(), *t.OptIn, "optIn needs selector"))
			}
		}
		errs = append(errs, rules.OptionalRange(at.Child("wave"), t.Wave, 0, 99)...)
		if w := (common.WorkloadReference{Kind: common.KindOfGroup(t.Group, t.Kind), Name: t.Name}); t.Kind != "" && w.Name != "" {
			if seen[w] {
				errs = append(errs, field.Invalid(at.Field(), t.Name, "a target may be listed once"))
			}
			seen[w] = true
		}
	}
	return errs
}

var (
	// appsKinds are the kinds of the group apps that can be restarted, and targetKinds all that can be.
	appsKinds   = []common.WorkloadKind{common.WorkloadDeployment, common.WorkloadStatefulSet, common.WorkloadDaemonSet}
	targetKinds = append(slices.Clone(appsKinds), common.WorkloadRollout)

	// otherKind is what a kind of another group looks like.
	otherKind = regexp.MustCompile(`^[A-Z][A-Za-z0-9]*$`)
)

// KindsOf returns the kinds of the workloads of a target, as a status has them: its own, or all of its group that can be
// restarted.
func KindsOf(t *autorebootv1.Target) []common.WorkloadKind {
	switch {
	case t.Kind != "":
		return []common.WorkloadKind{common.KindOfGroup(t.Group, t.Kind)}
	case t.Group == common.RolloutsGroup:
		return []common.WorkloadKind{common.WorkloadRollout}
	}
	return appsKinds
}

// OptionalKinds returns the kinds of the targets of a spec that a cluster need not have, each once.
func OptionalKinds(spec *autorebootv1.RebootPolicySpec) []common.WorkloadKind {
	var all []common.WorkloadKind
	for i := range spec.Targets {
		for _, kind := range KindsOf(&spec.Targets[i]) {
			if kind.Group() != common.AppsGroup && !slices.Contains(all, kind) {
				all = append(all, kind)
			}
		}
	}
	return all
}

// named checks the two ways to name objects: one by its name, or several by their labels.
func named(path rules.Path, name string, selector *common.LabelSelector) field.ErrorList {
	var errs field.ErrorList
	if (name != "") == (selector != nil) {
		errs = append(errs, field.Invalid(path.Field(), name, "set exactly one of name or selector"))
	}
	errs = append(errs, rules.Text(path.Child("name"), name, 0, 253)...)
	return append(errs, rules.Selector(path.Child("selector"), selector)...)
}

func strategy(path rules.Path, s *autorebootv1.Strategy) field.ErrorList {
	if s == nil {
		return nil
	}
	errs := rules.Enum(path.Child("type"), s.Type, autorebootv1.StrategyRolloutRestart, autorebootv1.StrategyEvict)
	if s.Evict == nil {
		return errs
	}
	if s.Type != autorebootv1.StrategyEvict {
		errs = append(errs, field.Invalid(path.Field(), s.Type, "evict needs type Evict"))
	}
	errs = append(errs, rules.IntOrPercent(path.Child("evict", "maxUnavailable"), s.Evict.MaxUnavailable)...)
	return append(errs, rules.ClaimDuration(path.Child("evict", "timeout"), s.Evict.Timeout)...)
}

func debounce(path rules.Path, d *autorebootv1.Debounce) field.ErrorList {
	if d == nil {
		return nil
	}
	return rules.Ordered(path, "quietPeriod", d.QuietPeriod, "maxDelay", d.MaxDelay)
}

// cooldown checks the span by itself, and with the triggers that need it.
func cooldown(spec *autorebootv1.RebootPolicySpec) field.ErrorList {
	path := specPath.Child("cooldown")
	if spec.Cooldown == nil {
		if HasProbe(spec) {
			return field.ErrorList{field.Required(path.Field(), "cooldown is required with a Probe trigger")}
		}
		return nil
	}
	rest, ok, errs := rules.Duration(path, *spec.Cooldown)
	for i := range spec.Triggers {
		age := spec.Triggers[i].PodAge
		if age == nil || !ok {
			continue
		}
		if span, err := age.Max.Parse(); err == nil && span < rest {
			errs = append(errs, field.Invalid(specPath.Child("triggers").Index(i).Child("podAge", "max").Field(), string(age.Max),
				"podAge.max must not be below cooldown"))
		}
	}
	return errs
}

func limit(path rules.Path, l *autorebootv1.Limit) field.ErrorList {
	if l == nil {
		return nil
	}
	_, _, errs := rules.Duration(path.Child("within"), l.Within)
	return append(errs, rules.Range(path.Child("maxRestarts"), l.MaxRestarts, 1, 100)...)
}

func retry(path rules.Path, r *autorebootv1.Retry) field.ErrorList {
	if r == nil {
		return nil
	}
	errs := rules.OptionalRange(path.Child("maxAttempts"), r.MaxAttempts, 0, 20)
	errs = append(errs, optionalDuration(path.Child("backoff"), r.Backoff)...)
	errs = append(errs, optionalDuration(path.Child("maxBackoff"), r.MaxBackoff)...)
	return append(errs, optionalDuration(path.Child("resetAfter"), r.ResetAfter)...)
}

func concurrency(path rules.Path, c *autorebootv1.Concurrency) field.ErrorList {
	if c == nil {
		return nil
	}
	errs := rules.IntOrPercent(path.Child("maxTargets"), c.MaxTargets)
	return append(errs, rules.Text(path.Child("group"), c.Group, 0, 63)...)
}

func verification(path rules.Path, v *autorebootv1.Verification) field.ErrorList {
	if v == nil {
		return nil
	}
	errs := rules.Verification(path, &v.Verification)
	if n := v.MaxContainerRestarts; n != nil && *n < 0 {
		errs = append(errs, field.Invalid(path.Child("maxContainerRestarts").Field(), *n, "must not be negative"))
	}
	return errs
}

func optionalDuration(path rules.Path, d *common.Duration) field.ErrorList {
	_, _, errs := rules.OptionalDuration(path, d)
	return errs
}
