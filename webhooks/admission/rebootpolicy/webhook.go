// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	"context"
	"net/http"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/api/common"
	rules "github.com/fairlead-dev/fairlead/internal/rules/rebootpolicy"
	"github.com/fairlead-dev/fairlead/internal/workloadkinds"
	"github.com/fairlead-dev/fairlead/webhooks/admission"
	"github.com/fairlead-dev/fairlead/webhooks/admission/authorization"
	"github.com/fairlead-dev/fairlead/webhooks/admission/warnings"
)

// Options of the webhooks. All but Workloads are required.
type Options struct {
	// Handler has the bounds, the logger and the registerer; its Kind is set here.
	Handler admission.Options
	// Policy decides which addresses may be probed.
	Policy authorization.Policy
	// Reviewer reports what a writer may do.
	Reviewer authorization.Reviewer
	// Warnings reads what the warnings are about.
	Warnings *warnings.Reader
	// Workloads are the kinds of other projects that may be targets.
	Workloads []workloadkinds.Kind
}

type webhook struct {
	options    Options
	authorizer *authorizer
}

// New returns the handlers of both webhooks by path.
func New(o Options) map[string]http.Handler {
	w := &webhook{options: o, authorizer: newAuthorizer(o.Reviewer, o.Policy)}
	handler := o.Handler
	handler.Kind = autorebootv1.GroupVersion.WithKind("RebootPolicy")
	return admission.Handlers(handler,
		admission.Mutator[*autorebootv1.RebootPolicy]{
			Default: rules.DefaultMaps,
			Stamp:   w.authorizer.Stamp,
		},
		admission.Validator[*autorebootv1.RebootPolicy]{Validate: w.validate})
}

func (w *webhook) validate(ctx context.Context, req admission.Request, obj, old *autorebootv1.RebootPolicy) ([]string, field.ErrorList) {
	warnings := rules.Warnings(obj, old)
	warnings = append(warnings, w.budgets(ctx, obj)...)
	warnings = append(warnings, w.rollouts(ctx, obj)...)
	warnings = append(warnings, w.overlaps(ctx, obj)...)

	errs := rules.Validate(obj, old)
	var was *autorebootv1.RebootPolicySpec
	if old != nil {
		was = &old.Spec
	}
	errs = append(errs, unconfigured(field.NewPath("spec"), w.options.Workloads, &obj.Spec, was)...)
	if len(errs) > 0 {
		// The rights are not reviewed for an invalid object: each review costs a request, and the object must change
		// anyway.
		return warnings, errs
	}
	more, errs := w.authorizer.Validate(ctx, req, obj, old)
	return append(warnings, more...), errs
}

// unconfigured refuses targets of kinds that the operator's configuration does not have, unless the old spec has the
// kind too.
func unconfigured(at *field.Path, configured []workloadkinds.Kind, spec, old *autorebootv1.RebootPolicySpec) (errs field.ErrorList) {
	var known []common.WorkloadKind
	if old != nil {
		known = rules.OptionalKinds(old)
	}
	for i := range spec.Targets {
		kind := rules.KindsOf(&spec.Targets[i])[0]
		isOther := workloadkinds.IsOptional(kind) && kind != common.WorkloadRollout
		if isOther && !slices.Contains(known, kind) && workloadkinds.Find(configured, kind) == nil {
			errs = append(errs, field.Invalid(at.Child("targets").Index(i).Child("kind"), kind.Name(), workloadkinds.NotConfigured(kind)))
		}
	}
	return errs
}
