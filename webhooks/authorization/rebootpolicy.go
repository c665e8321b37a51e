// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package authorization

import (
	"context"
	"errors"
	"fmt"

	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/api/common"
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
	options RebootPolicyOptions
}

// NewRebootPolicy makes the authorization.
func NewRebootPolicy(o RebootPolicyOptions) *RebootPolicy { return &RebootPolicy{options: o} }

// Stamp decides the annotation that says who was entitled to what obj does. Whoever leaves that as it
// is keeps the approval that stands. Where none stands, whoever leaves it as it is approves it only by
// asking to, with any value of that annotation of their own: controllers that may do much touch
// objects too, such as to take a finalizer away, and mean nothing by it.
func (a *RebootPolicy) Stamp(ctx context.Context, req admission.Request, obj, old *autorebootv1.RebootPolicy) (map[string]string, error) {
	stamp := func(value string) (map[string]string, error) {
		return map[string]string{common.ApprovedByAnnotation: value}, nil
	}
	given, stood := approvalOf(obj), approvalOf(old)
	same := sameEffect(obj, old)
	switch {
	case req.SubResource != "":
		return nil, nil
	case !obj.DeletionTimestamp.IsZero(), same && approval.RebootPolicyApproved(old):
		return stamp(stood)
	case same && (given == "" || given == stood):
		return stamp("")
	}
	lacking, err := a.lacking(ctx, req, obj)
	switch {
	case errors.As(err, new(tooMany)): // Validate says so
		return stamp("")
	case err != nil:
		return nil, later(req, unanswered(req, err))
	case len(lacking) > 0: // Validate says so, right by right
		return stamp("")
	}
	return stamp(approval.RebootPolicyValue(obj, req.User.Username))
}

// Validate refuses what the writer is not entitled to. Of an update it judges what changed, so that
// what stands already may stay while something else is repaired.
func (a *RebootPolicy) Validate(ctx context.Context, req admission.Request, obj, old *autorebootv1.RebootPolicy) ([]string, field.ErrorList) {
	if req.SubResource != "" || !obj.DeletionTimestamp.IsZero() {
		return nil, nil
	}
	warnings, errs := a.rights(ctx, req, obj, old)
	return warnings, append(errs, a.hosts(req, obj, old)...)
}

// rights refuses what takes rights that the writer lacks, all of it at once, and an approval that is
// not deserved. Mutating webhooks of others ran after ours, so the approval is worth here only what
// can be seen to be true: it is the one that stood, or it is the writer's, who has the rights.
func (a *RebootPolicy) rights(ctx context.Context, req admission.Request, obj, old *autorebootv1.RebootPolicy) ([]string, field.ErrorList) {
	annotation := field.NewPath("metadata", "annotations").Key(common.ApprovedByAnnotation)
	given := approvalOf(obj)
	claimed := given != "" && given != approvalOf(old)
	same := sameEffect(obj, old)
	if same && !claimed {
		return unapprovedPolicy(annotation, obj), nil
	}
	lacking, err := a.lacking(ctx, req, obj)
	var excess tooMany
	switch {
	case errors.As(err, &excess):
		return nil, field.ErrorList{field.Forbidden(field.NewPath("spec"), excess.Error())}
	case err != nil:
		return nil, field.ErrorList{field.InternalError(field.NewPath("spec"), unanswered(req, err))}
	case len(lacking) == 0 && given != approval.RebootPolicyValue(obj, req.User.Username):
		return nil, field.ErrorList{field.Forbidden(annotation,
			"is not as Fairlead set it: another admission webhook has changed the object, or rights have just changed; try again")}
	}
	var errs field.ErrorList
	for _, n := range lacking {
		errs = append(errs, n.refusal(user(req)))
	}
	return nil, errs
}

// lacking answers the first need of each right that the writer lacks.
func (a *RebootPolicy) lacking(ctx context.Context, req admission.Request, obj *autorebootv1.RebootPolicy) ([]need, error) {
	all := needsOf(&obj.Spec, req.Namespace)
	rights := make([]authorizationv1.ResourceAttributes, len(all))
	first := make(map[authorizationv1.ResourceAttributes]need, len(all))
	for i, n := range all {
		rights[i] = n.right
		if _, has := first[n.right]; !has {
			first[n.right] = n
		}
	}
	missing, err := review(ctx, a.options.Reviewer, req.User, rights)
	if err != nil {
		return nil, err
	}
	var lacking []need
	for _, right := range missing {
		lacking = append(lacking, first[right])
	}
	return lacking, nil
}

// unapprovedPolicy warns of a policy that does nothing: it was stored without an approval, or changed
// where nobody was asked.
func unapprovedPolicy(annotation *field.Path, obj *autorebootv1.RebootPolicy) []string {
	if approval.RebootPolicyApproved(obj) {
		return nil
	}
	return []string{fmt.Sprintf("%s: nobody is known to be entitled to what this policy does, and it does nothing; somebody who is sets this annotation to any value, and Fairlead puts the approval there", annotation)}
}

// sameEffect says whether obj does what old does, and does not begin to act with this update.
func sameEffect(obj, old *autorebootv1.RebootPolicy) bool {
	return old != nil && !woken(obj, old) && approval.RebootPolicyDigest(&obj.Spec) == approval.RebootPolicyDigest(&old.Spec)
}

// woken says whether obj begins to act: from now on things are done for it that were only thought of.
func woken(obj, old *autorebootv1.RebootPolicy) bool {
	off := func(before, after *bool) bool { return ptr.Deref(before, false) && !ptr.Deref(after, false) }
	return off(old.Spec.Suspend, obj.Spec.Suspend) || off(old.Spec.DryRun, obj.Spec.DryRun)
}
