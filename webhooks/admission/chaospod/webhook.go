// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package chaospod

import (
	"context"
	"net/http"

	"k8s.io/apimachinery/pkg/util/validation/field"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"

	chaosv1 "github.com/fairlead-dev/fairlead/api/chaos/v1"
	rules "github.com/fairlead-dev/fairlead/internal/rules/chaospod"
	"github.com/fairlead-dev/fairlead/webhooks/admission"
	"github.com/fairlead-dev/fairlead/webhooks/admission/authorization"
	"github.com/fairlead-dev/fairlead/webhooks/admission/warnings"
)

// Options of the webhooks. All but Pods are required.
type Options struct {
	// Handler has the bounds, the logger and the registerer; its Kind is set here.
	Handler admission.Options
	// Policy decides which addresses may be probed.
	Policy authorization.Policy
	// Reviewer reports what a writer may do.
	Reviewer authorization.Reviewer
	// Warnings reads what the warnings are about.
	Warnings *warnings.Reader
	// Pods creates the pods of templates as a dry run. Defaults to nil: they are not tested.
	Pods corev1client.PodsGetter
}

type webhook struct {
	options    Options
	authorizer *authorizer
}

// New returns the handlers of both webhooks by path.
func New(o Options) map[string]http.Handler {
	w := &webhook{options: o, authorizer: newAuthorizer(o.Reviewer, o.Policy)}
	handler := o.Handler
	handler.Kind = chaosv1.GroupVersion.WithKind("ChaosPod")
	return admission.Handlers(handler,
		admission.Mutator[*chaosv1.ChaosPod]{
			Default: rules.DefaultMaps,
			Stamp:   w.authorizer.Stamp,
		},
		admission.Validator[*chaosv1.ChaosPod]{Fields: rules.ValidateFields, Validate: w.validate})
}

func (w *webhook) validate(ctx context.Context, req admission.Request, obj, old *chaosv1.ChaosPod) ([]string, field.ErrorList) {
	warnings := rules.Warnings(obj, old)
	warnings = append(warnings, w.budgets(ctx, obj)...)
	warnings = append(warnings, w.overlaps(ctx, obj)...)

	errs := rules.Validate(obj, old)
	if len(errs) > 0 {
		// The rights are not reviewed for an invalid object: each review costs a request, and the object must change
		// anyway.
		return warnings, errs
	}
	more, errs := w.authorizer.Validate(ctx, req, obj, old)
	if len(errs) == 0 {
		errs = w.tried(ctx, obj, old)
	}
	return append(warnings, more...), errs
}
