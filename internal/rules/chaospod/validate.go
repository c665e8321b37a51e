// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package chaospod

import (
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	chaosv1 "github.com/fairlead-dev/fairlead/api/chaos/v1"
	"github.com/fairlead-dev/fairlead/internal/rules"
)

var specPath = rules.At("spec")

// Validate checks what schema and CEL cannot express. Cron expressions parse and fire, time zones exist, selectors
// compile, and names could exist. The template is one of a pod, and annotations that request something are valid. It
// accepts what the old object has as well; old may be nil.
func Validate(obj, old *chaosv1.ChaosPod) field.ErrorList { return rules.Ratchet(obj, old, violations) }

func violations(obj *chaosv1.ChaosPod) field.ErrorList {
	spec := &obj.Spec
	errs := rules.Tokens(obj.Annotations, chaosv1.RunNowAnnotation, chaosv1.RetryAnnotation)
	errs = append(errs, subdomain(specPath.Child("serviceAccountName"), spec.ServiceAccountName)...)
	errs = append(errs, target(specPath.Child("target"), &spec.Target)...)
	errs = append(errs, schedule(specPath.Child("schedule"), &spec.Schedule)...)
	if spec.Action != nil {
		errs = append(errs, rules.Known(specPath.Child("action", "type"), spec.Action.Type, chaosv1.ActionEvict, chaosv1.ActionDelete)...)
	}
	if spec.Filter != nil {
		errs = append(errs, rules.Selector(specPath.Child("filter", "exclude"), spec.Filter.Exclude)...)
	}
	errs = append(errs, rules.Calendar(specPath, &spec.Calendar)...)
	if spec.Verification != nil {
		errs = append(errs, rules.Verification(specPath.Child("verification"), spec.Verification)...)
	}
	return errs
}

func target(path rules.Path, t *chaosv1.Target) field.ErrorList {
	var errs field.ErrorList
	if w := t.Workload; w != nil {
		errs = append(errs, subdomain(path.Child("workload", "name"), w.Name)...)
	}
	errs = append(errs, rules.Selector(path.Child("selector"), t.Selector)...)
	if t.Template != nil {
		errs = append(errs, podTemplate(path.Child("template"), t.Template)...)
	}
	return errs
}

func schedule(path rules.Path, s *chaosv1.Schedule) field.ErrorList {
	errs := rules.Positive(path.Child("startingDeadline"), s.StartingDeadline)
	return append(errs, rules.Cron(path, s.Cron, s.TimeZone)...)
}

func subdomain(path rules.Path, name string) field.ErrorList {
	return rules.Reasons(path, name, validation.IsDNS1123Subdomain)
}
