// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	"context"
	"net/http"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/internal/approval"
	rules "github.com/fairlead-dev/fairlead/internal/rules/rebootpolicy"
	"github.com/fairlead-dev/fairlead/internal/workloadkinds"
	"github.com/fairlead-dev/fairlead/webhooks/admission"
	"github.com/fairlead-dev/fairlead/webhooks/admission/authorization"
)

// ClusterOptions of the webhooks of ClusterRebootPolicies.
type ClusterOptions struct {
	// Handler has the bounds, the logger and the registerer; its Kind is set here.
	Handler admission.Options
	// Reviewer reports what a writer may do.
	Reviewer authorization.Reviewer
	// Workloads are the kinds of other projects that may be targets.
	Workloads []workloadkinds.Kind
	// Unavailable is why no ClusterRebootPolicy can be created here; "" if it can.
	Unavailable string
}

// NewCluster returns the handlers of both webhooks of ClusterRebootPolicies by path. A writer needs the rights of the
// template in all namespaces, which one review covers. The hosts of probes are checked when the policies are created.
func NewCluster(o ClusterOptions) map[string]http.Handler {
	authorizer := &authorization.Entitlement[autorebootv1.ClusterRebootPolicy, *autorebootv1.ClusterRebootPolicy]{
		Reviewer: o.Reviewer,
		Noun:     "policy",
		Needs: func(obj *autorebootv1.ClusterRebootPolicy, _ string) []authorization.Need {
			return needs(field.NewPath("spec", "template", "spec"), &obj.Spec.Template.Spec, "")
		},
		Digest: approval.ClusterRebootPolicyDigest,
		Starts: func(obj, old *autorebootv1.ClusterRebootPolicy) bool {
			is, was := &obj.Spec.Template.Spec, &old.Spec.Template.Spec
			return ptr.Deref(was.Suspend, false) && !ptr.Deref(is.Suspend, false) || ptr.Deref(was.DryRun, false) && !ptr.Deref(is.DryRun, false)
		},
	}
	handler := o.Handler
	handler.Kind = autorebootv1.GroupVersion.WithKind("ClusterRebootPolicy")
	validate := func(ctx context.Context, req admission.Request, obj, old *autorebootv1.ClusterRebootPolicy) ([]string, field.ErrorList) {
		if o.Unavailable != "" && old == nil {
			return nil, field.ErrorList{field.Forbidden(field.NewPath("spec"), o.Unavailable)}
		}
		warnings, errs := rules.ClusterWarnings(obj, old), rules.ValidateCluster(obj, old)
		var was *autorebootv1.RebootPolicySpec
		if old != nil {
			was = &old.Spec.Template.Spec
		}
		errs = append(errs, unconfigured(field.NewPath("spec", "template", "spec"), o.Workloads, &obj.Spec.Template.Spec, was)...)
		if len(errs) > 0 {
			return warnings, errs
		}
		more, errs := authorizer.Validate(ctx, req, obj, old)
		if old != nil && obj.DeletionTimestamp.IsZero() {
			at := field.NewPath("spec", "template", "spec", "gates")
			needs := ungated(at, &obj.Spec.Template.Spec, &old.Spec.Template.Spec, "", "")
			errs = append(errs, authorization.Refusals(ctx, o.Reviewer, req, needs)...)
		}
		return append(warnings, more...), errs
	}
	return admission.Handlers(handler,
		admission.Mutator[*autorebootv1.ClusterRebootPolicy]{
			Default: func(*autorebootv1.ClusterRebootPolicy) {}, Stamp: authorizer.Stamp,
		},
		admission.Validator[*autorebootv1.ClusterRebootPolicy]{Validate: validate})
}
