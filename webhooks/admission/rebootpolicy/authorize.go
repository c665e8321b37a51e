// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	"context"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/internal/approval"
	"github.com/fairlead-dev/fairlead/webhooks/admission"
	"github.com/fairlead-dev/fairlead/webhooks/admission/authorization"
)

// authorizer decides whether the writer of a RebootPolicy has the rights to what the policy does.
type authorizer struct {
	authorization.Entitlement[autorebootv1.RebootPolicy, *autorebootv1.RebootPolicy]
	policy authorization.Policy
}

func newAuthorizer(reviewer authorization.Reviewer, policy authorization.Policy) *authorizer {
	return &authorizer{policy: policy, Entitlement: authorization.Entitlement[autorebootv1.RebootPolicy, *autorebootv1.RebootPolicy]{
		Reviewer: reviewer,
		Noun:     "policy",
		Needs: func(obj *autorebootv1.RebootPolicy, namespace string) []authorization.Need {
			return needs(field.NewPath("spec"), &obj.Spec, namespace)
		},
		Digest:   func(obj *autorebootv1.RebootPolicy) string { return approval.RebootPolicyDigest(&obj.Spec) },
		Starts:   starts,
		Commands: []string{autorebootv1.RestartNowAnnotation, autorebootv1.RetryAnnotation},
	}}
}

// Validate refuses what the writer has no right to, and hosts that no writer may have probed.
func (a *authorizer) Validate(ctx context.Context, req admission.Request, obj, old *autorebootv1.RebootPolicy) ([]string, field.ErrorList) {
	if req.SubResource != "" || !obj.DeletionTimestamp.IsZero() {
		return nil, nil
	}
	warnings, errs := a.Entitlement.Validate(ctx, req, obj, old)
	errs = append(errs, authorization.Refusals(ctx, a.Reviewer, req, approvals(req, obj, old))...)
	return warnings, append(errs, a.hosts(req, obj, old)...)
}

// starts reports whether obj is no longer suspended, is no longer a dry run, or now restarts for injected faults too.
func starts(obj, old *autorebootv1.RebootPolicy) bool {
	return ptr.Deref(old.Spec.Suspend, false) && !ptr.Deref(obj.Spec.Suspend, false) ||
		ptr.Deref(old.Spec.DryRun, false) && !ptr.Deref(obj.Spec.DryRun, false) ||
		restartsForFaults(obj) && !restartsForFaults(old)
}

func restartsForFaults(obj *autorebootv1.RebootPolicy) bool {
	return obj.Annotations[autorebootv1.OnInjectedFaultAnnotation] == autorebootv1.OnInjectedFaultRestart
}
