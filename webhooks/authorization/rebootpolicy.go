// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package authorization

import (
	"context"

	"k8s.io/apimachinery/pkg/util/validation/field"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/internal/approval"
	"github.com/fairlead-dev/fairlead/webhooks/admission"
)

// RebootPolicyOptions of the authorization of RebootPolicies. All are required.
type RebootPolicyOptions struct {
	Policy   Policy
	Reviewer Reviewer
}

// RebootPolicy authorizes writers of RebootPolicies. Its methods are a Stamp and a Validate of package
// admission.
type RebootPolicy struct {
	options     RebootPolicyOptions
	entitlement entitlement[autorebootv1.RebootPolicy, *autorebootv1.RebootPolicy]
}

// NewRebootPolicy makes the authorization.
func NewRebootPolicy(o RebootPolicyOptions) *RebootPolicy {
	return &RebootPolicy{options: o, entitlement: entitlement[autorebootv1.RebootPolicy, *autorebootv1.RebootPolicy]{
		reviewer: o.Reviewer,
		kind:     "policy",
		needs: func(obj *autorebootv1.RebootPolicy, namespace string) []need {
			return needsOf(&obj.Spec, namespace)
		},
		digest: func(obj *autorebootv1.RebootPolicy) string { return approval.RebootPolicyDigest(&obj.Spec) },
		wakes: func(obj, old *autorebootv1.RebootPolicy) bool {
			return woken(obj, old) || asks(obj, old, autorebootv1.RestartNowAnnotation, autorebootv1.ResumeAnnotation)
		},
	}}
}

// Stamp decides the annotation that says who was entitled to what obj does.
func (a *RebootPolicy) Stamp(ctx context.Context, req admission.Request, obj, old *autorebootv1.RebootPolicy) (map[string]string, error) {
	return a.entitlement.stamp(ctx, req, obj, old)
}

// Validate refuses what the writer is not entitled to. Of an update it judges what changed, so that
// what stands already may stay while something else is repaired.
func (a *RebootPolicy) Validate(ctx context.Context, req admission.Request, obj, old *autorebootv1.RebootPolicy) ([]string, field.ErrorList) {
	if req.SubResource != "" || !obj.DeletionTimestamp.IsZero() {
		return nil, nil
	}
	warnings, errs := a.entitlement.rights(ctx, req, obj, old)
	return warnings, append(errs, a.hosts(req, obj, old)...)
}

// woken says whether obj begins to act: from now on things are done for it that were only thought of.
func woken(obj, old *autorebootv1.RebootPolicy) bool {
	return unset(old.Spec.Suspend, obj.Spec.Suspend) || unset(old.Spec.DryRun, obj.Spec.DryRun)
}
