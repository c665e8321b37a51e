// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package externalservice

import (
	"context"
	"net/http"

	"k8s.io/apimachinery/pkg/util/validation/field"

	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	rules "github.com/fairlead-dev/fairlead/internal/rules/externalservice"
	"github.com/fairlead-dev/fairlead/webhooks/admission"
	"github.com/fairlead-dev/fairlead/webhooks/admission/authorization"
)

// Options of the webhooks. All except Finalize are required.
type Options struct {
	// Handler has the bounds, the logger and the registerer; its Kind is set here.
	Handler admission.Options
	// Policy decides which addresses may be published.
	Policy Policy
	// Reviewer reports what a writer may do.
	Reviewer authorization.Reviewer
	// Services reads the Services of the cluster.
	Services ServiceReader
	// Isolation reads which pods a NetworkPolicy would isolate.
	Isolation IsolationReader
	// Finalize adds the reconciler's finalizer to objects that are created, which saves the reconciler a write. It also
	// adds it to objects that are updated without it, such as by a replace. Set it only in a process that reconciles
	// every namespace: without a reconciler, an object with a finalizer cannot be deleted. Defaults to false.
	Finalize bool
}

type webhook struct {
	options    Options
	authorizer *authorizer
}

// New returns the handlers of both webhooks by path.
func New(o Options) map[string]http.Handler {
	w := &webhook{options: o, authorizer: &authorizer{o.Policy, o.Reviewer, o.Services, o.Isolation}}
	handler := o.Handler
	handler.Kind = networkingv1.GroupVersion.WithKind("ExternalService")
	mutator := admission.Mutator[*networkingv1.ExternalService]{
		Default: rules.DefaultMaps,
		Stamp:   w.authorizer.Stamp,
	}
	if o.Finalize {
		mutator.Finalizer = rules.UnpublishFinalizer
	}
	return admission.Handlers(handler, mutator,
		admission.Validator[*networkingv1.ExternalService]{Validate: w.validate})
}

func (w *webhook) validate(ctx context.Context, req admission.Request, obj, old *networkingv1.ExternalService) ([]string, field.ErrorList) {
	warnings := rules.Warnings(obj, old)

	errs := rules.Validate(obj, old)
	if len(errs) > 0 {
		// The rights are not reviewed for an invalid object: each review costs a request, and the object must change
		// anyway.
		return warnings, errs
	}
	more, errs := w.authorizer.Validate(ctx, req, obj, old)
	return append(warnings, more...), errs
}
