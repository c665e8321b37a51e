// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package chaospod

import (
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	chaosv1 "github.com/fairlead-dev/fairlead/api/chaos/v1"
	"github.com/fairlead-dev/fairlead/internal/rules"
)

// Semantic checks what schema and CEL cannot express: cron expressions parse and fire, time zones exist,
// selectors compile, names could exist, the template makes a pod, and the
// annotations by which a user requests something can be read.
func Semantic(obj, _ *chaosv1.ChaosPod) field.ErrorList {
	spec := &obj.Spec
	errs := rules.Tokens(obj.Annotations, chaosv1.RunNowAnnotation, chaosv1.ResumeAnnotation)
	errs = append(errs, subdomain(specPath.Child("serviceAccountName"), spec.ServiceAccountName)...)
	errs = append(errs, targetSemantics(specPath.Child("target"), &spec.Target)...)
	errs = append(errs, scheduleSemantics(specPath.Child("schedule"), &spec.Schedule)...)
	if spec.Filter != nil {
		errs = append(errs, rules.SelectorSyntax(specPath.Child("filter", "exclude"), spec.Filter.Exclude)...)
	}
	errs = append(errs, rules.CalendarSyntax(specPath, &spec.Calendar)...)
	if spec.Verification != nil {
		errs = append(errs, rules.VerificationSemantics(specPath.Child("verification"), spec.Verification)...)
	}
	return errs
}

func targetSemantics(path rules.Path, t *chaosv1.Target) field.ErrorList {
	var errs field.ErrorList
	if w := t.Workload; w != nil {
		errs = append(errs, subdomain(path.Child("workload", "name"), w.Name)...)
	}
	errs = append(errs, rules.SelectorSyntax(path.Child("selector"), t.Selector)...)
	if t.Template != nil {
		errs = append(errs, podTemplate(path.Child("template"), t.Template)...)
	}
	return errs
}

func scheduleSemantics(path rules.Path, s *chaosv1.Schedule) field.ErrorList {
	errs := rules.Positive(path.Child("startingDeadline"), s.StartingDeadline)
	return append(errs, rules.CronSyntax(path, s.Cron, s.TimeZone)...)
}

func subdomain(path rules.Path, name string) field.ErrorList {
	return rules.Reasons(path, name, validation.IsDNS1123Subdomain)
}
