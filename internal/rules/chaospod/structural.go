// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package chaospod

import (
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	chaosv1 "github.com/fairlead-dev/fairlead/api/chaos/v1"
	"github.com/fairlead-dev/fairlead/api/common"
	"github.com/fairlead-dev/fairlead/internal/rules"
)

var specPath = rules.At("spec")

// Structural repeats the CRD's schema and CEL rules, transition rules included where old
// is given. It exists because the API server checks those only at the version of the request: an
// object written at v1alpha1 reaches storage without them. What the schema says of the inside of
// target.template is left to Semantic, and to the API server when the pod is made.
func Structural(obj, old *chaosv1.ChaosPod) field.ErrorList {
	spec := &obj.Spec
	errs := rules.Name(obj.Name)
	errs = append(errs, rules.Text(specPath.Child("serviceAccountName"), spec.ServiceAccountName, 0, 253)...)
	errs = append(errs, target(specPath.Child("target"), &spec.Target)...)
	errs = append(errs, schedule(specPath.Child("schedule"), &spec.Schedule)...)
	errs = append(errs, action(specPath.Child("action"), spec.Action)...)
	errs = append(errs, rules.IntOrPercent(specPath.Child("count"), spec.Count)...)
	errs = append(errs, filter(specPath.Child("filter"), spec.Filter)...)
	errs = append(errs, safety(specPath.Child("safety"), spec.Safety)...)
	errs = append(errs, rules.Calendar(specPath, &spec.Calendar)...)
	if v := spec.Verification; v != nil {
		errs = append(errs, rules.Verification(specPath.Child("verification"), v)...)
	}
	errs = append(errs, rules.HistoryLimit(specPath.Child("historyLimit"), spec.HistoryLimit)...)
	if spec.Target.Template != nil && spec.Count != nil && *spec.Count != intstr.FromInt32(1) {
		errs = append(errs, field.Invalid(specPath.Child("count").Field(), spec.Count.String(), "count must be 1 with target.template"))
	}
	return append(errs, transition(obj, old)...)
}

// transition refuses to turn an object that acts on others' pods into one that owns a pod, or
// back. Above all it stops a v1alpha1 writer, who sees every object as a template.
func transition(obj, old *chaosv1.ChaosPod) field.ErrorList {
	if old == nil || (obj.Spec.Target.Template == nil) == (old.Spec.Target.Template == nil) {
		return nil
	}
	return field.ErrorList{field.Invalid(specPath.Child("target").Field(), targetModes(&obj.Spec.Target),
		"target.template cannot be added or removed: delete the object and create it again")}
}

func target(path rules.Path, t *chaosv1.Target) field.ErrorList {
	var errs field.ErrorList
	if modes := targetModes(t); strings.Contains(modes, " ") || modes == "" {
		errs = append(errs, field.Invalid(path.Field(), modes, "set exactly one of workload, selector, template"))
	}
	errs = append(errs, rules.Workload(path.Child("workload"), t.Workload, common.WorkloadDeployment,
		common.WorkloadStatefulSet, common.WorkloadDaemonSet, common.WorkloadReplicaSet, common.WorkloadRollout)...)
	return append(errs, rules.Selector(path.Child("selector"), t.Selector)...)
}

// targetModes names the members that are set, so that an error distinguishes one wrong target from
// another.
func targetModes(t *chaosv1.Target) string {
	var modes []string
	for _, mode := range []struct {
		name string
		set  bool
	}{{"workload", t.Workload != nil}, {"selector", t.Selector != nil}, {"template", t.Template != nil}} {
		if mode.set {
			modes = append(modes, mode.name)
		}
	}
	return strings.Join(modes, " ")
}

func schedule(path rules.Path, s *chaosv1.Schedule) field.ErrorList {
	errs := rules.TimeZone(path.Child("timeZone"), s.TimeZone)
	if s.Cron != "" {
		errs = append(errs, rules.Cron(path.Child("cron"), s.Cron)...)
	}
	if s.Interval != "" {
		span, ok, durationErrs := rules.Duration(path.Child("interval"), s.Interval)
		errs = append(errs, durationErrs...)
		if ok && span < 10*time.Second {
			errs = append(errs, field.Invalid(path.Child("interval").Field(), string(s.Interval), "interval must be at least 10s"))
		}
	}
	errs = append(errs, rules.Range(path.Child("jitterPercent"), ptr.Deref(s.JitterPercent, 0), 0, 50)...)
	_, _, deadlineErrs := rules.OptionalDuration(path.Child("startingDeadline"), s.StartingDeadline)
	errs = append(errs, deadlineErrs...)

	if s.Cron != "" && s.Interval != "" {
		errs = append(errs, field.Invalid(path.Field(), string(s.Cron)+", "+string(s.Interval), "cron and interval exclude each other"))
	}
	if s.Cron == "" && s.Interval == "" && s.At.IsZero() {
		errs = append(errs, field.Invalid(path.Field(), "", "set one of cron, interval, at"))
	}
	if s.TimeZone != "" && s.Cron == "" {
		errs = append(errs, field.Invalid(path.Child("timeZone").Field(), string(s.TimeZone), "timeZone goes with cron"))
	}
	return errs
}

func action(path rules.Path, a *chaosv1.Action) field.ErrorList {
	if a == nil {
		return nil
	}
	kind := ptr.Deref(a.Type, chaosv1.ActionEvict)
	errs := rules.Enum(path.Child("type"), kind, chaosv1.ActionEvict, chaosv1.ActionDelete)
	if a.GracePeriodSeconds == nil {
		return errs
	}
	errs = append(errs, rules.Range(path.Child("gracePeriodSeconds"), *a.GracePeriodSeconds, 0, 86400)...)
	if *a.GracePeriodSeconds <= 0 && (kind != chaosv1.ActionDelete || !ptr.Deref(a.AllowForceDelete, false)) {
		errs = append(errs, field.Invalid(path.Child("gracePeriodSeconds").Field(), *a.GracePeriodSeconds,
			"gracePeriodSeconds 0 needs type Delete and allowForceDelete"))
	}
	return errs
}

func filter(path rules.Path, f *chaosv1.Filter) field.ErrorList {
	if f == nil {
		return nil
	}
	_, _, errs := rules.OptionalDuration(path.Child("minAge"), f.MinAge)
	return append(errs, rules.Selector(path.Child("exclude"), f.Exclude)...)
}

func safety(path rules.Path, s *chaosv1.Safety) field.ErrorList {
	if s == nil {
		return nil
	}
	errs := rules.IntOrPercent(path.Child("minReady"), s.MinReady)
	return append(errs, rules.Range(path.Child("maxPerDay"), ptr.Deref(s.MaxPerDay, 1), 1, 10000)...)
}
